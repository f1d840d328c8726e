import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { membersOf, processTable } from "./process-table.ts";

it.runIf(process.platform === "linux")(
  "finds a group, descendants in other sessions, and whoever left them all but carries the cookie",
  async () => {
    const cookie = `cookie-${process.pid}`;
    const script = `
      const { spawn } = require("node:child_process");
      const apart = spawn("sleep", ["100"], { detached: true, stdio: "ignore" });
      const inside = spawn("sleep", ["100"], { stdio: "ignore" });
      console.log(apart.pid + " " + inside.pid);
      process.stdin.on("data", () => process.exit());
    `;
    const leader = spawn(process.execPath, ["-e", script], {
      detached: true,
      env: { COOKIE: cookie },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const [text] = (await once(leader.stdout, "data")) as [Buffer];
    const [apart, inside] = text.toString().split(" ").map(Number) as [number, number];
    onTestFinished(() => {
      for (const pid of [apart, inside]) process.kill(pid, "SIGKILL");
    });
    const pid = leader.pid!;
    const members = (thorough: boolean) =>
      membersOf(processTable()!, { pid, cookie }, thorough)
        .map((row) => row.pid)
        .sort((a, b) => a - b);
    const sorted = (...pids: number[]) => pids.sort((a, b) => a - b);

    expect(members(false)).toEqual(sorted(pid, apart, inside));
    leader.stdin.write("go");
    await once(leader, "exit");
    // Its group still has one; the other one is nobody's child any more.
    expect(members(false)).toEqual([inside]);
    expect(members(true)).toEqual(sorted(apart, inside));
  },
);

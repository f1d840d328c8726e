import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { owned } from "../../test/support/process.ts";
import { type Command, runCommand } from "./run-command.ts";

let folder: string;
let interrupt: AbortController;

const command = (source: string, more: Partial<Command> = {}): Command => ({
  file: process.execPath,
  args: ["-e", source],
  cwd: folder,
  env: process.env,
  timeoutMs: 60_000,
  signal: interrupt.signal,
  logFile: join(folder, "log"),
  ...more,
});

beforeEach(() => {
  folder = owned(onTestFinished).folder();
  interrupt = new AbortController();
});

test("it gives the exit code and the output, and keeps the output in a file", async () => {
  const result = await runCommand(command(`console.log("out"); console.error("err"); process.exitCode = 3;`));
  expect(result).toMatchObject({ code: 3, ended: undefined });
  expect(result.output.split("\n").sort()).toEqual(["", "err", "out"]);
  expect(readFileSync(join(folder, "log"), "utf8")).toContain("out\n");
});

test("a command that takes too long, and one that is interrupted, is ended", async () => {
  const waits = `setInterval(() => {}, 1000)`;
  expect(await runCommand(command(waits, { timeoutMs: 10 }))).toMatchObject({ code: null, ended: "timeout" });
  const running = runCommand(command(waits));
  interrupt.abort();
  expect(await running).toMatchObject({ code: null, ended: "interrupted" });
});

test("what a command leaves running is ended with it", async () => {
  const { output } = await runCommand(
    command(
      `const { spawn } = require("node:child_process");
       const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
       console.log("left", child.pid);
       child.unref();`,
    ),
  );
  const pid = Number(/left (\d+)/.exec(output)?.[1]);
  const state = () => {
    try {
      return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? "?";
    } catch {
      return "gone";
    }
  };
  await expect.poll(state).toMatch(/gone|Z|X/);
});

test("a command that does not exist is told", async () => {
  const result = await runCommand(command("", { file: join(folder, "nothing-here") }));
  expect(result.code).toBeNull();
  expect(result.output).toContain("could not start");
});

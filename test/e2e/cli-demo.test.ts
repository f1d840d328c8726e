import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Proof } from "../../src/app/demo/proof.ts";
import type { Snapshot } from "../../src/app/demo/stage.ts";
import { owned, type Started } from "../support/process.ts";

const statuses = (demo: Started): (Snapshot & { status: string })[] =>
  demo
    .stdout()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** Every process that the demo told of. */
const pidsOf = (demo: Started): number[] => {
  const told = statuses(demo).filter(({ status }) => status === "running");
  const pids = told.flatMap(({ publisherPid, standings }) => [publisherPid, ...standings.map(({ pid }) => pid)]);
  return [...new Set(pids.filter((pid) => pid !== undefined && pid !== null))];
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe("ringrift demo", () => {
  test("kills, repairs, adds up and leaves nothing behind, even where its port is taken", async () => {
    const own = owned(onTestFinished);
    const taken = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void taken.close());
    await new Promise((resolve) => taken.once("listening", resolve));
    const temporary = own.folder();
    const demo = own.startCli(["demo", "--for", "5s", "--json"], {
      env: { TMPDIR: temporary, RINGRIFT_PORT: String((taken.address() as { port: number }).port) },
    });
    expect(await demo.exited).toEqual({ code: 0, signal: null });
    expect(demo.stderr()).toBe("");
    const proof = JSON.parse(demo.lines.at(-1)!) as Proof & { status: string };
    expect(proof).toMatchObject({ status: "ended", ok: true });
    const sent = proof.published.acknowledged;
    expect(sent).toBeGreaterThan(0);
    expect(proof.data_pipeline).toMatchObject({ owed: sent, done: sent, effects: sent, effects_twice: 0 });
    expect(proof.data_pipeline.killed).toBeGreaterThan(0);
    expect(proof.scoreboard).toEqual({ owed: 2 * sent, done: 2 * sent, received: 2 * sent });
    expect(proof.dead_letters).toMatchObject({ left: 0 });
    expect(proof.dead_letters.appeared).toBeGreaterThan(0);
    expect(pidsOf(demo).length).toBeGreaterThanOrEqual(3);
    expect(pidsOf(demo).filter(isAlive)).toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("ends on Ctrl-C with its sums, in words, and keeps a folder that it was given", async () => {
    const own = owned(onTestFinished);
    const dataDir = join(own.folder(), "data");
    const demo = own.startCli(["--data-dir", dataDir, "demo"], { env: { RINGRIFT_PORT: "0" } });
    await demo.waitForLine(/^ +\d+\.\d s {2}\d+ sent, \d+\/s {2}data_pipeline /);
    demo.kill("SIGINT");
    expect(await demo.exited).toEqual({ code: 0, signal: null });
    expect(demo.lines.at(-1)).toBe("It adds up: every event reached every consumer, and each counted once.");
    const history = own.startCli(["--data-dir", dataDir, "events", "history", "--type", "SELFPLAY_COMPLETE", "--json"]);
    await history.exited;
    const left = JSON.parse(history.stdout()) as { from: string; events: { type: string }[] };
    expect(left.from).toBe("folder");
    expect(left.events.length).toBeGreaterThan(0);
    expect(new Set(left.events.map(({ type }) => type))).toEqual(new Set(["SELFPLAY_COMPLETE"]));
  });

  test("takes its processes with it when it is killed", async () => {
    const own = owned(onTestFinished);
    const demo = own.startCli(["demo", "--json"], { env: { RINGRIFT_PORT: "0", TMPDIR: own.folder() } });
    await demo.waitForLine(/"running"/);
    const pids = pidsOf(demo);
    expect(pids.filter(isAlive).length).toBeGreaterThan(0);
    demo.kill("SIGKILL");
    await expect.poll(() => pids.filter(isAlive), { timeout: 20_000 }).toEqual([]);
  });
});

/** The example in which a consumer is killed again and again: its sums, its end on Ctrl-C, and nothing left behind. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../../tools/parts/root.ts";
import { PATIENT } from "../support/patience.ts";
import { owned, type Started } from "../support/process.ts";

const start = (own: ReturnType<typeof owned>, env: Record<string, string>): Started =>
  own.startNode(join(ROOT, "examples", "06-killed-consumer.ts"), [], { env });

/** Every process that it told of. */
const pidsOf = ({ lines }: Started): number[] =>
  lines.flatMap((line) => {
    const pid = / is process (\d+)$/.exec(line)?.[1];
    return pid === undefined ? [] : [Number(pid)];
  });

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const ADDS_UP = "It adds up: every event reached every consumer, and counted once.";

test("kills, repairs, adds up and leaves nothing behind", async () => {
  const own = owned(onTestFinished);
  const temporary = own.folder();
  const example = start(own, { TMPDIR: temporary });
  expect(await example.exited).toEqual({ code: 0, signal: null });
  expect(example.lines.at(-1)).toBe(ADDS_UP);
  const sums = JSON.parse(example.lines.at(-2)!) as Record<string, number>;
  expect(sums.acknowledged).toBeGreaterThan(0);
  expect(sums).toMatchObject({ in_journal: sums.acknowledged, effects: sums.acknowledged });
  expect(sums.counted_by_scoreboard).toBe(2 * sums.acknowledged!);
  expect(sums.kills).toBeGreaterThan(0);
  expect(sums.repaired).toBeGreaterThan(0);
  expect(pidsOf(example).length).toBeGreaterThanOrEqual(3);
  expect(pidsOf(example).filter(isAlive)).toEqual([]);
  expect(readdirSync(temporary)).toEqual([]);
});

test("ends on Ctrl-C with its sums, and keeps a folder that it was given", async () => {
  const own = owned(onTestFinished);
  const dataDir = join(own.folder(), "data");
  const example = start(own, { RINGRIFT_DATA_DIR: dataDir });
  await example.waitForLine(/^killed 1 /);
  example.kill("SIGINT");
  expect(await example.exited).toEqual({ code: 0, signal: null });
  expect(example.lines.at(-1)).toBe(ADDS_UP);
  const history = own.startCli(["--data-dir", dataDir, "events", "history", "--type", "SELFPLAY_COMPLETE", "--json"]);
  await history.exited;
  const left = JSON.parse(history.stdout()) as { from: string; events: { type: string }[] };
  expect(left.from).toBe("folder");
  expect(new Set(left.events.map(({ type }) => type))).toEqual(new Set(["SELFPLAY_COMPLETE"]));
});

test("takes its processes with it when it is killed", async () => {
  const own = owned(onTestFinished);
  const example = start(own, { TMPDIR: own.folder() });
  await example.waitForLine(/^killed 1 /);
  const pids = pidsOf(example);
  expect(pids.filter(isAlive).length).toBeGreaterThan(0);
  example.kill("SIGKILL");
  await expect.poll(() => pids.filter(isAlive), PATIENT).toEqual([]);
});

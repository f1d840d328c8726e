/** Commands that only look say the same of a folder on which nothing runs any more. */
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { runCli } from "../../src/app/commands/run.ts";
import { readSettings } from "../../src/app/settings.ts";
import { silentLog, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { fillLargeState } from "../support/large-state.ts";
import { CONFIG, planned, QUICK } from "../support/loop.ts";
import { PATIENT } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { recordedTerminal } from "../support/terminal.ts";

const clock = systemClock();
const own = owned();
const dataDir = own.folder();
const MODEL = "a".repeat(64);

async function run(...args: readonly string[]) {
  const { io, said } = recordedTerminal({ cwd: dataDir });
  const ports = { clock, random: systemRandom(), actor: "tester" };
  const code = await runCli(["--data-dir", dataDir, ...args], io, ports);
  return { code, ...said };
}

const LOOKS = [
  ["models"],
  ["models", "show", MODEL],
  ["elo", CONFIG],
  ["ledger"],
  ["pipeline"],
  ["pipeline", CONFIG],
  ["pipeline", CONFIG, "--history"],
  ["trace", "w11"],
  ["alerts", "list", "--all"],
  ["queue"],
  ["queue", "--state", "pending", "--limit", "3"],
  ["queue", "show", "w11"],
  ["queue", "stats"],
  ["nodes"],
  ["nodes", "show", "box1"],
  ["token", "list"],
] as const;

/** Without the time of the question, which is another each time. */
const JUST_NOW = new Set([
  "at",
  "last_seen_at",
  "seconds",
  "oldest_seconds",
  "oldest_by_kind",
  "claims_waiting",
  "games_per_second",
  "kinds",
  // Why it stands still is told of what runs.
  "cause",
]);
const asTold = (text: string): unknown => JSON.parse(text, (key, value) => (JUST_NOW.has(key) ? undefined : value));

const before = new Map<string, unknown>();

beforeAll(async () => {
  const path = fillLargeState(dataDir, { jobs: 30, events: 10, artifacts: 20, others: 5 }, clock.now());
  const db = new DatabaseSync(path);
  db.prepare(
    `INSERT INTO model_registry (config_key, model, state, iteration, job_id, work_id, bytes, inputs, losses, created_at, updated_at)
     VALUES (?, ?, 'archived', 1, 'j', 'w1', 10, '[]', '{}', 1, 1)`,
  ).run(CONFIG, MODEL);
  db.close();
  const main = await bootstrapCoordination({
    settings: readSettings({}, dataDir, { dataDir, port: 0 }),
    log: silentLog(),
    plans: planned(QUICK),
  });
  const started = () => main.loop().configs[0]?.stages.find(({ state }) => state === "running")?.progress;
  await vi.waitFor(() => expect(started()).toBe(0), PATIENT);
  for (const args of LOOKS) {
    const { out, err } = await run(...args, "--json");
    expect([args, err]).toEqual([args, ""]);
    before.set(args.join(" "), asTold(out));
  }
  await main.shutdown();
});
afterAll(() => own.end());

describe("when nothing runs", () => {
  test.each(LOOKS.map((args) => [args.join(" "), args] as const))(
    "'ringrift %s' reads the folder",
    async (name, args) => {
      const { out, err } = await run(...args, "--json");
      expect(asTold(out)).toEqual(before.get(name));
      expect(err).toMatch(
        new RegExp(`^nothing is running on ${dataDir}; this is what the folder holds, as it was .* ago\n$`),
      );
      expect((await run(...args)).out).not.toBe("");
    },
  );

  test("'why' names that first, and then what stood in the way", async () => {
    const { code, out } = await run("why", CONFIG);
    expect(code).toBe(1);
    expect(out).toMatch(/nothing is running on .*; before it stopped: /s);
    expect(out).toMatch(/✗ main process\n(.*\n)*.*do {2,}Start it with 'ringrift up'/);
    expect(JSON.parse((await run("why", "w11", "--json")).out)).toMatchObject({ subject: "w11", kind: "job" });
    const all = await run("why", "--json");
    expect(all.code).toBe(1);
    expect(JSON.parse(all.out)).toMatchObject({ causes: [], configs: [{ subject: CONFIG, kind: "config" }] });
  });

  test.each([
    ["queue", "cancel", "w10"],
    ["nodes", "cordon", "box1"],
    ["alerts", "close", "nobody"],
    ["promote", MODEL],
    ["pause", CONFIG],
  ])("'ringrift %s %s' needs the process, and says how to start it", async (...args) => {
    expect(await run(...args)).toMatchObject({
      code: 4,
      out: "",
      err: expect.stringMatching(/Start it with 'ringrift up'/),
    });
  });
});

test("a folder in which nobody has worked is said to be empty", async () => {
  const empty = own.folder();
  const { code, err } = await run("--data-dir", empty, "queue");
  expect([code, err]).toEqual([
    4,
    expect.stringMatching(/no main process is running on the data folder .*Start it with 'ringrift up'/s),
  ]);
});

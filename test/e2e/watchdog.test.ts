/** A blocked main loop is seen by a thread of its own, while it is blocked, and named. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../support/process.ts";

const MAIN = new URL("./parts/watched-main.ts", import.meta.url);

const alarmsIn = (text: string) =>
  text
    .split("\n")
    .filter((line) => line.includes("MAIN_LOOP_BLOCKED") && line.startsWith("{"))
    .map((line) => JSON.parse(line) as { msg: string; silent_ms: number; stack?: string[] });

test.each([
  ["in a busy loop, with its stack", "busy"],
  ["in native code, with the stack of its caller as soon as that returns", "native"],
] as const)(
  "a main thread that is blocked for 3 s %s raises the alarm meanwhile, and nothing is lost",
  async (_, how) => {
    const own = owned(onTestFinished);
    const folder = own.folder();
    const main = own.startNode(MAIN, [folder, how]);
    const blocking = await main.waitForLine(/^blocking$/);
    const alarm = await main.waitForLine(/MAIN_LOOP_BLOCKED/);
    const unblocked = await main.waitForLine(/^unblocked$/);
    expect(alarm.index).toBeGreaterThan(blocking.index);
    expect(alarm.index, "the alarm comes while it is blocked").toBeLessThan(unblocked.index);
    await main.waitForLine(/^alarm in the journal: true$/);
    await main.waitForLine(/^delivered 150 of 150$/);
    await main.waitForLine(/^delay true answering true$/);
    await main.waitForLine(/^ended$/);
    expect(await main.exited).toEqual({ code: 0, signal: null });

    const told = alarmsIn(main.stderr());
    expect(told[0]!.silent_ms).toBeGreaterThanOrEqual(1_000);
    const stack = told.find((each) => each.stack?.join().includes("innocentBlocker"))?.stack ?? [];
    expect(stack.join("\n")).toMatch(/at innocentBlocker \(file:.*watched-main\.ts:\d+:\d+\)/);

    const file = join(folder, "alarm.log");
    expect(alarmsIn(readFileSync(file, "utf8"))).toEqual(told);
    expect(statSync(file).mode & 0o777).toBe(0o600);

    const db = new DatabaseSync(join(folder, "coordination.db"), { readOnly: true });
    onTestFinished(() => db.close());
    const rows = db.prepare("SELECT payload FROM events WHERE event_type = 'ERROR'").all() as { payload: string }[];
    const errors = rows.map(({ payload }) => JSON.parse(payload) as Record<string, unknown>);
    // A slow machine may block it elsewhere too; this one is named.
    const error = errors.find(({ details }) => JSON.stringify(details ?? null).includes("innocentBlocker"))!;
    expect(error).toMatchObject({ error_code: "MAIN_LOOP_BLOCKED", component: "main_loop", node_id: "n1" });
    const { blocked_seconds, stack: kept } = error.details as { blocked_seconds: number; stack: string[] };
    expect(blocked_seconds).toBeGreaterThanOrEqual(2.9);
    expect(kept).toEqual(stack);
  },
);

test("where standard error is for sentences, the alarm is in the log file alone", async () => {
  const own = owned(onTestFinished);
  const folder = own.folder();
  const main = own.startNode(MAIN, [folder, "busy", "silent"]);
  await main.waitForLine(/^alarm in the journal: true$/);
  await main.waitForLine(/^ended$/);
  await main.exited;
  expect(alarmsIn(main.stderr())).toEqual([]);
  expect(alarmsIn(readFileSync(join(folder, "alarm.log"), "utf8")).length).toBeGreaterThan(0);
});

/** Each variable changes what it names: seen at a router over a real store and at real parts, not at the parsed value. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type UnitWorld, unitWorld } from "../../../test/fixtures/unit-world.ts";
import { look, quiet } from "../../daemons/main-loop/silence.ts";
import { eventRouter } from "../../daemons/units/event-router/event-router.unit.ts";
import { maintenance as maintenanceUnit } from "../../daemons/units/maintenance/maintenance.unit.ts";
import { type BuiltinRows, builtinRows } from "../../events/index.ts";
import { defined, isOperatingError, type Log, logPathOf, openLogFile } from "../../kernel/index.ts";
import { logFilesOf } from "../../kernel/log-files.ts";
import { consumerStatus } from "../../router/index.ts";
import { readSettings } from "./read.ts";
import { type Settings, settingRows } from "./tree.ts";

type World = UnitWorld<BuiltinRows>;

interface Behaviour {
  /** What the variable is set to, and what is then seen; `undefined` leaves it unset. */
  readonly cases: readonly (readonly [text: string | undefined, seen: unknown])[];
  /** Settings that the one under test needs beside it. */
  readonly beside?: Readonly<Record<string, string>>;
  readonly see: (world: World, log: readonly string[], settings: Settings) => Promise<unknown>;
}

const offline = (w: World, node_id: string) =>
  w.router.publish("HOST_OFFLINE", { node_id, reason: "silent" }, { source: "test" });

/** A consumer that fails on everything; gives the times of its tries, in seconds after the first. */
async function tries(w: World, overSeconds: number): Promise<number[]> {
  const at: number[] = [];
  await w.router.consume({
    consumer: "failing",
    handlers: {
      HOST_OFFLINE() {
        at.push(w.clock.now());
        throw new Error("no");
      },
    },
  });
  await offline(w, "a");
  await w.pass(overSeconds * 1_000);
  return at.map((time) => (time - at[0]!) / 1_000);
}

const supervised = async (w: World) => {
  const runtime = w.runtime([eventRouter({ router: w.router as never, store: w.store })]);
  await w.driven(runtime.start());
};

const journal = (w: World) => w.store.read<{ n: number }>("SELECT count(*) AS n FROM events")[0]!.n;

/** How many events open for a handler at once that never ends. */
async function runningAtOnce(w: World): Promise<number> {
  let running = 0;
  const { promise: end, resolve } = Promise.withResolvers<void>();
  await w.router.consume({
    consumer: "slow",
    handlers: {
      HOST_OFFLINE: () => {
        running += 1;
        return end;
      },
    },
  });
  for (let i = 0; i < 40; i += 1) await offline(w, `node-${i}`);
  await w.pass(100);
  const seen = running;
  resolve();
  await w.pass(100);
  return seen;
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  "router.handler_timeout": {
    cases: [
      [undefined, 0],
      ["2.5", 1],
    ],
    async see(w) {
      await w.router.consume({ consumer: "hangs", handlers: { HOST_OFFLINE: () => new Promise(() => {}) } });
      await offline(w, "a");
      await w.pass(2_400);
      const timeouts = () => Object.values(w.router.getStats().handler_timeouts).reduce((sum, n) => sum + n, 0);
      expect(timeouts()).toBe(0);
      await w.pass(200);
      return timeouts();
    },
  },
  "router.validation_strict": {
    cases: [
      [undefined, "taken"],
      ["true", "refused"],
    ],
    see: (w) =>
      w.router.publish("NOBODY_KNOWS_THIS", {}).then(
        () => "taken",
        (thrown) => (isOperatingError(thrown, "UNKNOWN_EVENT") ? "refused" : thrown),
      ),
  },
  "router.trace": {
    cases: [
      ["0", []],
      ["1", ["info [EventRouter] Published: HOST_OFFLINE (source=test)"]],
    ],
    async see(w, log) {
      await offline(w, "a");
      await w.pass(1);
      return log;
    },
  },
  "router.dedup_window": {
    cases: [
      [undefined, [null, "content", null]],
      ["0", [null, null, null]],
      ["30", [null, "content", null]],
      ["300", [null, "content", "content"]],
    ],
    async see(w) {
      const say = async () => (await w.router.publish("ERROR", { component: "x", error: "y" })).suppressed;
      const seen = [await say()];
      await w.pass(20_000);
      seen.push(await say());
      await w.pass(100_000);
      return [...seen, await say()];
    },
  },
  "router.max_attempts": {
    cases: [
      [undefined, 5],
      ["2", 2],
      ["7", 7],
    ],
    see: async (w) => {
      const { length } = await tries(w, 600);
      expect(w.router.deadLetters.counts()).toMatchObject({ pending: 1 });
      return length;
    },
  },
  "router.retry_first": {
    cases: [
      [undefined, true],
      ["40", false],
    ],
    see: async (w) => {
      const [, second] = await tries(w, 41);
      // Up to a fifth of a wait is jitter.
      expect(second).toBeGreaterThan(0.79);
      return second! <= 1.001;
    },
  },
  "router.retry_most": {
    cases: [
      [undefined, false],
      ["3", true],
    ],
    beside: { RINGRIFT_EVENT_MAX_ATTEMPTS: "8" },
    see: async (w) => {
      const at = await tries(w, 200);
      return at.slice(1).every((time, i) => time - at[i]! <= 3.001);
    },
  },
  "router.breaker_threshold": {
    cases: [
      [undefined, []],
      ["2", [{ consumer: "failing", event_type: "HOST_OFFLINE" }]],
    ],
    see: async (w) => {
      await tries(w, 5);
      return w.router.getStats().open_breakers;
    },
  },
  "router.breaker_open": {
    cases: [
      ["5", true],
      ["500", false],
    ],
    beside: { RINGRIFT_EVENT_BREAKER_THRESHOLD: "1" },
    // The breaker is open after the first try; the second one waits until it lets a probe through.
    see: async (w) => (await tries(w, 60)).length > 1,
  },
  "router.history_size": {
    cases: [
      [undefined, 12],
      ["7", 7],
    ],
    async see(w) {
      for (let i = 0; i < 12; i += 1) await offline(w, `n${i}`);
      await w.pass(1);
      return w.router.history().length;
    },
  },
  "router.window": {
    cases: [
      [undefined, 40],
      ["5", 5],
    ],
    beside: { RINGRIFT_EVENT_CONCURRENCY: "1" },
    async see(w) {
      const session = await w.router.openSession({ consumer: "script", eventTypes: ["HOST_OFFLINE"] });
      for (let i = 0; i < 40; i += 1) await offline(w, `n${i}`);
      await w.pass(1);
      const taken = await w.driven(session.poll(100, 0));
      await w.driven(w.router.closeSession(session, false));
      return taken.length;
    },
  },
  "router.concurrency": {
    cases: [
      [undefined, 16],
      ["3", 3],
    ],
    see: runningAtOnce,
  },
  "router.retention": {
    cases: [
      [undefined, 3],
      // The newest row stays: it says how far the journal has come.
      ["600", 1],
    ],
    async see(w) {
      await supervised(w);
      for (const node of ["a", "b", "c"]) await offline(w, node);
      await w.pass(700_000);
      return journal(w);
    },
  },
  "router.retention_bytes": {
    cases: [
      [undefined, 5],
      // Rows leave by the chunk; the newest stays.
      ["1000000", 1],
    ],
    async see(w) {
      await supervised(w);
      for (const node of ["a", "b", "c", "d", "e"]) {
        const payload = { node_id: node, reason: "silent", note: "x".repeat(300_000) };
        await w.router.publish("HOST_OFFLINE", payload as never, { source: "test" });
      }
      await w.pass(70_000);
      return journal(w);
    },
  },
  "router.max_consumers": {
    cases: [
      [undefined, 50],
      ["2", 2],
    ],
    async see(w) {
      const open = (n: number) =>
        w.router.openSession({ consumer: `mine-${n}`, eventTypes: ["HOST_OFFLINE"], madeBy: "token-1" });
      for (let n = 0; ; n += 1) {
        try {
          await open(n);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "TOO_MANY_CONSUMERS", kind: "busy" });
          // One that is there already, one of somebody else, and one in the place of one that was removed.
          await open(0);
          await w.router.openSession({ consumer: "others", eventTypes: [], madeBy: "token-2" });
          await w.router.forgetConsumer("mine-0");
          await open(n);
          return n;
        }
      }
    },
  },
  "router.consumer_expiry": {
    cases: [
      [undefined, false],
      ["1200", true],
    ],
    async see(w) {
      await supervised(w);
      const session = await w.router.openSession({ consumer: "visitor", eventTypes: ["HOST_OFFLINE"] });
      await w.router.closeSession(session, false);
      await w.pass(1_100_000);
      const expired = () => consumerStatus(w.store).some((c) => c.consumer === "visitor" && c.expired_at !== null);
      expect(expired()).toBe(false);
      await w.pass(200_000);
      return expired();
    },
  },
  "log.file_bytes": {
    cases: [
      [undefined, 1],
      ["10000", 4],
    ],
    see: async (_world, _log, settings) => logFilesAfter(settings, 35),
  },
  "log.files": {
    beside: { RINGRIFT_LOG_FILE_BYTES: "10000" },
    cases: [
      [undefined, 5],
      ["2", 2],
    ],
    see: async (_world, _log, settings) => logFilesAfter(settings, 100),
  },
  "watchdog.blocked_after": {
    cases: [
      [undefined, 1_000],
      ["2.5", 2_500],
    ],
    async see(_world, _log, { watchdog }) {
      let state = quiet(0, 0);
      for (let now = 250; ; now += 250) {
        const { next, turn } = look(state, { beatAt: 0, now }, { everyMs: 250, ...watchdog });
        if (turn?.kind === "alarm") return now;
        state = next;
      }
    },
  },
  "maintenance.integrity_check_every": {
    cases: [
      [undefined, 1],
      ["3600", 3],
    ],
    async see(w, _log, { maintenance }) {
      let checks = 0;
      const check = async () => {
        checks += 1;
        return [];
      };
      const database = { check, walBytes: () => 0, truncateWal: async () => true };
      const unit = maintenanceUnit({ router: { nodeId: "n1" }, store: w.store, database, maintenance });
      await w.driven(w.runtime([unit]).start());
      await w.pass(2.5 * 3_600_000);
      return checks;
    },
  },
};

/** How many files there are after so many lines of a thousand bytes. */
function logFilesAfter({ logFile }: Settings, lines: number): number {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-settings-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = logPathOf(folder);
  const file = openLogFile({ path, ...logFile });
  for (let i = 0; i < lines; i += 1) file.write(`${"x".repeat(999)}\n`);
  file.close();
  return logFilesOf(path).length;
}

const recorder = () => {
  const lines: string[] = [];
  const note = (kind: string) => (message: string) => void lines.push(`${kind} ${message}`);
  const log: Log = { debug() {}, info: note("info"), warn() {}, error() {}, child: () => log, level: "info" };
  return { lines, log };
};

const cases = settingRows.flatMap(({ key, variable }) =>
  (behaviours[key]?.cases ?? []).map(([text, seen]) => ({ key, variable, text, seen })),
);

test.each(cases)("with $variable=$text one sees $seen", async ({ key, variable, text, seen }) => {
  const { see, beside } = behaviours[key]!;
  const settings = readSettings({ ...beside, ...defined({ [variable]: text }) }, "/");
  const { lines, log } = recorder();
  const world = unitWorld(builtinRows, { settings: settings.router, log });
  onTestFinished(() => world.close());
  expect(await see(world, lines, settings)).toEqual(seen);
});

test.each(Object.entries(behaviours))("%s is a setting that is shown to change something", (key, { cases: all }) => {
  expect(settingRows.map((row) => row.key)).toContain(key);
  expect(new Set(all.map(([, seen]) => JSON.stringify(seen))).size).toBeGreaterThan(1);
});

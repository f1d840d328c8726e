/** Who holds a file, when it may go, and what is left of it: decided in the commit that does it. */
import { expect, onTestFinished, test } from "vitest";
import { catalogWorld, entryOf, sha256Of } from "../../test/unit/sync/sync-world.ts";
import { defineOperation, defineStoreModule } from "../router/index.ts";
import { disownFile, forgetArtifacts, freeArtifacts, noteRemoved, pinArtifacts } from "./retention-operations.ts";

/** A round of the sync that has ended, for what is forgotten with files. */
const addRun = defineOperation<{ id: string; ended: number | null }, void>(
  "test.add_run",
  (tx, { id, ended }) =>
    void tx.run(
      "INSERT INTO sync_runs (run_id, config_key, state, attempts, started_at, ended_at) VALUES (?, 'c', ?, 1, 0, ?)",
      id,
      ended === null ? "running" : "completed",
      ended,
    ),
);
const runs = defineStoreModule({ name: "test_runs", migrations: [], operations: [addRun] });

const MANY = Number.MAX_SAFE_INTEGER;
const [A, B, C] = ["a", "b", "c"].map(sha256Of) as [string, string, string];

/** Three files of jobs of their own, judged good, which nothing holds since the moment 0. */
async function world(...names: string[]) {
  const { catalog, change, store, close } = catalogWorld(runs);
  onTestFinished(close);
  const files = names.length === 0 ? ["a", "b", "c"] : names;
  await change((artifacts) => {
    for (const name of files) {
      artifacts.produced("hex8_2p", "n1", `job of ${name}`, 20);
      artifacts.record([entryOf(name, { work_id: `job of ${name}` })]);
    }
    artifacts.accept(files.map(sha256Of));
  });
  const at0 = catalog.get(A)!.idle_since;
  const commit = async <T>(operation: Parameters<typeof store.commit>[0][number]): Promise<T> =>
    (await store.commit([operation]))[0] as T;
  const column = (sql: string, ...values: never[]) => store.read<{ v: unknown }>(sql, ...values).map(({ v }) => v);
  return {
    at0,
    catalog,
    change,
    store,
    pin: (owner: string, sha256s: string[], { at = at0, seen = sha256s }: { at?: number; seen?: string[] } = {}) =>
      commit<void>(pinArtifacts({ owner, sha256s, seen, at })),
    free: (sha256s: string[], idleBefore: number, at = at0 + 500) =>
      commit<{ freed: string[] }>(freeArtifacts({ sha256s, idleBefore, at })),
    disown: (sha256: string, more: { at?: number; reason?: string } = {}) =>
      commit<{ disowned: boolean }>(disownFile({ sha256, bytes: 9, at: at0 + 700, ...more })),
    removed: (sha256s: string[], at = at0 + 600) => commit<void>(noteRemoved({ sha256s, at })),
    forget: (before: number, { maxRows = MANY, max = 100 } = {}) =>
      commit<{ forgotten: number }>(forgetArtifacts({ before, maxRows, max })),
    run: (id: string, ended: number | null) => commit<void>(addRun({ id, ended })),
    pins: () => store.read("SELECT owner, sha256 FROM sync_pins ORDER BY owner, sha256"),
    idle: (sha256: string) => catalog.get(sha256)!.idle_since,
    rows: () => column("SELECT sha256 AS v FROM sync_artifacts ORDER BY seq"),
    jobs: () => column("SELECT work_id AS v FROM sync_produced ORDER BY work_id"),
    past: () => column("SELECT work_id AS v FROM sync_past ORDER BY work_id"),
    runsLeft: () => column("SELECT run_id AS v FROM sync_runs ORDER BY run_id"),
  };
}

test("an owner holds what it said last: the rest is let go, and its time of grace begins when nobody else holds it", async () => {
  const w = await world();
  await w.pin("champion", [A, B]);
  await w.pin("window", [B]);
  await w.pin("champion", [C, A], { at: w.at0 + 100 });
  expect(w.pins()).toEqual(
    [
      { owner: "champion", sha256: A },
      { owner: "champion", sha256: C },
      { owner: "window", sha256: B },
    ].sort((x, y) => (x.owner + x.sha256 < y.owner + y.sha256 ? -1 : 1)),
  );
  expect(w.idle(B)).toBe(w.at0);
  await w.pin("window", [], { at: w.at0 + 200 });
  expect(w.idle(B)).toBe(w.at0 + 200);
  expect([w.idle(A), w.idle(C)]).toEqual([w.at0, w.at0]);
});

test("nobody holds what was given up since it looked, or what was never there: it has to look again", async () => {
  const w = await world();
  const again = { code: "READ_CONFLICT" };
  await w.pin("champion", [A]);
  await w.free([B], w.at0 + 1);
  await expect(w.pin("champion", [C, B])).rejects.toMatchObject({ ...again, message: expect.stringContaining(B) });
  await expect(w.pin("champion", [sha256Of("nothing")])).rejects.toMatchObject(again);
  expect(w.pins()).toEqual([{ owner: "champion", sha256: A }]);
  // Who did not look at it may hold it before it comes.
  await w.pin("audit", [sha256Of("nothing")], { seen: [] });
  expect(w.pins()).toHaveLength(2);
});

test("a file goes when its grace is over and not in its last moment, once, and never while somebody holds it", async () => {
  const w = await world();
  await w.pin("champion", [C]);
  expect(await w.free([A, B, C], w.at0)).toEqual({ freed: [] });
  expect(await w.free([sha256Of("nothing"), A, C], w.at0 + 1)).toEqual({ freed: [A] });
  expect(await w.free([A, B], w.at0 + 1)).toEqual({ freed: [B] });
  expect(w.catalog.get(A)).toMatchObject({ state: "freed", freed_at: w.at0 + 500 });
  expect(w.catalog.get(C)).toMatchObject({ state: "durable", freed_at: null });
  expect(w.catalog.books()).toMatchObject([{ produced: 60, durable: 60, freed: 40, balanced: true }]);
});

test("a rejected file goes as rejected, and one without a verdict stays", async () => {
  const w = await world();
  await w.change((artifacts) => {
    artifacts.produced("hex8_2p", "n1", "open", 5);
    artifacts.record([entryOf("open", { work_id: "open", games: 5 })]);
    artifacts.reject([A], "label_errors");
  });
  expect(await w.free([A, sha256Of("open")], MANY)).toEqual({ freed: [A] });
  expect(w.catalog.get(A)).toMatchObject({ state: "rejected", reason: "label_errors" });
  expect(w.catalog.books()).toMatchObject([
    { durable: 40, in_flight: 5, rejected: 20, rejected_by_reason: { label_errors: 20 }, balanced: true },
  ]);
});

test("a file that nobody recorded is given up by a row that says why; one that is held, or that lives, is not", async () => {
  const w = await world();
  const [stray, held, other] = ["stray", "held", "other"].map(sha256Of) as [string, string, string];
  await w.pin("import", [held], { seen: [] });
  expect(await w.disown(held)).toEqual({ disowned: false });
  expect(await w.disown(A)).toEqual({ disowned: false });
  expect(w.catalog.get(A)).toMatchObject({ state: "durable", freed_at: null });
  expect(await w.disown(stray)).toEqual({ disowned: true });
  expect(await w.disown(other, { reason: "a part" })).toEqual({ disowned: true });
  expect(w.catalog.get(stray)).toMatchObject({
    state: "freed",
    reason: "nobody recorded it",
    bytes: 9,
    freed_at: w.at0 + 700,
  });
  expect(w.catalog.get(other)).toMatchObject({ reason: "a part" });
  // It was gone, and is there again: it is given up once more.
  await w.removed([stray], w.at0 + 800);
  expect(await w.disown(stray, { at: w.at0 + 900 })).toEqual({ disowned: true });
  expect(w.catalog.get(stray)).toMatchObject({ freed_at: w.at0 + 900, removed_at: null });
});

test("only a file that was given up is noted as gone", async () => {
  const w = await world();
  await w.free([A], w.at0 + 1);
  await w.removed([A, B]);
  expect([A, B].map((sha256) => w.catalog.get(sha256)!.removed_at)).toEqual([w.at0 + 600, null]);
});

test("files that have been gone for long are forgotten with their jobs, and not what is just as old, held, or the newest", async () => {
  const w = await world("a", "b", "c", "d");
  const D = sha256Of("d");
  await w.free([A, B, C, D], w.at0 + 1);
  await w.removed([A, B, D], w.at0 + 600);
  await w.removed([C], w.at0 + 601);
  await w.pin("audit", [B], { seen: [] });
  await w.run("old", w.at0 + 600);
  await w.run("new", w.at0 + 601);
  await w.run("still", null);
  expect(await w.forget(w.at0 + 600)).toEqual({ forgotten: 0 });
  expect(w.runsLeft()).toEqual(["new", "old", "still"]);
  expect(await w.forget(w.at0 + 601)).toEqual({ forgotten: 1 });
  expect(w.rows()).toEqual([B, C, D]);
  expect(w.jobs()).toEqual(["job of b", "job of c", "job of d"]);
  expect(w.past()).toEqual([]);
  expect(w.runsLeft()).toEqual(["new", "still"]);
  expect(w.catalog.books()).toMatchObject([{ produced: 80, durable: 80, freed: 80, balanced: true }]);
});

test("beyond so many rows the oldest are forgotten sooner, a few at once, the longest gone first", async () => {
  const w = await world("a", "b", "c", "d");
  await w.free([A, B, C], w.at0 + 1);
  await w.removed([B], w.at0 + 600);
  await w.removed([A, C], w.at0 + 650);
  expect(await w.forget(0, { maxRows: 4 })).toEqual({ forgotten: 0 });
  expect(await w.forget(0, { maxRows: 2, max: 1 })).toEqual({ forgotten: 1 });
  expect(w.rows()).toEqual([A, C, sha256Of("d")]);
  expect(await w.forget(0, { maxRows: 2 })).toEqual({ forgotten: 1 });
  expect(w.rows()).toEqual([C, sha256Of("d")]);
});

test("a job is forgotten with the last of its files, and one whose count was wrong stays to be seen", async () => {
  const w = await world();
  const [one, two, wrong] = ["one", "two", "wrong"].map(sha256Of) as [string, string, string];
  await w.change((artifacts) => {
    artifacts.produced("hex8_2p", "n1", "pair", 20);
    artifacts.record([entryOf("one", { work_id: "pair" }), entryOf("two", { work_id: "pair", kind: "samples" })]);
    artifacts.produced("hex8_2p", "n1", "liar", 7);
    artifacts.record([entryOf("wrong", { work_id: "liar" })]);
    artifacts.record([entryOf("newest", { work_id: null })]);
    artifacts.accept([one, two, wrong]);
  });
  await w.free([one, two, wrong], MANY);
  await w.removed([one, wrong]);
  expect(await w.forget(MANY)).toEqual({ forgotten: 2 });
  expect(w.past()).toEqual(["liar", "pair"]);
  expect(w.jobs()).toEqual(["job of a", "job of b", "job of c", "liar", "pair"]);
  await w.removed([two]);
  expect(await w.forget(MANY)).toEqual({ forgotten: 1 });
  expect(w.past()).toEqual(["liar"]);
  expect(w.jobs()).toEqual(["job of a", "job of b", "job of c", "liar"]);
});

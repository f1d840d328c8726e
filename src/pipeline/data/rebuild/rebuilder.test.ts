import { afterEach, expect, test } from "vitest";
import { GRACE_MS, KEY, type RebuildWorld, rebuildWorld } from "../../../../test/unit/pipeline/rebuild-world.ts";
import { modelEntry } from "../../models/registry.ts";
import { trainingRuns } from "../../models/training-runs.ts";
import { exportWork, rebuildRows, selfplayWork, syncWork, trainingWork } from "../../stage/index.ts";
import { waitsOf } from "../../waits.ts";

const worlds: RebuildWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
async function open(...given: Parameters<typeof rebuildWorld>): Promise<RebuildWorld> {
  const world = await rebuildWorld(...given);
  worlds.push(world);
  return world;
}

/** The first model, made of nothing. */
async function first(w: RebuildWorld): Promise<string> {
  await w.turn("training", 0, null);
  await w.workFor(3);
  expect(w.row(trainingWork)).toMatchObject({ state: "done" });
  return w.row(trainingWork)!.own.model!;
}
/** Games of an iteration, accepted. */
async function played(w: RebuildWorld, iteration: number, champion: string) {
  await w.turn("selfplay", iteration, champion);
  await w.workFor(4);
  const { segments } = w.row(selfplayWork)!.own;
  await w.turn("data_sync", iteration, champion);
  await w.inspector.verify(
    segments.flatMap(({ games_file, samples_file }) => [games_file!.sha256, samples_file.sha256]),
  );
  await w.pass(2_000);
  expect(w.row(syncWork)).toMatchObject({ state: "done", iteration });
  return segments;
}
async function exported(w: RebuildWorld, iteration: number, champion: string) {
  await w.turn("npz_export", iteration, champion);
  await w.workFor(3);
  expect(w.row(exportWork)).toMatchObject({ state: "done", iteration });
  return w.row(exportWork)!.own.window;
}
async function trained(w: RebuildWorld, iteration: number, champion: string) {
  await w.turn("training", iteration, champion);
  await w.workFor(4);
  expect(w.row(trainingWork)).toMatchObject({ state: "done", iteration });
  return w.row(trainingWork)!.own;
}
const why = (w: RebuildWorld) => waitsOf((table) => w.row(table));
const stateOf = (w: RebuildWorld, sha256: string) => w.catalog.get(sha256)?.state;

test("an export that finds its input damaged waits for it to be played again, and its stage does not fail", async () => {
  const w = await open();
  const champion = await first(w);
  const [segment] = await played(w, 1, champion);
  const samples = segment!.samples_file.sha256;
  const before = w.contentOf(samples);
  // Long enough for the store to look again before it hands out.
  await w.pass(61_000);
  w.damage(samples);
  await w.turn("npz_export", 1, champion);
  await w.pass(1_500);
  // The store finds it out before it hands it out.
  expect(await w.work("a")).toBe("export");
  await w.pass(1_500);
  expect(stateOf(w, samples)).toBe("quarantined");
  expect(w.row(exportWork)).toMatchObject({ state: "running", failure: null });
  expect(why(w)).toMatchObject([
    { unit: "auto_export_daemon", for: "export" },
    { for: `samples ${samples.slice(0, 12)} to be made again`, actual: expect.stringMatching(/^job w\d+ makes it$/) },
  ]);
  expect(await w.workFor(6)).toEqual(["selfplay", "export"]);
  expect(w.row(exportWork)).toMatchObject({ state: "done", attempt: 1 });
  expect(stateOf(w, samples)).toBe("durable");
  expect(w.contentOf(samples)).toBe(before);
  expect(w.rebuilds()).toMatchObject([{ state: "done", files: [samples], times: 1 }]);
  expect(w.said("REPAIR_COMPLETED").map(({ payload }) => payload)).toMatchObject([
    { artifact_hash: samples, copies: 1 },
  ]);
  expect(w.catalog.books(KEY)).toMatchObject([{ balanced: true, produced: 40, durable: 40, rejected: 0 }]);
});

test("a champion's file is trained again byte for byte, and its registry entry is clean", async () => {
  const w = await open();
  const champion = await first(w);
  await played(w, 1, champion);
  await exported(w, 1, champion);
  const { model } = await trained(w, 1, champion);
  const before = w.contentOf(model!);
  w.damage(model!);
  await w.inspector.verify([model!]);
  await w.pass(500);
  expect(modelEntry(w.store, KEY, model!)?.corrupted).toMatchObject({ damage: "checksum" });
  expect(w.said("MODEL_CORRUPTED")).toHaveLength(1);
  expect(await w.workFor(5)).toEqual(["training"]);
  expect(w.contentOf(model!)).toBe(before);
  expect(stateOf(w, model!)).toBe("durable");
  expect(modelEntry(w.store, KEY, model!)?.corrupted).toBeNull();
  // One run for the model of this iteration, as before: a rebuild is no run.
  expect(trainingRuns(w.store, KEY).map(({ iteration }) => iteration)).toEqual([1, 0]);
});

test("what is missing on the way is made first: games, then the training file, then the model", async () => {
  const w = await open();
  const champion = await first(w);
  const segments = await played(w, 1, champion);
  const [shard] = await exported(w, 1, champion);
  const { model, checkpoint } = await trained(w, 1, champion);
  const lost = [model!, checkpoint!, shard!.sha256, shard!.holdout!.sha256, segments[0]!.samples_file.sha256];
  const before = lost.map(w.contentOf);
  for (const sha256 of lost) w.lose(sha256);
  await w.inspector.verify(lost);
  expect(lost.map((sha256) => stateOf(w, sha256))).toEqual(lost.map(() => "quarantined"));
  expect(await w.workFor(12)).toEqual(["selfplay", "export", "training"]);
  expect(lost.map((sha256) => stateOf(w, sha256))).toEqual(lost.map(() => "durable"));
  expect(lost.map(w.contentOf)).toEqual(before);
  expect(w.catalog.books(KEY)).toMatchObject([{ balanced: true, durable: 40 }]);
});

test("games that were given up long ago are played again for a training file that needs them, and count once", async () => {
  const w = await open();
  const champion = await first(w);
  const segments = await played(w, 1, champion);
  const [shard] = await exported(w, 1, champion);
  await played(w, 2, champion);
  await w.turn("selfplay", 3, champion);
  // Nothing holds the games of the first iteration any more: only the last batch that was judged is kept.
  await w.pass(2 * GRACE_MS);
  await w.driven(w.sweeper.sweep());
  const samples = segments.map(({ samples_file }) => samples_file.sha256);
  expect(samples.map((sha256) => stateOf(w, sha256))).toEqual(["freed", "freed"]);
  w.lose(shard!.sha256);
  await w.inspector.verify([shard!.sha256]);
  await w.workFor(8);
  expect(stateOf(w, shard!.sha256)).toBe("durable");
  expect(w.catalog.books(KEY)).toMatchObject([{ balanced: true, rejected: 0 }]);
});

test("a file that vanished unnoticed is found out by the job that wants it", async () => {
  const w = await open();
  const champion = await first(w);
  const [segment] = await played(w, 1, champion);
  w.lose(segment!.samples_file.sha256);
  await w.turn("npz_export", 1, champion);
  await w.pass(1_500);
  expect(await w.work("a")).toBe("export");
  expect(stateOf(w, segment!.samples_file.sha256)).toBe("durable");
  await w.pass(1_500);
  expect(why(w)).toContainEqual(
    expect.objectContaining({
      unit: "auto_export_daemon",
      for: "input",
      actual: expect.stringMatching(/^w\d+: samples .* is made again$/),
    }),
  );
  expect(await w.workFor(8)).toEqual(["selfplay", "export"]);
  expect(w.row(exportWork)).toMatchObject({ state: "done", attempt: 1 });
});

test("a node that makes other bytes of it is not asked again; if all do, the file is lost, with an alarm", async () => {
  const w = await open();
  const champion = await first(w);
  await played(w, 1, champion);
  const [shard] = await exported(w, 1, champion);
  w.liars.add("a");
  w.lose(shard!.sha256);
  await w.inspector.verify([shard!.sha256]);
  await w.pass(1_500);
  await w.work("a");
  await w.pass(1_500);
  expect(w.rebuilds()).toMatchObject([{ state: "running", shunned: ["a"], tries: 1 }]);
  expect(await w.work("a")).toBeUndefined();
  await w.work("b");
  await w.pass(2_500);
  expect(w.rebuilds()).toMatchObject([{ state: "done" }]);

  w.liars.add("b");
  w.lose(shard!.sha256);
  await w.inspector.verify([shard!.sha256]);
  await w.workFor(8);
  expect(w.rebuilds()).toMatchObject([{ state: "lost", times: 2, why: expect.stringContaining("made other bytes") }]);
  expect(w.said("REPAIR_FAILED").map(({ payload }) => payload)).toMatchObject([{ artifact_hash: shard!.sha256 }]);
});

test("a training file that nobody can make again is left out of the window, and the run goes on without it", async () => {
  const w = await open();
  const champion = await first(w);
  await played(w, 1, champion);
  const [old] = await exported(w, 1, champion);
  await played(w, 2, champion);
  expect(await exported(w, 2, champion)).toHaveLength(2);
  for (const node of w.nodes) w.liars.add(node);
  w.lose(old!.sha256);
  await w.turn("training", 2, champion);
  await w.workFor(14);
  expect(w.row(exportWork)!.own.window.map(({ first_iteration }) => first_iteration)).toEqual([2]);
  expect(w.row(exportWork)!.evidence).toMatchObject({ left_out: [old!.sha256], window_files: 1 });
  expect(w.row(trainingWork)).toMatchObject({ state: "failed", failure: { code: "INPUT_LOST", retryable: true } });
  expect(w.catalog.pinnedBy(`window:${KEY}`)).not.toContain(old!.sha256);
  w.liars.clear();
  await w.turn("training", 2, champion, 2);
  await w.workFor(4);
  expect(w.row(trainingWork)).toMatchObject({ state: "done", attempt: 2, evidence: { window_files: 1 } });
});

test("segments that are being judged are left to the judges", async () => {
  const w = await open();
  const champion = await first(w);
  await w.turn("selfplay", 1, champion);
  await w.workFor(4);
  const [segment] = w.row(selfplayWork)!.own.segments;
  await w.turn("data_sync", 1, champion);
  w.lose(segment!.samples_file.sha256);
  await w.inspector.verify([segment!.samples_file.sha256]);
  await w.workFor(3);
  expect(w.row(rebuildRows)?.rebuilds ?? {}).toEqual({});
});

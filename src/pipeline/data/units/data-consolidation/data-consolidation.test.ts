/** What was brought becomes one set, over the real queue, catalog and books; the jobs are done on paper. */
import { expect, onTestFinished, test } from "vitest";
import { KEY, type PipelineWorldOptions, pipelineWorld } from "../../../../../test/unit/pipeline/pipeline-world.ts";
import { broughtPin, importedAs } from "../../../../sync/brought/names.ts";
import { consolidationLimits } from "../../limits.ts";
import { broughtExports, consolidations } from "../../tables.ts";

async function world(options: PipelineWorldOptions = {}) {
  const w = pipelineWorld(options);
  onTestFinished(() => w.close());
  await w.plan();
  await w.runtime([w.units.consolidation()]);
  return {
    ...w,
    /** A segment that somebody brought: in the books, judged good, and kept. */
    async bring(name: string, games: number): Promise<string> {
      const { sha256, bytes } = w.player.file(`${name}.arena`, `brought ${name}`, { rows: 0, games });
      const work_id = importedAs(sha256);
      await w.write((rows) => {
        const artifacts = w.shelf.join({ rows });
        artifacts.record([
          { sha256, bytes, kind: "games", rows: games, games, config_key: KEY, producer: "elsewhere", work_id },
        ]);
        artifacts.produced(KEY, "elsewhere", work_id, games);
        artifacts.accept([sha256]);
        artifacts.pin(broughtPin(sha256), [sha256]);
      });
      return sha256;
    },
    exportJobs: () => w.jobs("export"),
  };
}

test("segments become one set: the job gets all of them, the set is kept in their place, and the books do not move", async () => {
  const w = await world();
  const sources = [await w.bring("a", 30), await w.bring("b", 40)].sort();
  await w.pass(20_000);
  const [job] = w.exportJobs();
  expect(w.said("CONSOLIDATION_STARTED")).toMatchObject([{ payload: { config_key: KEY, artifacts: 2 } }]);
  const given = w.queue.payload(job!.work_id) as unknown as { inputs: { name: string; sha256: string }[] };
  expect(given.inputs).toEqual([
    { name: "games-0000", sha256: sources[0] },
    { name: "games-0001", sha256: sources[1] },
  ]);
  const before = w.books();
  await w.driven(w.workAll());
  await w.pass(20_000);
  expect(w.said("CONSOLIDATION_COMPLETE")).toMatchObject([
    { payload: { config_key: KEY, games: 70, new_games: 70, artifacts: 2, duplicate_games: 0 } },
  ]);
  const row = w.row(consolidations)!;
  expect(row).toMatchObject({ state: "idle", set: { count: 70 }, fresh: [{ games: 70 }] });
  expect(w.shelf.pinnedBy(`canonical:${KEY}`).sort()).toEqual(
    [row.set!.games!.sha256, row.set!.samples.sha256, row.fresh[0]!.sha256].sort(),
  );
  for (const sha256 of sources) expect(w.shelf.pinsOf(sha256)).toEqual([]);
  expect(w.books()).toEqual(before);
  expect(before).toEqual({ produced: 70, by: { durable: 70 }, balanced: true });
});

test("S3_CONSOLIDATION starts it by that name, and it makes the set of what was brought meanwhile", async () => {
  const w = await world();
  expect(await w.driven(w.manager().stop("DATA_CONSOLIDATION"))).toBe(true);
  await w.bring("a", 30);
  await w.bring("b", 40);
  await w.pass(60_000);
  expect(w.said("CONSOLIDATION_STARTED")).toEqual([]);
  expect(await w.driven(w.manager().start("S3_CONSOLIDATION"))).toBe(true);
  await w.pass(20_000);
  expect(w.said("CONSOLIDATION_STARTED")).toMatchObject([{ payload: { config_key: KEY, artifacts: 2 } }]);
});

test("what comes later is merged with the set so far, and only its rows are fresh", async () => {
  const w = await world();
  await w.bring("a", 60);
  await w.pass(20_000);
  await w.driven(w.workAll());
  await w.pass(20_000);
  const first = w.row(consolidations)!;
  await w.bring("b", 55);
  await w.pass(20_000);
  const given = w.queue.payload(w.exportJobs().at(-1)!.work_id) as unknown as { inputs: { name: string }[] };
  expect(given.inputs.map(({ name }) => name)).toEqual(["set-games", "set-samples", "games-0000"]);
  await w.driven(w.workAll());
  await w.pass(20_000);
  const second = w.row(consolidations)!;
  expect(second).toMatchObject({ set: { count: 115 }, fresh: [{ games: 60 }, { games: 55 }], rounds: 2 });
  // The first set is nobody's any more, its fresh rows still are.
  expect(w.shelf.pinsOf(first.set!.games!.sha256)).toEqual([]);
  expect(w.shelf.pinsOf(first.fresh[0]!.sha256)).toEqual([`canonical:${KEY}`]);
  await w.write((rows) => rows.put(broughtExports, KEY, { files: [first.fresh[0]!.sha256] }));
  await w.pass(20_000);
  expect(w.row(consolidations)!.fresh).toMatchObject([{ games: 55 }]);
  expect(w.shelf.pinsOf(first.fresh[0]!.sha256)).toEqual([]);
});

test("few games wait for more, and not for ever", async () => {
  const w = await world();
  await w.bring("a", 3);
  await w.pass(60_000);
  expect(w.exportJobs()).toEqual([]);
  await w.pass(consolidationLimits.waitMs);
  expect(w.exportJobs()).toHaveLength(1);
});

test("a merge that fails lets nothing go, and is tried again later and later", async () => {
  const failure = { class: "bad_input", error: "no such mode", error_code: "WORKLOAD_BAD_INPUT" } as const;
  const w = await world({ instead: () => failure });
  const file = await w.bring("a", 60);
  await w.pass(20_000);
  await w.driven(w.workAll());
  await w.pass(20_000);
  expect(w.row(consolidations)).toMatchObject({
    state: "failed",
    tries: 1,
    failure: expect.stringContaining("no such mode"),
  });
  expect(w.shelf.pinsOf(file)).toEqual([broughtPin(file)]);
  await w.pass(consolidationLimits.firstWaitMs + 20_000);
  expect(w.exportJobs()).toHaveLength(2);
});

test("fresh rows are in the next training file, and in no other", async () => {
  const w = await world();
  await w.runtime([w.units.scheduler(), w.units.populator(), w.units.orchestrator(), w.units.validator()]);
  await w.bring("a", 60);
  await w.pass(20_000);
  await w.driven(w.workAll());
  await w.pass(20_000);
  const fresh = w.row(consolidations)!.fresh[0]!.sha256;
  await w.runtime([w.units.monitor(), w.units.exporter()]);
  await w.turn("selfplay");
  await w.pass(5_000);
  await w.driven(w.workAll());
  await w.pass(5_000);
  await w.turn("data_sync");
  await w.pass(5_000);
  await w.driven(w.workAll());
  await w.pass(5_000);
  await w.turn("npz_export");
  await w.pass(5_000);
  const inputs = (w.queue.payload(w.exportJobs().at(-1)!.work_id) as unknown as { inputs: { sha256: string }[] })
    .inputs;
  expect(inputs.map(({ sha256 }) => sha256)).toContain(fresh);
  await w.driven(w.workAll());
  await w.pass(20_000);
  expect(w.row(broughtExports)).toEqual({ files: [fresh] });
  expect(w.row(consolidations)!.fresh).toEqual([]);
});

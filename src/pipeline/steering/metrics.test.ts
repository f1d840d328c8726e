import { afterEach, describe, expect, test } from "vitest";
import { KEY, type PipelineWorld, pipelineWorld } from "../../../test/unit/pipeline/pipeline-world.ts";
import { recordVerdict } from "../evaluation/verdicts.ts";
import { recordRun } from "../models/index.ts";
import { steeringView } from "./console.ts";
import { measures } from "./tables.ts";

const worlds: PipelineWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function measuring(everyMs = 1_000): Promise<PipelineWorld> {
  const w = pipelineWorld({ everyMs });
  worlds.push(w);
  await w.plan({ games_per_iteration: 1_000 });
  await w.turn("selfplay", { iteration: 13 });
  await w.runtime([w.units.metrics()]);
  return w;
}

const gate = (w: PipelineWorld, iteration: number, elo: number, verdict: "promote" | "reject", opponent = "c") =>
  w.write((rows) =>
    rows.apply(
      recordVerdict({
        ...{ config_key: KEY, iteration, attempt: 1, candidate: `m${iteration}`, opponent, budget: "default" },
        ...{ verdict, reason: "", blocks: 10, games: 20, score: 0.5, counts: [], llr: 3, elo0: 0, elo1: 50 },
        ...{ alpha: 0.05, beta: 0.05, redundancy: 1, normalized_elo: 0, at: w.clock.now() },
        ...{ elo, elo_low: elo - 30, elo_high: elo + 30 },
      }),
    ),
  );
const run = (w: PipelineWorld, iteration: number, loss: number) =>
  w.write((rows) =>
    rows.apply(
      recordRun({
        ...{ config_key: KEY, iteration, attempt: 1, job_id: `j${iteration}`, work_id: `w${iteration}`, node_id: null },
        ...{
          model: `m${iteration}`,
          model_bytes: 1,
          checkpoint: null,
          base_checkpoint: null,
          inputs: [],
          fresh: false,
        },
        ...{ steps: 1, rows: 1, loss, losses: { validation_loss: loss }, ended_at: w.clock.now(), recipe: null },
      }),
    ),
  );
const trends = (w: PipelineWorld) => w.row(measures)!.trends;

describe("metrics_orchestrator", () => {
  test("finds a plateau of strength within one window, tells it once, and that it grows again", async () => {
    const w = await measuring();
    for (let n = 1; n <= 11; n += 1) await gate(w, n, n % 2, "reject");
    await w.pass(2_500);
    expect(trends(w).elo).toMatchObject({ plateau_since: null, points: 11 });
    await gate(w, 12, 0, "reject");
    await w.pass(5_000);
    expect(trends(w).elo).toMatchObject({ plateau_since: 12, trend: "stable" });
    expect(w.said("PLATEAU_DETECTED").map(({ payload }) => payload)).toMatchObject([
      {
        config_key: KEY,
        metric_name: "elo",
        value: 0,
        best_value: 1,
        plateau_games: 11_000,
        recommended_search: "cmaes",
      },
    ]);
    for (let n = 13; n <= 18; n += 1) await gate(w, n, 60, "promote", n === 13 ? "c" : `m${n - 1}`);
    await w.pass(2_500);
    expect(trends(w).elo).toMatchObject({ plateau_since: null });
    expect(w.said("PLATEAU_DETECTED")).toHaveLength(1);
  });

  test("calls nothing a plateau that grows", async () => {
    const w = await measuring();
    for (let n = 1; n <= 12; n += 1) await gate(w, n, 40, "promote", `m${n - 1}`);
    await w.pass(2_500);
    expect(trends(w).elo).toMatchObject({ plateau_since: null, trend: "improving", value: 480 });
    expect(w.said("PLATEAU_DETECTED")).toEqual([]);
  });

  test("finds a loss that stands still, and one that is far off", async () => {
    const w = await measuring();
    for (let n = 1; n <= 12; n += 1) await run(w, n, 1.5);
    await w.pass(2_500);
    expect(trends(w).loss).toMatchObject({ plateau_since: 12, anomaly: null });
    expect(w.said("PLATEAU_DETECTED")[0]!.payload).toMatchObject({ metric_name: "loss", recommended_search: "nas" });
    await run(w, 13, 9);
    await w.pass(2_500);
    expect(trends(w).loss!.anomaly).toMatchObject({ expected: 1.5 });
  });

  test("looks when a gate has ended, and tells the figures with the config they are of", async () => {
    const w = await measuring(3_600_000);
    for (let n = 1; n <= 4; n += 1) await gate(w, n, 40, "promote", `m${n - 1}`);
    const heard: Record<string, unknown>[] = [];
    w.router.subscribe("METRICS_UPDATED", ({ payload }) => void heard.push(payload as Record<string, unknown>));
    const payload = { config_key: KEY, job_id: "j", model_id: "m", games: 20, passed: true };
    await w.driven(
      w.router.publish("EVALUATION_COMPLETED", payload as never, { source: "test", validation: "tolerant" } as never),
    );
    await w.pass(1_000);
    expect(heard.at(-1)).toMatchObject({ node_id: "n1", config_key: KEY, metrics: { [`${KEY}_elo`]: 160 } });
    const [config] = steeringView(w.store).configs;
    expect(config!.trends[0]).toMatchObject({ metric: "elo", trend: "improving", plateau_since: null });
  });

  test("counts tries that were repeated, iteration by iteration", async () => {
    const w = await measuring();
    const retry = {
      work_id: "w1",
      work_type: "selfplay",
      config_key: KEY,
      error: "boom",
      attempts: 1,
      max_attempts: 3,
    };
    for (const work_id of ["w1", "w2"])
      await w.driven(w.router.publish("WORK_RETRY", { ...retry, work_id } as never, { source: "test" }));
    await w.pass(2_500);
    expect(w.row(measures)!.retried).toEqual({ iteration: 13, times: 2 });
    await w.turn("selfplay", { iteration: 14 });
    await w.pass(2_500);
    expect(trends(w).retries).toMatchObject({ value: 2, iteration: 13 });
  });
});

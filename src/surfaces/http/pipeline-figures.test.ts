import { expect, test } from "vitest";
import { AT, healthy, opened } from "../../../test/fixtures/pipeline-snapshots.ts";
import type { ConfigSnapshot } from "../../pipeline/index.ts";
import type { Define, Reading } from "./figure.ts";
import { pipelineFigures } from "./pipeline-figures.ts";

/** What would be collected, by name: for each config, and for each value of its other label. */
function collect(configs: readonly ConfigSnapshot[]): Map<string, Record<string, Reading>> {
  const found = new Map<string, Record<string, Reading>>();
  const define: Define = (name, _help, _labels, read) => found.set(name, read() as Record<string, Reading>);
  pipelineFigures(define, define, () => ({ at: AT, configs }));
  return found;
}

test("the Elo of a champion comes with both ends of its interval and the games behind it", () => {
  const [config] = healthy.configs;
  const found = collect(healthy.configs);
  const rated = config!.ladder.find(({ player }) => player === config!.champion!.model)!;
  const one = (name: string) => found.get(`champion_${name}`)![config!.config_key];
  expect([one("elo"), one("elo_low"), one("elo_high"), one("rated_games")]).toEqual([
    rated.elo,
    rated.low,
    rated.high,
    rated.games,
  ]);
});

test("however many configs and numbers there are, the series stay bounded", () => {
  const metrics = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`m${i}`, i]));
  const losses = [{ iteration: 1, policy_loss: 1, value_loss: 0, validation_loss: null, loss: 1, metrics, at: AT }];
  const found = collect(Array.from({ length: 300 }, (_, i) => opened(`c${i}_2p`, { losses })));
  expect(Object.keys(found.get("iteration")!).length).toBeLessThanOrEqual(100);
  expect(Object.keys(found.get("training_metric")!.c0_2p!).length).toBeLessThanOrEqual(64);
});

test("a config that was never rated and never trained has no series for it, and no zero", () => {
  const found = collect([opened("hex8_2p")]);
  for (const name of ["champion_elo", "loss", "gate_llr", "champion_generation"])
    expect(found.get(name)).toEqual({ hex8_2p: undefined });
});

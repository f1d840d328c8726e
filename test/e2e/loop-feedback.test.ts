/** The second flow of the documents over the real loop: what the gates of real games lead to, arrow by arrow. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Unit } from "../../src/daemons/index.ts";
import { allocations } from "../../src/pipeline/selfplay/index.ts";
import { type AnyEvent, createWriteSet } from "../../src/router/index.ts";
import { FEEDBACK_ARROWS } from "../support/feedback-arrows.ts";
import { CONFIG, planned, QUICK, type RunningLoop, startLoop, unitErrors } from "../support/loop.ts";
import { patience, until } from "../support/patience.ts";
import { owned } from "../support/process.ts";

/** It gets stronger, and its first gates say so. */
const { most_iterations: _most, ...LEARNS } = { ...QUICK, steering: { exploration: true, share: true } };

/** It learns nothing, and its gates ask for much: each one is weak, and as many as a plateau needs come soon. */
const STILL = "connect4_7x6_2p";
const STANDS_STILL = {
  ...{ seed: 7, games_per_iteration: 8, games_per_job: 8, least_rows: 20, parity_share: 0, rating_share: 0 },
  selfplay: { simulations: 4, wide: 8, narrow: 8, format: "npz" },
  training: { wide: 8, narrow: 8, rate: 1e-9, samples_per_row: 4 },
  evaluation: { simulations: 4, opening_plies: 5 },
  gate: { elo1: 300, least_elo1: 300, alpha: 0.01, batch_blocks: 10, most_blocks: 20 },
  steering: { games: true, share: true },
};

const own = owned();
let loop: RunningLoop;
/** What each unit has acted on, as `event unit`. */
const acted = new Set<string>();

const noting = (unit: Unit): Unit => ({
  ...unit,
  behaviour: {
    ...unit.behaviour,
    async handle(event, context) {
      const answer = await unit.behaviour.handle(event, context);
      context.afterCommit(() => acted.add(`${event.eventType} ${unit.name}`));
      return answer;
    },
  },
});

const told = (eventType: string): AnyEvent[] =>
  loop.main.router.history({ eventType, fromJournal: true, limit: 1_000 }) as AnyEvent[];
const toldBy = (unit: string, eventType: string) => told(eventType).filter(({ source }) => source === unit);
/** Whether the end of a gate is among what led to it. */
const comesFromGate = ({ traceId }: AnyEvent) => told("EVALUATION_COMPLETED").some((gate) => gate.traceId === traceId);
const reasons = () =>
  createWriteSet(loop.main.router.store)
    .list(allocations)
    .flatMap(([, row]) => row.reasons.filter(({ name, factor }) => name === "curriculum" && factor !== 1));

const missing = () => [
  ...FEEDBACK_ARROWS.filter(
    ([heard, unit, event]) => !acted.has(`${heard} ${unit}`) || (event !== null && toldBy(unit, event).length === 0),
  ).map((arrow) => arrow.join(" > ")),
  ...(reasons().length === 0 ? ["a share that the curriculum has changed"] : []),
];

beforeAll(async () => {
  const plans = [...planned(LEARNS), ...planned(STANDS_STILL, [STILL])];
  loop = await startLoop(own, { plans, slots: 2, wrapUnit: noting });
  await until(
    () => missing().length === 0,
    () =>
      `it was not seen that ${missing().join(", ")}: ${JSON.stringify(loop.main.loop().configs.map(({ config_key, iteration, stage }) => [config_key, iteration, stage]))}`,
    { timeout: patience(240_000), interval: 200 },
  );
});
afterAll(async () => {
  await loop?.end();
  await own.end();
});

describe("EVALUATION_COMPLETED leads, by gauntlet_feedback", () => {
  const first = (eventType: string) => {
    const [event] = toldBy("gauntlet_feedback", eventType);
    expect(comesFromGate(event!)).toBe(true);
    return event!.payload as { readonly [field: string]: unknown };
  };

  test("when it was strong, to HYPERPARAMETER_UPDATED: explore less", () => {
    const { config_key, parameter, value, previous_value } = first("HYPERPARAMETER_UPDATED");
    expect({ config_key, parameter }).toEqual({ config_key: CONFIG, parameter: "exploration" });
    expect(value).toBeLessThan(Number(previous_value));
  });

  test("when it was weak, to SELFPLAY_TARGET_UPDATED: more games", () => {
    const { config_key, target_games, previous_target_games } = first("SELFPLAY_TARGET_UPDATED");
    expect(config_key).toBe(STILL);
    expect(target_games).toBeGreaterThan(Number(previous_target_games));
  });

  test("on a plateau, to CURRICULUM_ADVANCED: a harder tier", () => {
    expect(first("CURRICULUM_ADVANCED")).toMatchObject({ config_key: STILL, tier: "tier-1", previous_tier: "tier-0" });
  });
});

test("EVALUATION_COMPLETED leads, by curriculum_integration, to CURRICULUM_REBALANCED, and that to other shares of selfplay_scheduler", () => {
  expect(acted).toContain("EVALUATION_COMPLETED curriculum_integration");
  const { weights } = toldBy("curriculum_integration", "CURRICULUM_REBALANCED").at(-1)!.payload as {
    weights: Record<string, number>;
  };
  expect(weights[CONFIG]).toBeGreaterThan(weights[STILL]!);
  expect(acted).toContain("CURRICULUM_REBALANCED selfplay_scheduler");
  expect(reasons()).not.toEqual([]);
});

test("no unit has thrown on the way", () => {
  expect(unitErrors(loop)).toEqual([]);
});

/** Harm that is sound in form, and that the honest jobs find. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ArenaBench, type Input, LIMITS, made, openArenaBench } from "../../../test/unit/workloads/arena-bench.ts";
import { decodeCheckpoint } from "../arena/files/checkpoint-file.ts";
import { decodeGames } from "../arena/files/games-file.ts";
import { arenaDeclaration, createGame, decodeModel, decodeNpz } from "../arena/index.ts";
import type { JobOutcome } from "../process/index.ts";
import { type Poison, poisonedArenaDeclaration } from "./declaration.ts";

const SMALL = { wide: 8, narrow: 8 };
let arena: ArenaBench;
beforeAll(() => {
  arena = openArenaBench();
});
afterAll(() => arena.close());

const poisoned = (poison: Poison) => arena.child(poisonedArenaDeclaration({ poison, ...LIMITS }));

const PLAYED = { ...SMALL, simulations: 8, first_game: 3 };
const selfplay = (config_key: string) => ({
  config_key,
  seed: 21,
  parameters: { ...PLAYED, games: 4, format: "npz" },
});
const judge = (config_key: string, played: JobOutcome) =>
  arena.done({
    kind: "validation",
    config_key,
    parameters: { ...PLAYED, games: 4, game_seed: 21, parity_share: 0.25 },
    inputs: [made(played, "games"), made(played, "samples")],
  });

for (const configKey of ["connect4_7x6_2p", "connect4_8x7_3p"])
  test(`poisoned labels of ${configKey} are in sound files, and the judge finds each`, async () => {
    const played = await arena.done(selfplay(configKey), poisoned("labels"));
    const honest = await arena.done(selfplay(configKey));
    expect(made(played, "games").sha256).toBe(made(honest, "games").sha256);
    expect(played.metrics).toEqual(honest.metrics);
    const { samples } = decodeNpz(readFileSync(made(played, "samples").path));
    const decided = decodeGames(readFileSync(made(played, "games").path)).games.map(
      ({ outcome }) => outcome < samples.players,
    );
    const found = await judge(configKey, played);
    expect(found.metrics).toMatchObject({
      label_errors: [...samples.game].filter((index) => decided[index]).length,
      illegal_games: 0,
    });
    expect(found.metrics.label_errors).toBeGreaterThan(0);
    expect((await judge(configKey, honest)).metrics).toMatchObject({ label_errors: 0, parity_failed: 0 });
  });

test("careless moves are legal and their labels are right; only playing again finds them", async () => {
  const found = await judge("connect4_7x6_2p", await arena.done(selfplay("connect4_7x6_2p"), poisoned("moves")));
  expect(found.metrics).toMatchObject({ label_errors: 0, illegal_games: 0, parity_checked: 1, parity_failed: 1 });
});

test("a model that was turned around after training is sound in form, and loses to nothing at all", async () => {
  const config_key = "othello6_2p";
  const game = createGame(config_key);
  const played = await arena.done({ config_key, seed: 4, parameters: { ...SMALL, games: 60, simulations: 16 } });
  const training = {
    kind: "training",
    config_key,
    parameters: { ...SMALL, steps: 100 },
    inputs: [made(played, "samples")],
  };
  const [honest, harmed] = [await arena.done(training), await arena.done(training, poisoned("model"))];
  expect(harmed.metrics).toEqual(honest.metrics);
  expect(made(harmed, "checkpoint").sha256).toBe(made(honest, "checkpoint").sha256);
  const weights = (outcome: JobOutcome) => decodeModel(readFileSync(made(outcome, "model").path), game).network.weights;
  expect(weights(harmed)).not.toEqual(weights(honest));
  expect(decodeCheckpoint(readFileSync(made(harmed, "checkpoint").path), game).network.weights).toEqual(
    weights(honest),
  );

  const fresh = await arena.done({ kind: "training", config_key, parameters: { ...SMALL, fresh: true } });
  const scoreOf = async (candidate: Input) => {
    const outcome = await arena.done({
      kind: "evaluation",
      config_key,
      parameters: { blocks: 20, simulations: 12 },
      inputs: [{ ...candidate, name: "candidate" }, made(fresh, "model", "opponent")],
    });
    return outcome.metrics.score!;
  };
  expect(await scoreOf(made(honest, "model"))).toBeGreaterThan(0.6);
  expect(await scoreOf(made(harmed, "model"))).toBeLessThan(0.3);
});

test("harm needs its own program and its name: the honest one knows no such parameter", async () => {
  const outcome = await arena.run({ config_key: "connect4_7x6_2p", parameters: { poison: "labels" } });
  expect(outcome).toMatchObject({ status: "failed", error: { class: "bad_input" } });
  expect(arenaDeclaration().args.join()).not.toMatch(/poison/);
  const { args } = poisonedArenaDeclaration({ poison: "labels" });
  const nameless = await arena
    .child({ ...poisonedArenaDeclaration({ poison: "labels", ...LIMITS }), args: args.slice(0, 1) })
    .runJob(arena.bench.job(selfplay("connect4_7x6_2p")));
  expect(nameless.status).toBe("failed");
  expect(nameless.stderr_tail).toMatch(/does harm on purpose/);
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { isOperatingError, pick, seededRandom } from "../../../kernel/index.ts";
import { createGame } from "../games/catalog.ts";
import { shapeOf } from "../net/layout.ts";
import { createNetwork } from "../net/network.ts";
import { createTrainer, DEFAULT_TRAINER, type Trainer } from "../net/trainer.ts";
import { DEFAULT_SELF_PLAY, selfPlay } from "../play/self-play.ts";
import { networkEvaluator } from "../search/evaluator.ts";
import { createSearch, DEFAULT_SEARCH } from "../search/puct.ts";
import { decodeCheckpoint, encodeCheckpoint } from "./checkpoint-file.ts";
import { type EncodedFile, encodeFile, hashOf } from "./container.ts";
import { decodeGames, encodeGames } from "./games-file.ts";
import { decodeModel, encodeModel } from "./model-file.ts";
import { decodeSamples, encodeSamples } from "./samples-file.ts";
import { readWithin } from "./store.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

const game = createGame("connect4_7x6_2p");
const network = createNetwork(shapeOf(game, 8, 8), seededRandom(4));
const search = createSearch(game, networkEvaluator(game, network), { ...DEFAULT_SEARCH, simulations: 8 });
const played = selfPlay(game, search, DEFAULT_SELF_PLAY, [1, 2, 3]);

const trainer = createTrainer(createNetwork(shapeOf(game, 8, 8), seededRandom(4)), game.symmetries, DEFAULT_TRAINER);
const trainOn = (target: Trainer, seed: number) => {
  const random = seededRandom(seed);
  for (let i = 0; i < 3; i += 1) target.step(played.samples, () => pick(random, played.samples.count), random);
};
trainOn(trainer, 1);

const kinds: readonly (readonly [string, EncodedFile, (bytes: Uint8Array) => unknown])[] = [
  ["games", encodeGames(game.configKey, played.games), decodeGames],
  ["samples", encodeSamples(played.samples), decodeSamples],
  ["model", encodeModel(network), (bytes) => decodeModel(bytes, game)],
  ["checkpoint", encodeCheckpoint(trainer), (bytes) => decodeCheckpoint(bytes, game)],
];

const faultOf = (act: () => unknown): string => {
  try {
    act();
  } catch (thrown) {
    if (isOperatingError(thrown)) return thrown.code;
    throw thrown;
  }
  return "none";
};

describe("what goes into a file comes out of it", () => {
  it("games", () => {
    const { games, configKey, origin } = decodeGames(encodeGames(game.configKey, played.games, { by: "test" }).bytes);
    expect(games).toEqual(played.games);
    expect([configKey, origin]).toEqual([game.configKey, { by: "test" }]);
  });

  it("samples", () => {
    const { samples } = decodeSamples(encodeSamples(played.samples).bytes);
    expect(samples).toEqual(played.samples);
    expect(samples.count).toBeGreaterThan(20);
  });

  it("models, to the bit", () => {
    const file = encodeModel(network, { parent: "none" });
    const model = decodeModel(file.bytes, game);
    expect(model.network.weights).toEqual(network.weights);
    expect(model.hash).toBe(file.hash);
    expect(encodeModel(model.network, model.origin).hash).toBe(file.hash);
  });

  it("checkpoints, so that training goes on as if it had never stopped", () => {
    const { network: restored, momentum } = decodeCheckpoint(encodeCheckpoint(trainer).bytes, game);
    const resumed = createTrainer(restored, game.symmetries, DEFAULT_TRAINER, momentum);
    const forgetful = createTrainer(
      { ...restored, weights: restored.weights.slice() },
      game.symmetries,
      DEFAULT_TRAINER,
    );
    for (const each of [trainer, resumed, forgetful]) trainOn(each, 2);
    expect(resumed.network.weights).toEqual(trainer.network.weights);
    expect(resumed.momentum).toEqual(trainer.momentum);
    expect(forgetful.network.weights).not.toEqual(trainer.network.weights);
  });
});

describe.each(kinds)("a file of %s", (kind, file, decode) => {
  it("is named by the SHA-256 of its bytes", () => {
    expect(file.hash).toBe(hashOf(file.bytes));
    expect(file.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it("cut short anywhere gives a typed error", () => {
    fc.assert(
      fc.property(fc.nat(file.bytes.length - 1), (length) => {
        expect(["ARENA_FILE_TRUNCATED", "ARENA_FILE_CORRUPT"]).toContain(
          faultOf(() => decode(file.bytes.slice(0, length))),
        );
      }),
      { numRuns: 200 },
    );
  });

  it("with one flipped bit anywhere gives a typed error", () => {
    fc.assert(
      fc.property(fc.nat(file.bytes.length - 1), fc.nat(7), (at, bit) => {
        const damaged = Uint8Array.from(file.bytes);
        damaged[at]! ^= 1 << bit;
        expect(faultOf(() => decode(damaged))).toMatch(/^ARENA_FILE_/);
      }),
      { numRuns: 200 },
    );
  });

  it("with bytes behind its end gives a typed error", () => {
    expect(faultOf(() => decode(Buffer.concat([file.bytes, Buffer.alloc(1)])))).toBe("ARENA_FILE_CORRUPT");
  });

  it("without a version, or of another one, gives a typed error", () => {
    const content = { kind, about: { config_key: game.configKey }, columns: [] };
    const versionless = encodeFile({ ...content, version: undefined as unknown as number });
    expect(faultOf(() => decode(versionless.bytes))).toBe("ARENA_FILE_VERSION");
    expect(faultOf(() => decode(encodeFile({ ...content, version: 2 }).bytes))).toBe("ARENA_FILE_VERSION");
  });

  it("is not taken for another kind", () => {
    for (const [other, , read] of kinds)
      if (other !== kind) expect(faultOf(() => read(file.bytes))).toBe("ARENA_FILE_KIND");
  });

  it("with a column missing gives a typed error", () => {
    const empty = encodeFile({
      kind,
      version: 1,
      about: { config_key: game.configKey, wide: 8, narrow: 8 },
      columns: [],
    });
    expect(faultOf(() => decode(empty.bytes))).toMatch(/^ARENA_FILE_(CORRUPT|KIND)$/);
  });
});

describe("a file that is whole but untrue", () => {
  it("is refused when a game's outcome is not what its moves lead to", () => {
    const [first, ...rest] = played.games;
    const lie = encodeGames(game.configKey, [{ ...first!, outcome: (first!.outcome + 1) % 3 }, ...rest]);
    expect(faultOf(() => decodeGames(lie.bytes))).toBe("ARENA_FILE_CORRUPT");
    const short = encodeGames(game.configKey, [{ ...first!, moves: first!.moves.slice(0, -1) }]);
    expect(faultOf(() => decodeGames(short.bytes))).toBe("ARENA_FILE_CORRUPT");
    const illegal = encodeGames(game.configKey, [{ ...first!, moves: Uint8Array.of(0, 0, 0, 0, 0, 0, 0) }]);
    expect(faultOf(() => decodeGames(illegal.bytes))).toBe("ARENA_FILE_CORRUPT");
  });

  it("is refused when a policy gives an illegal move a share, or does not sum to 1", () => {
    const policy = played.samples.policy.slice();
    policy[0] = Number.NaN;
    expect(faultOf(() => decodeSamples(encodeSamples({ ...played.samples, policy }).bytes))).toBe("ARENA_FILE_CORRUPT");
    const legal = new Uint8Array(played.samples.legal.length);
    expect(faultOf(() => decodeSamples(encodeSamples({ ...played.samples, legal }).bytes))).toBe("ARENA_FILE_CORRUPT");
    const codes = played.samples.codes.slice();
    codes[5] = 200;
    expect(faultOf(() => decodeSamples(encodeSamples({ ...played.samples, codes }).bytes))).toBe("ARENA_FILE_CORRUPT");
  });

  it("is refused when a weight is no number, or the model is of another game", () => {
    const weights = network.weights.slice();
    weights[17] = Number.NaN;
    expect(faultOf(() => decodeModel(encodeModel({ ...network, weights }).bytes, game))).toBe("ARENA_FILE_CORRUPT");
    expect(faultOf(() => decodeModel(encodeModel(network).bytes, createGame("othello6_2p")))).toBe("ARENA_FILE_KIND");
  });

  it("is refused when its header claims more than there is", () => {
    const { bytes } = encodeFile({ kind: "games", version: 1, about: {}, columns: [] });
    const huge = Buffer.from(bytes);
    huge.writeUInt32LE(0xffffffff, 8);
    expect(faultOf(() => decodeGames(huge))).toBe("ARENA_FILE_TOO_LARGE");
  });
});

describe("files on disk", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "arena-files-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("are refused unread when they are too large, and named when they are missing", async () => {
    const path = join(folder, "large");
    await writeFile(path, Buffer.alloc(1000));
    await expect(readWithin(path, 999)).rejects.toMatchObject({ code: "ARENA_FILE_TOO_LARGE" });
    await expect(readWithin(join(folder, "none"))).rejects.toMatchObject({ code: "ARENA_FILE_NOT_FOUND" });
  });
});

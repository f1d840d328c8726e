import { hash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { defined, seededRandom } from "../../kernel/index.ts";
import { encodeCheckpoint } from "../../workloads/arena/files/checkpoint-file.ts";
import { createGame, createStructureReader, encodeModel } from "../../workloads/arena/index.ts";
import { shapeOf } from "../../workloads/arena/net/layout.ts";
import { createNetwork } from "../../workloads/arena/net/network.ts";
import { createTrainer, DEFAULT_TRAINER } from "../../workloads/arena/net/trainer.ts";
import { isOfOthers, judgeModels } from "./judge-models.ts";
import { type NamedWorkload, workloadList } from "./workload-list.ts";

const folder = mkdtempSync(join(tmpdir(), "ringrift-test-"));
const reader = createStructureReader();
afterAll(async () => {
  await reader.close();
  rmSync(folder, { recursive: true, force: true });
});

const game = createGame("connect4_7x6_2p");
const network = () => createNetwork(shapeOf(game, 8, 8), seededRandom(4));
const model = encodeModel(network()).bytes;
const checkpoint = encodeCheckpoint(createTrainer(network(), game.symmetries, DEFAULT_TRAINER)).bytes;
/** One of the weights is no number: the frame and the hashes of the file are right. */
const poisoned = () => {
  const spoilt = network();
  spoilt.weights[7] = Number.NaN;
  return encodeModel(spoilt).bytes;
};

const pathOf = (sha256: string) => join(folder, sha256);
const workloads = workloadList(undefined, 5);
const judge = judgeModels({ workloads, structures: reader, pathOf });
const store = (bytes: Uint8Array): string => {
  const sha256 = hash("sha256", bytes);
  writeFileSync(pathOf(sha256), bytes);
  return sha256;
};
const found = (name: string, bytes: Uint8Array, config_key = game.configKey, work_type = "training") =>
  judge({ work_type, config_key }, { name, sha256: store(bytes) });

test("what a run of the arena makes is taken", async () => {
  expect(await found("model.arena", model)).toBeUndefined();
  expect(await found("checkpoint.arena", checkpoint)).toBeUndefined();
});

test("noise, a cut file, another kind, another game and weights that are no numbers are refused, with the reason", async () => {
  expect(await found("model.arena", randomBytes(5_000))).toBe("is no model of the arena");
  expect(await found("model.arena", model.subarray(0, model.length - 9))).toMatch(/^cannot be read: /);
  expect(await found("model.arena", checkpoint)).toBe("is no model of the arena");
  expect(await found("checkpoint.arena", model)).toBe("is no checkpoint of the arena");
  expect(await found("model.arena", model, "othello6_2p")).toBe("is of connect4_7x6_2p, not of othello6_2p");
  expect(await found("model.arena", poisoned())).toMatch(/^cannot be read: /);
});

test("files of other jobs are not judged here", async () => {
  expect(await found("samples.npz", randomBytes(50))).toBeUndefined();
  expect(await found("model.arena", randomBytes(50), game.configKey, "selfplay")).toBeUndefined();
});

describe("a model of somebody's own program", () => {
  const own = { ...workloads[0]!, name: "torch", configKeys: ["chess_2p"] };
  const ask = (name: string, bytes: Uint8Array, files: NamedWorkload["files"] = undefined) =>
    judgeModels({ workloads: [{ ...own, ...defined({ files }) }, ...workloads], structures: reader, pathOf })(
      { work_type: "training", config_key: "chess_2p" },
      { name, sha256: store(bytes) },
    );

  test("may be anything that its name does not contradict, and never nothing", async () => {
    expect(await ask("model.pt", randomBytes(50))).toBeUndefined();
    expect(await ask("model.json", Buffer.from("{}"))).toBeUndefined();
    expect(await ask("model.json", Buffer.from("{"))).toBe("is no JSON");
    expect(await ask("checkpoint.onnx", randomBytes(50))).toBe("is no ONNX model");
    expect(await ask("model.pt", Buffer.alloc(0))).toBe("is empty");
  });

  test("is held to what is declared of it", async () => {
    expect(await ask("model.json", Buffer.from("{"), { model: { format: "any" } })).toBeUndefined();
    expect(await ask("model.pt", Buffer.from("{"), { model: { format: "json" } })).toBe("is no JSON");
    expect(await ask("checkpoint.pt", Buffer.from("{"), { model: { format: "json" } })).toBeUndefined();
    const sized = { model: { minBytes: 10, maxBytes: 20 } };
    expect(await ask("model.pt", randomBytes(9), sized)).toBe("has 9 bytes; at least 10 are declared");
    expect(await ask("model.pt", randomBytes(10), sized)).toBeUndefined();
    expect(await ask("model.pt", randomBytes(20), sized)).toBeUndefined();
    expect(await ask("model.pt", randomBytes(21), sized)).toBe("has 21 bytes; at most 20 are declared");
  });

  test("is one whoever declares the config, unless it is one of the built-in games", () => {
    expect(isOfOthers([{ ...own }, ...workloads])("chess_2p")).toBe(true);
    expect(isOfOthers(workloads)("nim21_2p")).toBe(true);
    expect(isOfOthers(workloads)(game.configKey)).toBe(false);
    expect(isOfOthers([{ ...own, configKeys: [game.configKey] }, ...workloads])(game.configKey)).toBe(true);
  });
});

test("what a program's files must be is declared beside its configs, and checked", () => {
  const file = join(folder, "ringrift.config.json");
  const declare = (files: object) => {
    const torch = { command: "python3", kinds: ["training"], config_keys: ["chess_2p"], files };
    writeFileSync(file, JSON.stringify({ workloads: { torch } }));
    return workloadList(file, 5)[0]!.files;
  };
  expect(declare({ model: { format: "safetensors", min_bytes: 5 }, checkpoint: { max_bytes: 9 } })).toEqual({
    model: { format: "safetensors", minBytes: 5 },
    checkpoint: { maxBytes: 9 },
  });
  expect(() => declare({ model: { format: "word" } })).toThrow(/workloads are declared wrong/);
  expect(() => declare({ model: { min_bytes: 9, max_bytes: 5 } })).toThrow(/min_bytes of at most max_bytes/);
  expect(() => declare({ picture: {} })).toThrow(/workloads are declared wrong/);
});

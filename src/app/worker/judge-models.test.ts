import { hash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { seededRandom } from "../../kernel/index.ts";
import { encodeCheckpoint } from "../../workloads/arena/files/checkpoint-file.ts";
import { createGame, createStructureReader, encodeModel } from "../../workloads/arena/index.ts";
import { shapeOf } from "../../workloads/arena/net/layout.ts";
import { createNetwork } from "../../workloads/arena/net/network.ts";
import { createTrainer, DEFAULT_TRAINER } from "../../workloads/arena/net/trainer.ts";
import { judgeModels } from "./judge-models.ts";
import { workloadList } from "./workload-list.ts";

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
const judge = judgeModels({ workloads, read: reader.read, pathOf });
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

test("files of other jobs and of other programs are not judged here", async () => {
  expect(await found("samples.npz", randomBytes(50))).toBeUndefined();
  expect(await found("model.arena", randomBytes(50), game.configKey, "selfplay")).toBeUndefined();
  const own = { ...workloads[0]!, name: "torch", configKeys: ["chess_2p"] };
  const judgeOwn = judgeModels({ workloads: [own, ...workloads], read: reader.read, pathOf });
  const sha256 = store(randomBytes(50));
  expect(
    await judgeOwn({ work_type: "training", config_key: "chess_2p" }, { name: "model.pt", sha256 }),
  ).toBeUndefined();
});

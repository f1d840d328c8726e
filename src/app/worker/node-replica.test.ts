/** A joined folder answers of models and ratings what it last heard, and says how old that is. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { commandsOn } from "../../../test/support/commands.ts";
import { PATIENT } from "../../../test/support/patience.ts";
import { silentLog, systemClock, systemRandom } from "../../kernel/index.ts";
import { keepReplica, readReplica } from "./node-replica.ts";

const model = (id: string, config_key: string, stage: string) => ({
  model_id: id.repeat(64),
  config_key,
  iteration: 3,
  stage,
  generation: 1,
  created_at: 1_700_000_000,
  bytes: 5,
  parent: null,
  rating: { elo: 120, low: 100, high: 140, games: 50 },
});
const answers = {
  models: { models: [model("a", "hex8_2p", "production"), model("b", "othello6_2p", "staging")] },
  pipeline: { at: 1_700_000_000, configs: [] },
};

function joined() {
  const dataDir = mkdtempSync(join(tmpdir(), "ringrift-replica-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  mkdirSync(join(dataDir, "node"));
  const node = { node_id: "n7", label: "box", url: "http://127.0.0.1:9", joined_at: 1 };
  writeFileSync(join(dataDir, "node", "node.json"), JSON.stringify(node));
  const main = { isAway: false, asked: 0 };
  const port = {
    ask: async () => {
      main.asked += 1;
      if (main.isAway) throw new Error("nobody answers");
      return answers;
    },
  };
  const edges = { clock: systemClock(), random: systemRandom(), log: silentLog() };
  const kept = keepReplica({ dataDir, url: node.url, port, ...edges, everyMs: 5 });
  onTestFinished(() => kept.stop());
  return { dataDir, main, kept };
}

test("while the main process is away the folder answers what it heard last, with its age", async () => {
  const { dataDir, main } = joined();
  await vi.waitFor(() => expect(readReplica(dataDir)).toBeDefined(), PATIENT);
  main.isAway = true;
  const run = commandsOn(dataDir);
  const models = await run("models", "--json");
  expect(models.err).toMatch(/this folder is a node of http:\/\/127\.0\.0\.1:9; .* ago/);
  expect(JSON.parse(models.out).models).toHaveLength(2);
  const one = JSON.parse((await run("models", "--json", "--config-key", "hex8_2p")).out);
  expect(one.models).toMatchObject([{ config_key: "hex8_2p", stage: "production" }]);
  // Its pipeline had no config yet: who asks for a ladder is told so, and not that the folder keeps none.
  expect(await run("elo", "hex8_2p")).toMatchObject({ err: expect.stringContaining("no loop runs for 'hex8_2p'") });
  const status = await run("status");
  expect(status.out).toMatch(/champions +hex8_2p a{12}, heard /);
});

test("what it does not keep it says, and an answer that is none is not kept", async () => {
  const { dataDir, kept } = joined();
  await vi.waitFor(() => expect(readReplica(dataDir)).toBeDefined(), PATIENT);
  await kept.stop();
  expect(await commandsOn(dataDir)("ledger")).toMatchObject({ err: expect.stringContaining("keeps only its models") });
  writeFileSync(join(dataDir, "node", "replica.json"), "{}");
  expect(readReplica(dataDir)).toBeUndefined();
});

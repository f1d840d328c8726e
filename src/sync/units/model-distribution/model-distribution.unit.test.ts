/** The unit over a database in memory and a clock that only the test moves: home, two nodes that play, and a queue that is a list. */
import { afterEach, expect, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { entryOf, oneNode, sha256Of } from "../../../../test/unit/sync/sync-world.ts";
import { builtinRows } from "../../../events/index.ts";
import { silentLog } from "../../../kernel/index.ts";
import type { Operation } from "../../../router/index.ts";
import { createArtifactCatalog } from "../../catalog.ts";
import { createCopies } from "../../copies/copies.ts";
import { confirmCopies, noteCopies } from "../../copies/copy-operations.ts";
import { createNodeDesk } from "../../copies/node-desk.ts";
import type { SyncUnitServices } from "../../services.ts";
import { createSpreadView } from "../../spread.ts";
import type { Trial } from "./decide.ts";
import { modelDistributionDaemon } from "./model-distribution.unit.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const MODEL = sha256Of("model");
const ROWS = sha256Of("rows");
const CONFIG = "hex8_2p";
const TOLD = [
  "MODEL_DISTRIBUTION_STARTED",
  "P2P_MODEL_SYNCED",
  "MODEL_DISTRIBUTION_COMPLETE",
  "MODEL_DISTRIBUTION_FAILED",
  "DISTRIBUTION_INCOMPLETE",
] as const;

async function world(names: readonly string[] = ["a", "b"]) {
  const w = unitWorld(builtinRows);
  ends.push(() => w.close());
  const commit = (...operations: Operation[]) => w.driven(w.store.commit(operations));
  const catalog = createArtifactCatalog(w);
  const change: Operation[] = [];
  const joined = catalog.join({ rows: { apply: (operation) => void change.push(operation) } });
  joined.record([entryOf("model", { kind: "model", games: 0 }), entryOf("rows", { kind: "training", games: 0 })]);
  joined.accept([MODEL, ROWS]);
  await commit(...change);
  const facts = ["n1", ...names].map((node_id) => ({ ...oneNode.nodes()[0]!, node_id, name: `node ${node_id}` }));
  const copies = createCopies({ ...w, nodeId: "n1", copies: oneNode.copies, nodes: () => facts });
  const desk = createNodeDesk({ ...w, log: silentLog(), copies, get: catalog.get, verify: () => {} });
  for (const node_id of names) await commit(confirmCopies({ node_id, incarnation: 0, upto: 0, present: [], at: 1 }));
  const jobs = new Map<string, { nodeId: string; trial: Trial }>();
  const champions = [{ configKey: CONFIG, model: MODEL, since: 1 }];
  const spread = {
    champions: () => champions,
    players: () => ["n1", ...names],
    trainers: () => ["b"],
    trials: {
      async put({ nodeId }: { readonly nodeId: string }) {
        const id = `w${jobs.size + 1}`;
        jobs.set(id, { nodeId, trial: { state: "open" } });
        return id;
      },
      look: (id: string) => jobs.get(id)!.trial,
      takeBack: async () => {},
    },
  };
  const services = { ...w, nodeId: "n1", copies, desk, get: catalog.get, ...spread } as unknown as SyncUnitServices;
  const told: string[] = [];
  for (const type of TOLD)
    w.router.subscribe(type, ({ payload }) => {
      const { node_id, missing_node_ids } = payload as { node_id?: string; missing_node_ids?: string[] };
      told.push([type, node_id ?? "", ...(missing_node_ids ?? [])].join(" ").trim());
    });
  const runtime = w.runtime([modelDistributionDaemon(services)]);
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  /** A node speaks, and fetches what it was ordered to. */
  const speak = async (node_id: string) => {
    const news = { node_id, incarnation: 0, held: [], gone: [], drop: [], orders: [], storage };
    const { orders } = await w.driven(desk.exchange(news));
    for (const { sha256 } of orders)
      await commit(noteCopies({ node_id, sha256s: [sha256], by: node_id, at: w.clock.now() }));
    return orders.length;
  };
  for (const node_id of names) await speak(node_id);
  await w.driven(runtime.start());
  const health = () => runtime.status().find(({ name }) => name === "model_distribution_daemon")!;
  const end = (id: string, trial: Trial) => void jobs.set(id, { ...jobs.get(id)!, trial });
  return { ...w, champions, told, speak, jobs, end, health, view: createSpreadView(w.store) };
}

test("a champion goes to one node, which plays with it, and then to the other; each receipt is told once", async () => {
  const w = await world();
  await w.pass(3_000);
  const [first, second] = (await w.speak("a")) === 1 ? ["a", "b"] : ["b", "a"];
  if (first === "b") await w.speak("b");
  await w.pass(3_000);
  expect([...w.jobs.values()].map(({ nodeId }) => nodeId)).toEqual([first]);
  expect(await w.speak(second!)).toBe(0);
  expect(w.view.isOut(CONFIG, MODEL)).toBe(false);
  w.end("w1", { state: "played", games: 8 });
  await w.pass(6_000);
  expect(await w.speak(second!)).toBe(1);
  await w.pass(6_000);
  expect(w.told).toEqual([
    "MODEL_DISTRIBUTION_STARTED",
    `P2P_MODEL_SYNCED ${first}`,
    `P2P_MODEL_SYNCED ${second}`,
    "MODEL_DISTRIBUTION_COMPLETE",
  ]);
  expect([w.view.isOut(CONFIG, MODEL), w.health().status]).toEqual([true, "running"]);
});

test("one that nobody can load is held back with the reason in its health, and those who tried it are known as unfit", async () => {
  const w = await world();
  for (let tries = 0; tries < 2; tries += 1) {
    await w.pass(3_000);
    for (const node of ["a", "b"]) await w.speak(node);
    await w.pass(3_000);
    w.end(`w${tries + 1}`, { state: "failed", error: "the model does not load" });
    await w.pass(3_000);
  }
  await w.pass(4_000);
  expect(w.told.at(-1)).toMatch(/^MODEL_DISTRIBUTION_FAILED/);
  expect(w.health()).toMatchObject({
    status: "degraded",
    message: expect.stringMatching(/node [ab]: the model does not load/),
  });
  expect(w.view.unfit(CONFIG, MODEL).sort()).toEqual(["a", "b"]);
  expect(w.view.isOut(CONFIG, MODEL)).toBe(false);
});

test("on one machine nothing is brought anywhere, no job is put out, and nobody is told", async () => {
  const w = await world([]);
  await w.pass(10_000);
  expect([w.told, w.jobs.size, w.view.isOut(CONFIG, MODEL)]).toEqual([[], 0, true]);
});

test("whoever asks for a model gets it without a trial", async () => {
  const w = await world(["b"]);
  await w.driven(w.router.publish("MODEL_SYNC_REQUESTED", { model_id: MODEL, node_id: "b" } as never));
  await w.pass(1_000);
  expect(await w.speak("b")).toBe(1);
});

test("a training file is brought, as models are, to the node that only trains, and once", async () => {
  const w = await world();
  w.champions.splice(0);
  const exported = { config_key: CONFIG, artifact_hash: ROWS, samples: 9, games: 3, job_id: "j" };
  const open = () =>
    w.store.read("SELECT node_id, action, reason FROM sync_orders WHERE state IN ('waiting', 'running')");
  await w.pass(5_000);
  expect(open()).toEqual([]);
  await w.driven(w.router.publish("NPZ_EXPORT_COMPLETE", exported as never));
  await w.pass(1_000);
  expect(open()).toEqual([{ node_id: "b", action: "fetch", reason: "distribution" }]);
  expect([await w.speak("a"), await w.speak("b")]).toEqual([0, 1]);
  await w.driven(w.router.publish("NPZ_EXPORT_COMPLETE", { ...exported, job_id: "k" } as never));
  await w.pass(1_000);
  expect(open()).toEqual([]);
});

/** The unit over a database in memory: a model on two nodes, home aside. */
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
import { cacheOrchestrator } from "./cache-orchestrator.unit.ts";
import { whatToForget } from "./decide.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const MODEL = sha256Of("model");
const about = { config_key: "hex8_2p", model_id: MODEL } as const;
const rolledBack = {
  ...about,
  restored_model_id: sha256Of("good"),
  artifact_hash: sha256Of("good"),
  reason: "it lost",
};

async function world(...holders: string[]) {
  const w = unitWorld(builtinRows);
  ends.push(() => w.close());
  const commit = (...operations: Operation[]) => w.driven(w.store.commit(operations));
  const catalog = createArtifactCatalog(w);
  const change: Operation[] = [];
  catalog
    .join({ rows: { apply: (operation) => void change.push(operation) } })
    .record([entryOf("model", { kind: "model" })]);
  await commit(...change);
  const facts = ["n1", "a", "b"].map((node_id) => ({ ...oneNode.nodes()[0]!, node_id, name: node_id }));
  const copies = createCopies({ ...w, nodeId: "n1", copies: oneNode.copies, nodes: () => facts });
  const desk = createNodeDesk({ ...w, log: silentLog(), copies, get: catalog.get, verify: () => {} });
  const hold = (node_id: string) => commit(noteCopies({ node_id, sha256s: [MODEL], by: node_id, at: w.clock.now() }));
  for (const node_id of ["a", "b"])
    await commit(confirmCopies({ node_id, incarnation: 0, upto: 0, present: [], at: 1 }));
  for (const node_id of ["n1", ...holders]) await hold(node_id);
  const told: unknown[] = [];
  w.router.subscribe("CACHE_INVALIDATED", ({ payload }) => void told.push(payload.node_ids));
  const runtime = w.runtime([cacheOrchestrator({ store: w.store, nodeId: "n1" })]);
  await w.driven(runtime.start());
  const publish = async (...event: Parameters<typeof w.router.publish>) => {
    await w.driven(w.router.publish(...event));
    await w.pass(100);
  };
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  /** A node speaks; what it is told of invalid copies, and whether what it asks to drop may go. */
  const speak = async (node_id: string, news: { held?: string[]; gone?: string[]; drop?: string[] } = {}) => {
    const all = { node_id, incarnation: 0, held: [], gone: [], drop: [], orders: [], storage, ...news };
    const { invalid, drop } = await w.driven(desk.exchange(all));
    return { invalid, allowed: drop.map(({ allowed }) => allowed) };
  };
  return { ...w, told, publish, speak, hold };
}

test("the copies of a champion that was rolled back are invalid: each node is told until it has let go of its own or hashed it anew", async () => {
  const w = await world("a", "b");
  await w.publish("PROMOTION_ROLLED_BACK", rolledBack as never);
  expect(w.told).toEqual([["a", "b"]]);
  expect((await w.speak("a")).invalid).toEqual([MODEL]);
  expect((await w.speak("a")).invalid).toEqual([MODEL]);
  await w.speak("a", { gone: [MODEL] });
  expect((await w.speak("a")).invalid).toEqual([]);
  w.clock.standStill(1_000);
  await w.speak("b", { held: [MODEL] });
  expect((await w.speak("b")).invalid).toEqual([]);
});

test("a copy that must stay is not dropped for being invalid", async () => {
  const w = await world("a", "b");
  await w.publish("PROMOTION_ROLLED_BACK", rolledBack as never);
  // Three must lie somewhere, and there are three places.
  expect((await w.speak("a", { drop: [MODEL] })).allowed).toEqual([false]);
});

test("one that comes to a node later is invalid too, until the model is champion again", async () => {
  const w = await world();
  await w.publish("PROMOTION_ROLLED_BACK", rolledBack as never);
  expect(w.told).toEqual([]);
  await w.hold("a");
  await w.publish("P2P_MODEL_SYNCED", { ...about, node_id: "a", artifact_hash: MODEL } as never);
  expect(w.told).toEqual([["a"]]);
  await w.publish("MODEL_PROMOTED", { ...about, artifact_hash: MODEL, elo: 1_500, games: 40 } as never);
  await w.hold("b");
  await w.publish("P2P_MODEL_SYNCED", { ...about, node_id: "b", artifact_hash: MODEL } as never);
  expect(w.told).toEqual([["a"]]);
});

test("a model that is damaged anywhere is hashed anew wherever it lies", async () => {
  const w = await world("b");
  await w.publish("MODEL_CORRUPTED", {
    model_id: MODEL,
    node_id: "n1",
    artifact_hash: MODEL,
    damage: "checksum",
  } as never);
  expect([w.told, (await w.speak("b")).invalid]).toEqual([[["b"]], [MODEL]]);
});

test("what was withdrawn long ago, or is one of too many, is forgotten", () => {
  const all = [5, 30, 10, 20].map((at) => [`m${at}`, { reason: "", at }] as const);
  expect(whatToForget(all, 40, { keepMs: 25, max: 9 })).toEqual(["m10", "m5"]);
  expect(whatToForget(all, 40, { keepMs: 99, max: 2 })).toEqual(["m10", "m5"]);
});

/** The unit over a database in memory and a clock that only the test moves; nodes do as they are told. */
import { afterEach, expect, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { entryOf, oneNode, sha256Of } from "../../../../test/unit/sync/sync-world.ts";
import { builtinRows } from "../../../events/index.ts";
import { silentLog } from "../../../kernel/index.ts";
import type { Operation } from "../../../router/index.ts";
import { noteSound } from "../../artifact-operations.ts";
import { createArtifactCatalog } from "../../catalog.ts";
import { createCopies } from "../../copies/copies.ts";
import { confirmCopies, noteCopies, noteGone } from "../../copies/copy-operations.ts";
import { createNodeDesk } from "../../copies/node-desk.ts";
import { createSources } from "../../sources/sources.ts";
import { replicationDaemon } from "./replication.unit.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const GAMES = sha256Of("games");
const MINUTE = 60_000;

/** Home with one file of games, and two nodes that are there. */
async function world() {
  const w = unitWorld(builtinRows);
  ends.push(() => w.close());
  const commit = (...operations: Operation[]) => w.driven(w.store.commit(operations));
  const catalog = createArtifactCatalog(w);
  const change: Operation[] = [];
  const joined = catalog.join({ rows: { apply: (operation) => void change.push(operation) } });
  joined.record([entryOf("games")]);
  joined.accept([GAMES]);
  await commit(...change, noteSound({ sha256s: [GAMES], at: w.clock.now() }));
  const facts = new Map(
    ["n1", "a", "b"].map((node_id) => [
      node_id,
      { node_id, name: node_id, isThere: true, isRented: false, incarnation: 1, kinds: [], freeCpus: 1 },
    ]),
  );
  const setNode = (node_id: string, news: { isThere?: boolean; isRented?: boolean }) =>
    void facts.set(node_id, { ...facts.get(node_id)!, ...news });
  const policy = oneNode.copies;
  const copies = createCopies({ ...w, nodeId: "n1", copies: policy, nodes: () => [...facts.values()] });
  const sources = createSources({ ...w, nodeId: "n1", copies, nodes: () => [] });
  const desk = createNodeDesk({ ...w, log: silentLog(), copies, sources, get: catalog.get, verify: () => {} });
  for (const node_id of ["a", "b"])
    await commit(confirmCopies({ node_id, incarnation: 1, upto: 0, present: [], at: 1 }));
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  /** A node speaks, and fetches or sends what it was ordered. */
  const speak = async (node_id: string) => {
    const news = { node_id, incarnation: 1, held: [], gone: [], drop: [], orders: [], storage };
    const { orders } = await w.driven(desk.exchange(news));
    for (const { action, sha256 } of orders) {
      const isHome = action === "send";
      await commit(
        noteCopies({ node_id: isHome ? "n1" : node_id, sha256s: [sha256], by: node_id, at: w.clock.now(), isHome }),
      );
    }
    return orders.map(({ action }) => `${action} ${node_id}`);
  };
  for (const node_id of ["a", "b"]) await speak(node_id);
  const unit = replicationDaemon({ store: w.store, nodeId: "n1", copies, desk, policy });
  await w.driven(w.runtime([unit]).start());
  const told = (eventType: "REPAIR_COMPLETED" | "REPLICATION_ALERT") =>
    w.router.history({ eventType }).map(({ payload }) => payload as Record<string, unknown>);
  const verdict = () => copies.of(catalog.get(GAMES)!);
  /** Time passes while all nodes that are there speak now and then. */
  const pass = async (ms: number) => {
    const done: string[] = [];
    for (let at = 0; at < ms; at += 20_000) {
      await w.pass(20_000);
      for (const { node_id, isThere } of facts.values())
        if (isThere && node_id !== "n1") done.push(...(await speak(node_id)));
    }
    return done;
  };
  return { ...w, commit, node: setNode, pass, told, verdict };
}

test("a file gets the copies it must have, which is told as no repair; when their node is lost another makes one", async () => {
  const w = await world();
  const [first] = await w.pass(MINUTE);
  expect(w.verdict()).toMatchObject({ copies: 2, required: 2, safe: true });
  expect(w.told("REPAIR_COMPLETED")).toEqual([]);
  const [holder, other] = first === "fetch a" ? ["a", "b"] : ["b", "a"];
  w.node(holder!, { isThere: false });
  expect(w.verdict()).toMatchObject({ copies: 1, safe: false });
  expect(await w.pass(MINUTE)).toEqual([`fetch ${other}`]);
  expect(w.verdict()).toMatchObject({ copies: 2, safe: true });
  await w.pass(MINUTE);
  expect(w.told("REPAIR_COMPLETED")).toMatchObject([{ node_id: other, artifact_hash: GAMES, source_node_id: "n1" }]);
  expect(w.told("REPLICATION_ALERT")).toEqual([]);
});

test("copies that are booked under a name that home had before go, whether or not it ever listed them", async () => {
  const w = await world();
  await w.commit(noteCopies({ node_id: "old-home", sha256s: [GAMES], by: "old-home", at: 1, isHome: true }));
  await w.pass(2 * MINUTE);
  const holders = w.store.read<{ node_id: string }>("SELECT DISTINCT node_id FROM sync_held ORDER BY node_id");
  expect(holders.map(({ node_id }) => node_id)).not.toContain("old-home");
  expect(holders.map(({ node_id }) => node_id)).toContain("n1");
});

test("what home has lost is sent back by a node that has it", async () => {
  const w = await world();
  await w.pass(MINUTE);
  await w.commit(noteGone({ node_id: "n1", sha256s: [GAMES] }));
  const done = await w.pass(MINUTE);
  expect(done).toContainEqual(expect.stringMatching(/^send [ab]$/));
  expect(w.verdict().holders.map(({ node_id }) => node_id)).toContain("n1");
});

test("a person is told of what lies on no node that is there once it lasts, and when it is over", async () => {
  const w = await world();
  await w.pass(MINUTE);
  await w.commit(noteGone({ node_id: "n1", sha256s: [GAMES] }));
  w.node("a", { isThere: false });
  w.node("b", { isThere: false });
  await w.pass(20_000);
  expect(w.told("REPLICATION_ALERT")).toEqual([]);
  await w.pass(3 * MINUTE);
  expect(w.told("REPLICATION_ALERT")).toMatchObject([{ severity: "critical", artifacts: 1, games: 20 }]);
  w.node("a", { isThere: true });
  w.node("b", { isThere: true });
  await w.pass(2 * MINUTE);
  expect(
    w
      .told("REPLICATION_ALERT")
      .map(({ severity }) => severity)
      .sort(),
  ).toEqual(["critical", "info"]);
});

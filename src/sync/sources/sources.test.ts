import { generateKeyPairSync } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { servingAt as at, sourcesWorld } from "../../../test/unit/sync/sources-world.ts";
import { sha256Of } from "../../../test/unit/sync/sync-world.ts";
import { seededRandom } from "../../kernel/index.ts";
import { checkTicket, listName } from "../transfer/ticket.ts";
import { type Candidate, costOf, judgeCandidates, orderGivers, rankGivers } from "./decide.ts";

const office = generateKeyPairSync("ed25519");
const world = async (sizes: Readonly<Record<string, number>>, nodeIds: readonly string[]) => {
  const w = await sourcesWorld(sizes, nodeIds, office);
  onTestFinished(w.close);
  return w;
};

const LARGE = 50_000_000;

test("a copy on another node is named before the coordinator's, with a ticket for just that", async () => {
  const w = await world({ model: LARGE }, ["a", "b"]);
  await w.hold("a", "model");
  const [batch] = w.sources.planNamed("b", [sha256Of("model")]);
  expect(batch!.sources.map(({ node_id, host, port }) => [node_id, host, port])).toEqual([
    ["a", "127.0.0.1", 1_000],
    ["n1", null, 1],
  ]);
  const claim = checkTicket(batch!.sources[0]!.ticket, { key: office.publicKey, from: "a", nowMs: w.clock.now() });
  expect(claim).toMatchObject({ to: "b", files: 1, list: sha256Of("model") });
});

test("who is away, has not said what it holds, or serves nobody is not named", async () => {
  const w = await world({ model: LARGE }, ["a", "b"]);
  await w.hold("a", "model");
  w.sources.announce("a", null);
  expect(w.first("b", "model")).toBe("n1");
  w.sources.announce("a", at(1_000));
  w.sources.settle("b", [sha256Of("model")]);
  expect(w.first("b", "model")).toBe("a");
  w.clock.standStill(200_000);
  expect(w.first("b", "model")).toBe("n1");
});

test("fifty nodes that want one model at once come to the coordinator a few times, and none waits for itself", async () => {
  const nodes = Array.from({ length: 50 }, (_, i) => `node-${i}`);
  const w = await world({ model: LARGE }, nodes);
  const from = new Map(nodes.map((node) => [node, w.first(node, "model")]));
  const ofHome = [...from.values()].filter((giver) => giver === "n1");
  expect(ofHome.length).toBeGreaterThan(0);
  expect(ofHome.length).toBeLessThanOrEqual(5);
  for (const node of nodes) {
    const seen = new Set<string>();
    for (let giver: string | undefined = node; giver !== undefined && giver !== "n1"; giver = from.get(giver)) {
      expect(seen).not.toContain(giver);
      seen.add(giver);
    }
  }
  // Nobody feeds two while others feed nobody.
  for (const node of nodes) expect(w.sources.feeding(node)).toBeLessThanOrEqual(1);
  // One that asks again while another depends on it is not sent to that one.
  const child = nodes.find((node) => from.get(node) === nodes[0])!;
  const again = w.sources.planNamed(nodes[0]!, [sha256Of("model")])[0]!.sources.map(({ node_id }) => node_id);
  expect(again).not.toContain(child);
});

test("small files that the same nodes hold come together, and one ticket names all of them", async () => {
  const w = await world({ a: 10, b: 20, c: 30, big: LARGE }, ["x", "y"]);
  await w.hold("x", "a", "b");
  const batches = w.sources.planNamed("y", ["a", "b", "c", "big"].map(sha256Of));
  const names = batches.map(({ files }) => files.map(({ bytes }) => bytes));
  expect(names).toEqual([[10, 20], [30], [LARGE]]);
  const { ticket } = batches[0]!.sources[0]!;
  const claim = checkTicket(ticket, { key: office.publicKey, from: "x", nowMs: w.clock.now() });
  expect(claim.list).toBe(listName(batches[0]!.files));
});

test("what has come, and what nothing was heard of for long, feeds nobody", async () => {
  const w = await world({ model: LARGE }, ["a", "b", "c"]);
  await w.hold("a", "model");
  expect(w.first("b", "model")).toBe("a");
  expect(w.sources.feeding("a")).toBe(1);
  w.sources.settle("b", [sha256Of("model")]);
  expect(w.sources.feeding("a")).toBe(0);
  w.first("c", "model");
  w.clock.standStill(11 * 60_000);
  expect(w.sources.feeding("a")).toBe(0);
});

test("the idle come before the busy, the whole before what is coming, and the coordinator before a long chain", () => {
  const idle = { node_id: "idle", feeding: 0, depth: 0 };
  const busy = { node_id: "busy", feeding: 2, depth: 0 };
  const coming = { node_id: "coming", feeding: 0, depth: 3 };
  const names = (given: readonly ({ readonly node_id: string } | null)[]) => given.map((one) => one?.node_id ?? "home");
  expect(names(orderGivers("to", [busy, coming, idle], 0, 3))).toEqual(["idle", "coming", "busy", "home"]);
  expect(names(orderGivers("to", [busy], 0, 3))).toEqual(["home", "busy"]);
  expect(names(orderGivers("to", [{ ...coming, depth: 30 }], 0, 3))).toEqual(["home", "coming"]);
  expect(names(orderGivers("to", [{ ...coming, depth: 50 }], 1, 3))).toEqual(["coming", "home"]);
  expect(names(orderGivers("to", [{ ...coming, depth: 80 }], 1, 3))).toEqual(["home", "coming"]);
  expect(names(orderGivers("to", [], null, 3))).toEqual([]);
  expect(costOf(idle)).toBeLessThan(costOf(coming));
});

const candidate = (node_id: string, more: Partial<Candidate> = {}): Candidate => ({
  node_id,
  feeding: 0,
  depth: 0,
  isHome: false,
  isThere: true,
  isLate: false,
  isConfirmed: true,
  isServing: true,
  isBehind: false,
  failed: null,
  ...more,
});

test("whatever fails, nobody is asked twice before everybody was asked, and who cannot be asked is named with its reason", () => {
  const random = seededRandom(7);
  for (let i = 0; i < 2_000; i += 1) {
    const all = ["home", "a", "b", "c", "d"].filter(() => random.next() < 0.7);
    const [isAway, isSilent] = [random.next() < 0.3 ? "a" : "", random.next() < 0.3 ? "b" : ""];
    const failed = new Map<string, string>();
    const judge = () =>
      judgeCandidates(
        all.map((id) =>
          candidate(id, {
            isHome: id === "home",
            isThere: id !== isAway,
            isServing: id !== isSilent,
            isTroubled: random.next() < 0.2,
            failed: failed.get(id) ?? null,
          }),
        ),
      );
    const able = all.filter((id) => id !== isAway && id !== isSilent);
    while (!judge().isExhausted && able.length > 0) {
      const [first] = rankGivers("to", judge(), 3);
      const asked = first === null ? "home" : first!.node_id;
      expect(failed.has(asked)).toBe(false);
      failed.set(asked, "TRANSFER_STALLED");
    }
    expect([...failed.keys()].sort()).toEqual([...able].sort());
    // Then all of them are there again.
    expect(judge().asked.map(({ node_id }) => node_id)).toEqual(able);
    expect(judge().passedOver.map(({ node_id }) => node_id)).toEqual(all.filter((id) => !able.includes(id)));
  }
});

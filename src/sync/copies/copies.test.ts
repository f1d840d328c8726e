import { afterEach, describe, expect, test } from "vitest";
import { type CatalogWorld, catalogWorld, entryOf, sha256Of, syncWorld } from "../../../test/unit/sync/sync-world.ts";
import { noteSound } from "../artifact-operations.ts";
import { freeArtifacts, noteRemoved } from "../retention-operations.ts";
import { packSeqs, unpackSeqs } from "./bitset.ts";
import { askDrop, claimOwnCopies, confirmCopies, noteCopies, noteGone } from "./copy-operations.ts";
import { type CopyNode, judgeCopies, mayDrop } from "./decide.ts";
import { factorOf, isCopyException } from "./policy.ts";

const worlds: CatalogWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const A = sha256Of("a");

/** One artifact, judged good, which these nodes hold. */
async function heldBy(...nodes: string[]) {
  const w = catalogWorld();
  worlds.push(w);
  await w.change((artifacts) => {
    artifacts.record([entryOf("a")]);
    artifacts.accept([A]);
  });
  for (const node_id of nodes) await w.store.commit([noteCopies({ node_id, sha256s: [A], by: node_id, at: 1 })]);
  const seq = w.catalog.get(A)!.seq;
  const states = () =>
    Object.fromEntries(
      w.store
        .read<{ node_id: string; state: string }>("SELECT node_id, state FROM sync_held WHERE seq = ?", seq)
        .map(({ node_id, state }) => [node_id, state]),
    );
  const ask = async (node_id: string, required: number, counting: readonly string[], at = 10) =>
    (
      await w.store.commit([
        askDrop({ node_id, asked: [{ sha256: A, required }], counting, at, lockedUntil: at + 100 }),
      ])
    )[0].answers[0]!;
  return { ...w, seq, states, ask };
}

describe("how many copies", () => {
  const policy = { games: 2, models: 3, samples: 1, rebuildable: 1, exceptions: ["hex8_2p:games:4"] };
  test.each([
    ["games", "square8_2p", 2],
    ["games", "hex8_2p", 4],
    ["model", "hex8_2p", 3],
    ["samples", "hex8_2p", 1],
    ["training_set", "hex8_2p", 1],
    ["games", null, 2],
  ])("%s of %s shall have %i", (kind, config_key, copies) => {
    expect(factorOf({ kind, config_key }, policy)).toBe(copies);
  });

  test.each(["hex8_2p:games:0", "hex8_2p:games:21", "hex8:games:2", "hex8_2p:game:2", "hex8_2p:games"])(
    "%s is no exception",
    (text) => expect(isCopyException(text)).toBe(false),
  );

  const node = (node_id: string, more: Partial<CopyNode> = {}): [string, CopyNode] => [
    node_id,
    { node_id, name: node_id, isThere: true, isRented: false, isConfirmed: true, ...more },
  ];
  const nodes = new Map([
    node("a"),
    node("b"),
    node("rented", { isRented: true }),
    node("away", { isThere: false }),
    node("fresh", { isConfirmed: false }),
    node("drained", { isLeaving: true }),
  ]);
  const held = (...ids: string[]) => ids.map((node_id) => ({ node_id, state: "held" as const }));

  test("nodes that are rented, away, unknown, or have not confirmed what they hold count nothing", () => {
    expect(judgeCopies(held("a", "rented", "away", "fresh", "nobody"), 2, nodes, 2)).toEqual({
      copies: 1,
      factor: 2,
      required: 2,
      safe: false,
      at_risk: false,
    });
  });

  test("on one machine one copy is all that can be had, and is enough", () => {
    expect(judgeCopies(held("a"), 3, nodes, 1)).toMatchObject({ copies: 1, factor: 3, required: 1, safe: true });
  });

  test("a node that is drained counts nothing, and what it alone holds is at risk", () => {
    expect(judgeCopies(held("a", "drained"), 2, nodes, 2)).toMatchObject({ copies: 1, at_risk: false });
    expect(judgeCopies(held("drained"), 2, nodes, 2)).toMatchObject({ copies: 0, at_risk: true });
  });

  test("what lies on a rented node alone is at risk, and what lies nowhere is not called so", () => {
    expect(judgeCopies(held("rented"), 2, nodes, 2)).toMatchObject({ copies: 0, at_risk: true });
    expect(judgeCopies([], 2, nodes, 2)).toMatchObject({ copies: 0, at_risk: false });
  });
});

describe("letting go of a copy", () => {
  test("needs as many elsewhere as are required, and says how many there are", async () => {
    const w = await heldBy("a", "b", "c");
    expect(await w.ask("a", 3, ["a", "b", "c"])).toEqual({
      allowed: false,
      why: "too few verified copies lie elsewhere",
      actual: 2,
      required: 3,
    });
    expect(await w.ask("a", 2, ["a", "b", "c"])).toEqual({ allowed: true, against: "b" });
    expect(w.states()).toEqual({ a: "dropping", b: "held", c: "held" });
  });

  test("of two nodes that let go at once, one is refused", async () => {
    const w = await heldBy("a", "b", "c");
    const both = await Promise.all([w.ask("a", 2, ["a", "b", "c"]), w.ask("b", 2, ["a", "b", "c"])]);
    expect(both.map(({ allowed }) => allowed)).toEqual([true, false]);
  });

  test("the copy that it goes against stays until it has gone, though enough others are there", async () => {
    const w = await heldBy("a", "b", "c");
    expect(await w.ask("a", 1, ["a", "b", "c"])).toMatchObject({ allowed: true, against: "b" });
    expect(await w.ask("b", 1, ["a", "b", "c"])).toMatchObject({
      allowed: false,
      why: "another node relies on it while its own copy goes",
    });
    await w.store.commit([noteGone({ node_id: "a", sha256s: [A] })]);
    expect(await w.ask("b", 1, ["a", "b", "c"])).toMatchObject({ allowed: true, against: "c" });
  });

  test("a lock ends by itself if its node is never heard again, and the copy still does not count", async () => {
    const w = await heldBy("a", "b", "c");
    await w.ask("a", 1, ["a", "b", "c"], 10);
    expect(await w.ask("b", 1, ["b", "c"], 110)).toMatchObject({ allowed: true, against: "c" });
    expect(await w.ask("c", 1, ["a", "b", "c"], 300)).toMatchObject({ allowed: false, actual: 0 });
  });

  test("a copy that counts for nothing goes against one that counts, and the last one never does", async () => {
    const w = await heldBy("a", "rented");
    expect(await w.ask("rented", 2, ["a"])).toMatchObject({ allowed: true, against: "a" });
    const lone = await heldBy("rented");
    expect(await lone.ask("rented", 1, [])).toMatchObject({ allowed: false, actual: 0, required: 1 });
  });

  test("a file without a receipt, of an artifact that lies nowhere else, stays too", async () => {
    const w = await heldBy();
    expect(await w.ask("a", 1, ["a"])).toMatchObject({ allowed: false, actual: 0, required: 1 });
  });

  test("asked about nobody's copies the answer is no", () => {
    expect(mayDrop({ node_id: "a", copies: [], counting: new Set(["a"]), required: 0 })).toMatchObject({
      allowed: false,
      required: 1,
    });
  });
});

describe("an artifact that is given up", () => {
  test("takes all its copies with it, without asking for others", async () => {
    const w = await heldBy("a", "b");
    const at = w.clock.now() + 1;
    await w.store.commit([freeArtifacts({ sha256s: [A], idleBefore: at, at })]);
    expect(w.states()).toEqual({ a: "retired", b: "retired" });
    expect(await w.ask("a", 2, ["a", "b"])).toMatchObject({ allowed: true });
    expect(w.catalog.books("hex8_2p")[0]).toMatchObject({ durable: 20, freed: 20 });
  });

  test("keeps them while somebody pins it", async () => {
    const w = await heldBy("a");
    await w.change((artifacts) => artifacts.pin("champion", [A]));
    const at = w.clock.now() + 1;
    await w.store.commit([freeArtifacts({ sha256s: [A], idleBefore: at, at })]);
    expect(w.states()).toEqual({ a: "held" });
  });

  test("comes again: copies that were told to go count once they are shown anew", async () => {
    const w = await heldBy("a");
    const at = w.clock.now() + 1;
    await w.store.commit([freeArtifacts({ sha256s: [A], idleBefore: at, at }), noteRemoved({ sha256s: [A], at })]);
    await w.change((artifacts) => artifacts.record([entryOf("a", { work_id: "w2" })]));
    expect(w.states()).toEqual({ a: "dropping" });
    await w.store.commit([noteCopies({ node_id: "a", sha256s: [A], by: "a", at })]);
    expect(w.states()).toEqual({ a: "held" });
  });
});

describe("after its start a node", () => {
  const confirm = (present: number[], upto = 10) =>
    confirmCopies({ node_id: "a", incarnation: 2, upto, present, at: 5 });

  test("says which copies are there; the others are lost, and one it might have let go counts again", async () => {
    const w = await heldBy("a", "b");
    await w.change((artifacts) => artifacts.record([entryOf("second", { work_id: "w2" })]));
    const second = sha256Of("second");
    await w.store.commit([noteCopies({ node_id: "a", sha256s: [second], by: "a", at: 1 })]);
    await w.ask("a", 1, ["a", "b"]);
    expect((await w.store.commit([confirm([w.seq])]))[0]).toEqual({ believed: true, lost: [second] });
    expect(w.states()).toEqual({ a: "held", b: "held" });
    expect(w.store.read("SELECT * FROM sync_storage")).toEqual([{ node_id: "a", incarnation: 2, confirmed_at: 5 }]);
  });

  test("is not believed if nothing of all it had is there: a disk that is not mounted looks so", async () => {
    const w = await heldBy("a");
    expect((await w.store.commit([confirm([])]))[0]).toEqual({ believed: false, lost: [] });
    expect(w.states()).toEqual({ a: "held" });
    expect(w.store.read("SELECT * FROM sync_storage")).toEqual([]);
  });

  test("is not asked about what came after it was told", async () => {
    const w = await heldBy("a");
    expect((await w.store.commit([confirm([], w.seq - 1)]))[0]).toEqual({ believed: true, lost: [] });
    expect(w.states()).toEqual({ a: "held" });
  });
});

test("copies of before, or under another name of the node, are claimed page by page where they were verified", async () => {
  const w = await heldBy();
  await w.change((artifacts) => artifacts.record([entryOf("b", { work_id: "w2" }), entryOf("c", { work_id: "w3" })]));
  await w.store.commit([noteSound({ sha256s: [A], at: 7 })]);
  const claim = async (after: number) =>
    (await w.store.commit([claimOwnCopies({ node_id: "here", after, max: 2 })]))[0].upto;
  const next = await claim(0);
  expect([next, await claim(next!)]).toEqual([2, null]);
  expect(w.store.read("SELECT * FROM sync_held")).toEqual([
    { node_id: "here", seq: w.seq, state: "held", verified_at: 7, verified_by: "here" },
  ]);
});

test("what the store looked through is a copy, what it found damaged is none, and what was swept is none either", async () => {
  const w = syncWorld();
  worlds.push(w);
  const [good, bad] = await Promise.all(["good", "bad"].map(w.put));
  await w.change((artifacts) => {
    artifacts.record([entryOf("good"), entryOf("bad", { work_id: "w2" })]);
    artifacts.accept([good!, bad!]);
  });
  const held = () => w.store.read<{ seq: number }>("SELECT seq FROM sync_held").map(({ seq }) => seq);
  await w.inspector.verify([good!, bad!]);
  expect(held()).toEqual([w.catalog.get(good!)!.seq, w.catalog.get(bad!)!.seq]);
  w.spoil(bad!, "BAD");
  await w.inspector.verify([bad!]);
  expect(held()).toEqual([w.catalog.get(good!)!.seq]);
  w.pass(3_600_000);
  await w.sweeper.sweep();
  expect(held()).toEqual([]);
});

test("places in the catalog travel as bits, and what unfolds to more than was asked for is refused", () => {
  const seqs = [1, 2, 7, 8, 9, 63, 1_000];
  expect(unpackSeqs(packSeqs(seqs, 1_000), 1_000)).toEqual(seqs);
  expect(unpackSeqs(packSeqs([], 3), 3)).toEqual([]);
  expect(() => unpackSeqs(packSeqs([1], 1_000_000), 8)).toThrow("not a deflated row of 2 bytes");
  expect(() => unpackSeqs(packSeqs([1], 8), 1_000)).toThrow("2 bytes, 126 were expected");
  expect(() => unpackSeqs("nonsense!", 8)).toThrow("bits:");
});

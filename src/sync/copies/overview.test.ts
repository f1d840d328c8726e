import { afterEach, expect, test } from "vitest";
import { type CatalogWorld, catalogWorld, entryOf, oneNode, sha256Of } from "../../../test/unit/sync/sync-world.ts";
import { noteSound } from "../artifact-operations.ts";
import { createArtifactConsole } from "../console.ts";
import { createCopies, type HolderFacts } from "./copies.ts";
import { confirmCopies, noteCopies } from "./copy-operations.ts";

const worlds: CatalogWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

/** Home, a node that stays and a rented one; each file on the nodes that it names. */
async function world(files: Readonly<Record<string, readonly string[]>>) {
  const w = catalogWorld();
  worlds.push(w);
  const texts = Object.keys(files);
  await w.change((artifacts) => {
    artifacts.record(texts.map((text) => entryOf(text, { work_id: `w ${text}`, games: 10 })));
    artifacts.accept(texts.map(sha256Of));
  });
  await w.store.commit([noteSound({ sha256s: texts.map(sha256Of), at: 1 })]);
  for (const node_id of ["box", "rented"])
    await w.store.commit([confirmCopies({ node_id, incarnation: 1, upto: 0, present: [], at: 1 })]);
  for (const [text, nodes] of Object.entries(files))
    for (const node_id of nodes)
      await w.store.commit([noteCopies({ node_id, sha256s: [sha256Of(text)], by: node_id, at: 1 })]);
  const node = (node_id: string, isRented = false): HolderFacts => ({
    node_id,
    name: node_id,
    isThere: true,
    isRented,
    incarnation: 1,
    kinds: [],
    freeCpus: 1,
  });
  const nodes = () => [node("n1"), node("box"), node("rented", true)];
  const copies = createCopies({ ...w, nodeId: "n1", copies: oneNode.copies, nodes });
  return { ...w, console: createArtifactConsole({ ...w, nodeId: "n1", copies }) };
}

test("what is safe, too few and at risk is counted by kind and config, and what lies on each node", async () => {
  const w = await world({ safe: ["n1", "box", "rented"], short: ["n1"], risk: ["rented"], nowhere: [] });
  const { places, lines, nodes } = await w.console.overview();
  expect(places).toBe(2);
  const sum = (...texts: string[]) => ({
    files: texts.length,
    bytes: texts.join("").length,
    games: 10 * texts.length,
  });
  expect(lines).toEqual([
    {
      kind: "games",
      config_key: "hex8_2p",
      factor: 2,
      required: 2,
      safe: sum("safe"),
      short: sum("short", "risk", "nowhere"),
      at_risk: sum("risk"),
    },
  ]);
  expect(await w.console.gamesAtRisk()).toEqual(new Map([["hex8_2p", 10]]));
  expect(nodes.map(({ name, copies, bytes }) => [name, copies, bytes])).toEqual([
    ["n1", 2, 9],
    ["box", 1, 4],
    ["rented", 2, 8],
  ]);
});

test("an artifact is found by the start of its hash, and listed newest first with who holds it", async () => {
  const w = await world({ first: ["n1"], second: ["n1", "box"] });
  expect((await w.console.list({})).map(({ nodes, copies, safe }) => [nodes, copies, safe])).toEqual([
    [["box", "n1"], 2, true],
    [["n1"], 1, false],
  ]);
  expect(await w.console.list({ limit: 1 })).toHaveLength(1);
  expect(await w.console.list({ kind: "model" })).toEqual([]);
  const first = sha256Of("first");
  expect(w.console.show(first.slice(0, 8))).toMatchObject({ sha256: first, pins: [], holders: [{ name: "n1" }] });
  expect(() => w.console.find("000000")).toThrow("there is no artifact '000000'");
});

test("what is pinned by hand is not given up; a dry run of either changes nothing", async () => {
  const w = await world({ file: ["n1", "box"] });
  const id = sha256Of("file");
  expect(await w.console.pin(id, true, true)).toMatchObject({ pins: [], applied: false });
  expect(await w.console.pin(id, true, false)).toMatchObject({ pins: [`hand:${id}`], applied: true });
  await expect(w.console.free(id, false)).rejects.toThrow(`hand:${id} needs`);
  expect(await w.console.pin(id, false, false)).toMatchObject({ pins: [] });
  expect(await w.console.free(id, true)).toMatchObject({ nodes: ["box", "n1"], applied: false });
  expect(w.catalog.get(id)?.state).toBe("durable");
  expect(await w.console.free(id, false)).toMatchObject({ applied: true });
  expect(w.catalog.get(id)?.state).toBe("freed");
  await expect(w.console.free(id, false)).rejects.toThrow("was already freed");
});

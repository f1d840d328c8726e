import { expect, test } from "vitest";
import { declaredRegistry } from "../../src/app/registry.ts";
import { recordWiring } from "../../src/daemons/index.ts";
import { builtinRows } from "../../src/events/index.ts";
import { compareMap, edgeWords, readMap } from "./event-map.ts";

const map = readMap();

test("the map has every event of the catalog, each once", () => {
  const names = map.map(({ event }) => event);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !Object.hasOwn(builtinRows, name))).toEqual([]);
});

test("every edge of the map is drawn, or has a reason; no reason is left over", () => {
  const { open, stale } = compareMap(map);
  expect(open.map(edgeWords)).toEqual([]);
  expect(stale).toEqual([]);
});

test("no reason puts an edge off", () => {
  const { explained } = compareMap(map);
  expect(explained.filter(({ why }) => /\b(later|not yet|to come|todo)\b/iu.test(why)).map(edgeWords)).toEqual([]);
});

test("every reason is a sentence of its own about units and events that there are, and what it says that they hear or emit holds", () => {
  const { units, parts } = recordWiring(declaredRegistry());
  const ties: Readonly<Record<string, { readonly emits: readonly string[]; readonly hears: readonly string[] }>> = {
    ...parts,
    ...units,
  };
  const { explained } = compareMap(map);
  const wrong = explained.filter(({ unit, event, why }) => {
    const events = why.match(/\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b/gu) ?? [];
    const named = why.match(/\b[a-z]+(?:_[a-z0-9]+)+\b/gu) ?? [];
    const isEmitter = why !== "it is the one that emits it" || ties[unit]!.emits.includes(event);
    const areHeard =
      !/which hears (?:it|these)|^\w+ hears it/u.test(why) || named.some((name) => ties[name]?.hears.includes(event));
    // `data_sync` is a stage.
    const areThere = named.every((name) => ties[name] !== undefined || name === "data_sync");
    const wakes = events.every((name) => Object.hasOwn(builtinRows, name)) && why.split(" ").length >= 5;
    return !(isEmitter && areHeard && areThere && wakes);
  });
  expect(wrong.map((edge) => `${edgeWords(edge)}: ${edge.why}`)).toEqual([]);
});

test("an edge that is lost is found, on both ends", () => {
  const row = { event: "WEIGHT_UPDATED", stage: "steering", emitters: ["a"], consumers: ["b"] };
  const nothing = { emits: [], hears: [] };
  const found = compareMap([row], { units: { a: nothing, b: nothing }, parts: {} });
  expect(found.open.map(edgeWords)).toEqual(["a emits WEIGHT_UPDATED", "b hears WEIGHT_UPDATED"]);
  const whole = compareMap([row], {
    units: { a: { emits: ["WEIGHT_UPDATED"], hears: [] }, b: { emits: [], hears: ["WEIGHT_UPDATED"] } },
    parts: {},
  });
  expect(whole).toMatchObject({ open: [], drawn: [{ unit: "a" }, { unit: "b" }] });
});

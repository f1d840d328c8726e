import { expect, test } from "vitest";
import { builtinRows } from "../../src/events/index.ts";
import { compareMap, edgeWords, readMap } from "./event-map.ts";

const map = readMap();

test("the map has every event of the catalog, each once", () => {
  const names = map.map(({ event }) => event);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !Object.hasOwn(builtinRows, name))).toEqual([]);
});

test("every edge of the map is drawn, or has a reason, or belongs to what is not built yet; no reason is left over", () => {
  const { open, stale } = compareMap(map);
  expect(open.map(edgeWords)).toEqual([]);
  expect(stale).toEqual([]);
});

test("no reason puts an edge off", () => {
  const { explained } = compareMap(map);
  expect(explained.filter(({ why }) => /\b(later|not yet|to come|todo)\b/iu.test(why)).map(edgeWords)).toEqual([]);
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

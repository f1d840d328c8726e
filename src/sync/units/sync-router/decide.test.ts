import { expect, test } from "vitest";
import { seededRandom } from "../../../kernel/index.ts";
import { nextRoute } from "./decide.ts";

const ask = { to: "t", home: "home", holders: ["home", "a", "b", "t"], failed: [], troubled: new Set<string>() };
const http = (place: string) => ({ transport: "http", place });

test.each([
  ["a node first", ask, "http a"],
  ["not one that failed", { ...ask, failed: [http("a")] }, "http b"],
  ["the coordinator last", { ...ask, failed: [http("a"), http("b")] }, "coordinator home"],
  ["one in trouble behind all others", { ...ask, troubled: new Set(["a", "b"]) }, "coordinator home"],
  ["nobody is left", { ...ask, failed: [http("a"), http("b"), { transport: "coordinator", place: "x" }] }, undefined],
  ["never the one that lacks it", { ...ask, holders: ["t"] }, undefined],
] as const)("%s", (_, question, expected) => {
  const route = nextRoute(question);
  expect(route === null ? undefined : `${route.transport} ${route.place}`).toBe(expected);
});

test("whatever fails, no place is named twice, and every one that can give is named before it is given up", () => {
  const random = seededRandom(7);
  for (let i = 0; i < 2_000; i += 1) {
    const holders = ["home", "a", "b", "c", "d"].filter(() => random.next() < 0.6);
    const troubled = new Set(holders.filter(() => random.next() < 0.3));
    const failed: { transport: string; place: string }[] = [];
    for (let route = nextRoute({ ...ask, holders, troubled, failed }); route !== null; ) {
      expect(failed.map(({ place }) => place)).not.toContain(route.place);
      failed.push(route);
      route = nextRoute({ ...ask, holders, troubled, failed });
    }
    expect(failed.map(({ place }) => place).sort()).toEqual([...holders].sort());
  }
});

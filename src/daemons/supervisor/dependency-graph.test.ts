import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dependencyGraph, graphError, profileFaults } from "./dependency-graph.ts";

const node = (name: string, ...dependsOn: string[]) => ({ name, dependsOn });

describe("the dependency graph", () => {
  test.each([
    ["an unknown dependency", [node("a", "b"), node("b", "c")], "unknown_dependency", ["a", "b", "c"]],
    ["a daemon that needs itself", [node("a", "a")], "dependency_cycle", ["a", "a"]],
    [
      "a circle behind an entrance",
      [node("in", "a"), node("a", "b"), node("b", "a")],
      "dependency_cycle",
      ["a", "b", "a"],
    ],
  ])("names the path of %s", (_, nodes, kind, path) => {
    expect(dependencyGraph(nodes).faults[0]).toMatchObject({ kind, path });
    expect(graphError(dependencyGraph(nodes).faults[0]!).message).toContain(path.join(" -> "));
  });

  test("leaves out what is broken, and what stands on it, and nothing else", () => {
    const graph = dependencyGraph([node("ok"), node("bad", "gone"), node("on_bad", "bad", "ok"), node("on_ok", "ok")]);
    expect(graph.order).toEqual(["ok", "on_ok"]);
    expect(["ok", "bad", "on_bad", "on_ok"].map((name) => graph.faultOf(name)?.kind)).toEqual([
      undefined,
      "unknown_dependency",
      "unknown_dependency",
      undefined,
    ]);
  });

  test("suggests what an unknown name may have meant", () => {
    expect(dependencyGraph([node("event_router"), node("a", "event_ruter")]).faults[0]!.message).toContain(
      "Did you mean event_router?",
    );
  });

  test("puts dependencies first and cuts every circle, whatever the graph", () => {
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    const graphs = fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), { maxLength: 20 });
    fc.assert(
      fc.property(graphs, (edges) => {
        const nodes = names.map((name) =>
          node(name, ...new Set(edges.filter(([from]) => from === name).map(([, to]) => to))),
        );
        const { order, faultOf, closureOf, dependentsOf } = dependencyGraph(nodes);
        const needs = (name: string) => nodes.find((each) => each.name === name)!.dependsOn;
        const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
          needs(from).some((next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))));
        const circular = new Set(names.filter((name) => reaches(name, name)));
        for (const name of names) {
          const broken = circular.has(name) || [...circular].some((each) => reaches(name, each));
          expect(faultOf(name) !== undefined).toBe(broken);
          expect(order.includes(name)).toBe(!broken);
          for (const on of broken ? [] : needs(name)) {
            expect(order.indexOf(on)).toBeLessThan(order.indexOf(name));
            expect(dependentsOf(on)).toContain(name);
            expect(closureOf([name])).toContain(on);
          }
        }
      }),
    );
  });
});

describe("a profile", () => {
  const nodes = [node("router"), node("sync", "router"), node("pipeline", "sync")];
  test("that does not hold what it needs is named with the path", () => {
    expect(profileFaults("node", ["router", "pipeline"], nodes)).toMatchObject([
      { kind: "profile_not_closed", path: ["pipeline", "sync"] },
    ]);
  });
  test("may lack what is up already", () => {
    expect(profileFaults("node", ["router", "pipeline"], nodes, new Set(["sync"]))).toEqual([]);
  });
});

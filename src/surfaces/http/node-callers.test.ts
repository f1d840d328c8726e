import { expect, test } from "vitest";
import { assertSpeaksFor, ownUnits } from "./node-callers.ts";
import type { Caller } from "./route.ts";

const ports = { nodes: { book: { row: (nodeId: string) => (nodeId.startsWith("known") ? {} : undefined) } } } as never;
const refusalOf = (caller: Partial<Caller>, nodeIds: readonly string[]): unknown => {
  try {
    assertSpeaksFor(caller as Caller, nodeIds, ports);
    return undefined;
  } catch (thrown) {
    return thrown;
  }
};

test("one name that is not the caller's to use refuses all of them, and says whose it is and what to do", () => {
  const node = { scope: "worker", nodeId: "known-1" } as const;
  expect(refusalOf(node, ["known-1", "known-1"])).toBeUndefined();
  expect(refusalOf(node, [])).toBeUndefined();
  expect(refusalOf(node, ["known-1", "known-2"])).toMatchObject({
    code: "NOT_YOUR_NODE",
    message: "you cannot speak for node 'known-2'",
    hint: "Name your own node_id, known-1.",
  });
  expect(refusalOf({ scope: "worker" }, ["stranger", "known-2"])).toMatchObject({
    code: "NOT_YOUR_NODE",
    hint: "That name belongs to another node or token. Choose another name.",
  });
  expect(refusalOf(node, ["x".repeat(101)])).toMatchObject({
    message: `you cannot speak for node '${"x".repeat(100)}'`,
  });
});

test("a unit of this process is one by its name, alone or with our node, and a unit elsewhere is none", () => {
  const isOurs = ownUnits({ router: { nodeId: "n1" }, daemons: { holds: () => new Set(["sweeper"]) } } as never);
  for (const name of ["sweeper", "sweeper@", "sweeper@n1", "sweeper@n1/main"]) expect(isOurs(name), name).toBe(true);
  for (const name of ["sweeper@n2", "sweeper@n11", "sweeper@n2/main", "other", "other@n1", "", "@n1"])
    expect(isOurs(name), name).toBe(false);
});

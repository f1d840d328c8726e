import fc from "fast-check";
import { expect, test } from "vitest";
import { findRing, type Wait } from "./wait-graph.ts";

const wait = (holder: string, lock: string, ...before: string[]): Wait => ({ holder, lock, before });

test("a wait closes a ring when somebody before it waits for the one who asks", () => {
  expect(findRing(wait("a", "two", "b"), [wait("b", "one", "a")])).toEqual([
    { holder: "a", lock: "two" },
    { holder: "b", lock: "one" },
  ]);
  expect(findRing(wait("a", "two", "b"), [wait("b", "three", "c")])).toBeUndefined();
  expect(findRing(wait("a", "two", "b"), [])).toBeUndefined();
});

test("whoever stands before it in the queue counts as well, and the ring may be long", () => {
  const ring = findRing(wait("a", "L1", "x", "b"), [wait("b", "L2", "c"), wait("c", "L3", "d"), wait("d", "L0", "a")]);
  expect(ring?.map(({ holder }) => holder)).toEqual(["a", "b", "c", "d"]);
});

test("a ring is found exactly when the one who asks can be reached from itself", () => {
  const holders = ["a", "b", "c", "d", "e"];
  const anyWait = fc.record({
    holder: fc.constantFrom(...holders),
    lock: fc.constantFrom("L1", "L2", "L3"),
    before: fc.uniqueArray(fc.constantFrom(...holders), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(anyWait, fc.array(anyWait, { maxLength: 8 }), (closing, waits) => {
      const reached = new Set(closing.before);
      for (let size = -1; size !== reached.size; ) {
        size = reached.size;
        for (const { holder, before } of waits) if (reached.has(holder)) for (const one of before) reached.add(one);
      }
      const ring = findRing(closing, waits);
      expect(ring !== undefined).toBe(reached.has(closing.holder));
      if (ring === undefined) return;
      const all = [closing, ...waits];
      for (const [i, { holder, lock }] of ring.entries()) {
        const next = ring[(i + 1) % ring.length]!.holder;
        expect(all.some((one) => one.holder === holder && one.lock === lock && one.before.includes(next))).toBe(true);
      }
    }),
  );
});

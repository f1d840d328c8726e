import fc from "fast-check";
import { expect, test } from "vitest";
import { type FasterNode, leavesToFaster } from "./faster-nodes.ts";

const fast = (more: Partial<FasterNode> = {}): FasterNode => ({ takesMs: 10_000, slots: 1, leftMs: [], ...more });
const job = (more: Partial<Parameters<typeof leavesToFaster>[0]> = {}) => ({
  takesMs: 60_000,
  waitedMs: 0,
  waiting: 1,
  ...more,
});

test.each([
  ["a faster one is free", job(), [fast()], true],
  ["a faster one is soon free", job(), [fast({ leftMs: [20_000] })], true],
  ["a faster one is not free in time", job(), [fast({ leftMs: [45_000] })], false],
  ["nobody else is there", job(), [], false],
  ["the others are hardly faster", job(), [fast({ takesMs: 45_000 })], false],
  ["more waits than they can do by then", job({ waiting: 5 }), [fast()], false],
  ["as much waits as they can do by then", job({ waiting: 4 }), [fast()], true],
  ["two slots do twice as much", job({ waiting: 8 }), [fast({ slots: 2 })], true],
  ["it has waited for them for long", job({ waitedMs: 30_001 }), [fast()], false],
])("%s", (_what, asked, others, leaves) => {
  expect(leavesToFaster(asked, others)).toBe(leaves);
});

test("whatever is known, a job waits for faster nodes no longer than half of what it would take here", () => {
  const nodes = fc.array(
    fc.record({ takesMs: fc.nat(), slots: fc.nat(8), leftMs: fc.array(fc.nat(), { maxLength: 8 }) }),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(fc.nat(1e9), fc.nat(100), nodes, (takesMs, waiting, others) => {
      const asked = { takesMs, waitedMs: takesMs / 2 + 1, waiting };
      expect(
        leavesToFaster(
          asked,
          others.map((node) => ({ ...node, takesMs: node.takesMs + 1 })),
        ),
      ).toBe(false);
    }),
  );
});

import { expect, test } from "vitest";
import type { LossPoint } from "../../pipeline/index.ts";
import { figureOf, LOSS_LINES, lossWords, otherCurves, totalLoss } from "./curves.ts";

const point = (metrics: Record<string, number> | undefined, over: Partial<LossPoint> = {}): LossPoint => ({
  iteration: 1,
  policy_loss: metrics?.policy_loss ?? metrics?.loss ?? 2,
  value_loss: metrics?.value_loss ?? 0,
  validation_loss: metrics?.validation_loss ?? null,
  ...(metrics === undefined ? {} : { loss: metrics.loss ?? 2, metrics }),
  at: 0,
  ...over,
});
const drawn = (of: LossPoint) => LOSS_LINES.filter((line) => line.of(of) !== null).map(({ name }) => name);

test("a plain loss is drawn and told as itself, and never as that of a policy", () => {
  const plain = point({ loss: 1.25, perplexity: 3.5 });
  expect(drawn(plain)).toEqual(["loss"]);
  expect([totalLoss(plain), lossWords(plain)]).toEqual([1.25, ""]);
});

test("policy and value are drawn apart, and their sum is what was reported", () => {
  const parts = point({ loss: 1.5, policy_loss: 1, value_loss: 0.5, validation_loss: 1.75 });
  expect(drawn(parts)).toEqual(["policy", "value", "held out"]);
  expect([totalLoss(parts), lossWords(parts)]).toEqual([1.5, "policy 1.000  value 0.500  held out 1.750"]);
});

test("what an older main process tells has both parts", () => {
  const older = point(undefined, { policy_loss: 1, value_loss: 0.25 });
  expect([drawn(older), totalLoss(older), otherCurves([older])]).toEqual([["policy", "value"], 1.25, []]);
});

test("every other number is a curve, with a point for each run that told it", () => {
  const runs = [point({ loss: 1, elo_guess: 10 }), point({ loss: 1, elo_guess: 12, grad_norm: 0.5 }, { iteration: 2 })];
  expect(otherCurves(runs)).toEqual([
    {
      name: "elo_guess",
      points: [
        { iteration: 1, value: 10 },
        { iteration: 2, value: 12 },
      ],
    },
    { name: "grad_norm", points: [{ iteration: 2, value: 0.5 }] },
  ]);
});

test("numbers keep the four figures that count", () => {
  expect([12_345, 0.000123456, 1.5, 123_456.789].map(figureOf)).toEqual(["12,345", "0.0001235", "1.5", "123500"]);
});

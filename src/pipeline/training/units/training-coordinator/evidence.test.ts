import { describe, expect, test } from "vitest";
import type { Json } from "../../../../kernel/index.ts";
import type { JobView } from "../../../../work/index.ts";
import { trainingEvidence } from "./evidence.ts";

const file = (name: string, digit: string) => ({ name, sha256: digit.repeat(64), bytes: 100 });
const job = (
  counts: Record<string, number>,
  summary: Record<string, Json> = {},
  outputs = [file("model.arena", "a"), file("checkpoint.arena", "b")],
) => ({ work_id: "w1", evidence: { outputs, counts, summary } }) as unknown as JobView;
const codeOf = (run: () => unknown): string => {
  try {
    run();
    return "none";
  } catch (thrown) {
    return (thrown as { code: string }).code;
  }
};

describe("the evidence of a training run", () => {
  test("a sound run gives its model, its checkpoint and its losses", () => {
    const found = trainingEvidence(
      job({ steps: 10, rows: 500 }, { policy_loss: 1.5, value_loss: 0.25, validation_loss: 1.9, policy_accuracy: 0.4 }),
      { fresh: false },
    );
    expect(found).toMatchObject({
      model: { sha256: "a".repeat(64), kind: "model" },
      checkpoint: { sha256: "b".repeat(64) },
      steps: 10,
      loss: 1.75,
      validationLoss: 1.9,
      policyAccuracy: 0.4,
      earlyStopped: false,
    });
  });

  test("a fresh model needs no steps and no loss, and has none", () => {
    expect(trainingEvidence(job({ fresh: 1, steps: 0 }), { fresh: true })).toMatchObject({ loss: null, steps: 0 });
  });

  test("a whole loss is a loss too, and a workload may name it plainly", () => {
    expect(trainingEvidence(job({ steps: 1, loss: 2 }), { fresh: false }).loss).toBe(2);
  });

  test("every finite number that a run reports is kept, whatever it is called, and a bounded number of them", () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`m${i}`, i + 0.5]));
    const { numbers } = trainingEvidence(job({ steps: 3 }, { loss: 1, grad_norm: 0.25, note: "text" }), {
      fresh: false,
    });
    expect(numbers).toEqual({ steps: 3, loss: 1, grad_norm: 0.25 });
    const bounded = trainingEvidence(job({ steps: 3, loss: 1 }, many), { fresh: false }).numbers;
    expect(Object.keys(bounded).length).toBeLessThanOrEqual(64);
  });

  test.each([
    ["no model", job({ steps: 1 }, { loss: 1 }, [file("notes.txt", "c")]), "TRAINING_WITHOUT_MODEL"],
    ["no steps", job({ steps: 0 }, { loss: 1 }), "TRAINING_WITHOUT_STEPS"],
    ["no loss", job({ steps: 9 }), "TRAINING_LOSS_MISSING"],
    ["a loss of zero", job({ steps: 9, loss: 0 }), "TRAINING_LOSS_MISSING"],
    ["a loss that is no number", job({ steps: 9 }, { policy_loss: null, value_loss: 1 }), "TRAINING_LOSS_NOT_FINITE"],
  ])("%s is a failure with a name", (_what, given, code) => {
    expect(codeOf(() => trainingEvidence(given, { fresh: false }))).toBe(code);
  });
});

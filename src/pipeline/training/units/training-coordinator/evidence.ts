import { type Json, OperatingError, sumOf } from "../../../../kernel/index.ts";
import type { JobView } from "../../../../work/index.ts";
import type { ArtifactRef } from "../../../stage/index.ts";
import { MAX_NUMBERS } from "../../limits.ts";

/** What a completed training job has proven. */
export interface TrainingEvidence {
  readonly model: ArtifactRef;
  readonly checkpoint: ArtifactRef | null;
  readonly fresh: boolean;
  readonly steps: number;
  readonly rows: number;
  readonly epochs: number;
  /** Mean training loss; null for a fresh model, which was not trained. */
  readonly loss: number | null;
  readonly validationLoss: number | null;
  readonly policyAccuracy: number | null;
  readonly earlyStopped: boolean;
  readonly bestLoss: number | null;
  /** All numbers that were reported, each of which is a point of a curve. */
  readonly numbers: { readonly [name: string]: Json };
}

const failed = (code: string, message: string, hint: string) =>
  OperatingError.invalid(code, message, { retryable: true, hint });

/** Numbers of a job, the whole ones and the others. What is no finite number is kept as null. */
function numbersOf({ evidence }: JobView): Map<string, number | null> {
  const all = new Map<string, number | null>(Object.entries(evidence?.counts ?? {}));
  for (const [name, value] of Object.entries(evidence?.summary ?? {}))
    all.set(name, typeof value === "number" && Number.isFinite(value) ? value : null);
  return all;
}

/**
 * Checks a finished run: a model with its hash, steps that were made, losses that are finite and not zero. What lacks one of
 * them did not train, whatever it says.
 */
export function trainingEvidence(job: JobView, { fresh }: { readonly fresh: boolean }): TrainingEvidence {
  const outputs = job.evidence?.outputs ?? [];
  const output = (name: string, kind: string, rows: number): ArtifactRef | null => {
    const found = outputs.find((each) => each.name === name || each.name.startsWith(`${name}.`));
    return found === undefined ? null : { sha256: found.sha256, kind, bytes: found.bytes, rows };
  };
  const numbers = numbersOf(job);
  // A part of a step is none, and would be refused where whole numbers are told.
  const whole = (name: string): number => Math.max(0, Math.trunc(numbers.get(name) ?? 0));
  const rows = whole("rows");
  const steps = whole("steps");
  const model = output("model", "model", 0);
  if (model === null)
    throw failed("TRAINING_WITHOUT_MODEL", `job ${job.work_id} brought no model`, "A run must write `model`.");
  const losses = [...numbers].filter(([name]) => name.endsWith("loss"));
  const bad = losses.find(([, value]) => value === null);
  if (bad !== undefined)
    throw failed("TRAINING_LOSS_NOT_FINITE", `the ${bad[0]} of job ${job.work_id} is no number`, "It diverged.");
  const parts = ["policy_loss", "value_loss"].map((name) => numbers.get(name)).filter((value) => value !== undefined);
  const loss = numbers.get("loss") ?? (parts.length === 0 ? null : sumOf(parts, (part) => part!));
  if (!fresh) {
    if (steps < 1)
      throw failed(
        "TRAINING_WITHOUT_STEPS",
        `job ${job.work_id} made no step`,
        "A model that was not trained is none.",
      );
    if (loss === null || loss <= 0)
      throw failed(
        "TRAINING_LOSS_MISSING",
        `job ${job.work_id} reports ${loss === null ? "no loss" : `a loss of ${loss}`}`,
        "A run reports `loss`, or `policy_loss` and `value_loss`, above zero.",
      );
  }
  const positive = (name: string): number | null => {
    const value = numbers.get(name);
    return value === undefined || value === null || value <= 0 ? null : value;
  };
  const accuracy = numbers.get("policy_accuracy");
  return {
    model,
    checkpoint: output("checkpoint", "checkpoint", 0),
    fresh,
    steps,
    rows,
    epochs: Math.max(1, Math.round(numbers.get("epochs") ?? 1)),
    loss: fresh ? null : loss,
    validationLoss: positive("validation_loss"),
    policyAccuracy: accuracy === undefined || accuracy === null || accuracy < 0 || accuracy > 1 ? null : accuracy,
    earlyStopped: numbers.get("early_stopped") === 1,
    bestLoss: positive("best_loss"),
    numbers: Object.fromEntries([...numbers].filter(([, value]) => value !== null).slice(0, MAX_NUMBERS)),
  };
}

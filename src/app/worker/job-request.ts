/** A lease as the job that a program is given, and what a program said as what the queue is told. */

import { hash } from "node:crypto";
import { z } from "zod";
import { defined } from "../../kernel/index.ts";
import type { EvidenceInput, Lease, WorkFailure } from "../../work/index.ts";
import type { SavedFile, WorkResult } from "../../work/worker/index.ts";
import { type JobOutcome, type JobRequest, RESUME_KIND } from "../../workloads/process/index.ts";

/** What the payload of a job may say. The rest of what a program is told comes from the lease. */
export const jobPayload = z.object({
  parameters: z.record(z.string(), z.json()).default({}),
  seed: z.int().min(0).optional(),
  inputs: z
    .array(z.object({ name: z.string().min(1).max(128), sha256: z.string().regex(/^[0-9a-f]{64}$/) }))
    .max(1_000)
    .default([]),
});

/** A job without a seed has one that follows from its name: tried again, it is the same job. */
export const seedOf = (workId: string): number => Number.parseInt(hash("sha256", workId, "hex").slice(0, 13), 16);

export const requestOf = (
  lease: Lease,
  payload: z.output<typeof jobPayload>,
  places: Pick<JobRequest, "output_folder" | "scratch_folder" | "inputs">,
): JobRequest => ({
  job_id: lease.task_id,
  kind: lease.work_type,
  config_key: lease.config_key ?? "",
  attempt: Math.max(1, lease.attempts),
  fence: lease.fence,
  seed: payload.seed ?? seedOf(lease.work_id),
  deadline: lease.expires_at / 1_000,
  parameters: payload.parameters,
  ...defined({ traceparent: lease.traceparent ?? undefined }),
  ...places,
});

const MAX_STDERR = 8_000;
const MAX_EPOCH = 1_000_000_000;

/** Numbers of things are counts; other numbers are told beside them. */
function evidenceOf({ artifacts, metrics }: JobOutcome): EvidenceInput {
  const numbers = Object.entries(metrics);
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
  const rest = numbers.filter(([, value]) => !isCount(value));
  return {
    outputs: artifacts.map(({ path, sha256, bytes }) => ({ name: path.slice(0, 200), sha256, bytes })),
    counts: Object.fromEntries(numbers.filter(([name, value]) => name !== "" && isCount(value))),
    ...(rest.length === 0 ? {} : { summary: Object.fromEntries(rest) }),
  };
}

/** Classes of the protocol as those that the queue judges retries by. */
const classOf = (outcome: JobOutcome): WorkFailure["class"] => {
  const given = outcome.error?.class;
  return given === "bad_input" || given === "resource" ? given : "retryable";
};

/** What the program saved for the next try when it was told to make room; undefined if nothing. */
function savedIn({ status, artifacts }: JobOutcome): SavedFile | undefined {
  const found =
    status === "preempted" ? artifacts.findLast(({ kind, bytes }) => kind === RESUME_KIND && bytes > 0) : undefined;
  if (found === undefined) return undefined;
  const { path: name, file, kind, sha256, bytes, meta } = found;
  const epoch = meta?.epoch;
  const isCount = typeof epoch === "number" && Number.isSafeInteger(epoch) && epoch >= 0 && epoch <= MAX_EPOCH;
  return { name, file, kind, sha256, bytes, epoch: isCount ? epoch : 0 };
}

export function resultOf(outcome: JobOutcome, folder: string): WorkResult {
  if (outcome.status === "completed")
    return {
      status: "completed",
      folder,
      evidence: evidenceOf(outcome),
      files: outcome.artifacts.map(({ path: name, file, kind, sha256, bytes }) => ({
        name,
        file,
        kind,
        sha256,
        bytes,
      })),
    };
  if (outcome.status !== "failed")
    return { status: "stopped", folder, reason: outcome.reason, ...defined({ saved: savedIn(outcome) }) };
  const { stderr_tail } = outcome;
  return {
    status: "failed",
    folder,
    failure: {
      class: classOf(outcome),
      error: outcome.reason || "it failed without a reason",
      ...defined({ error_code: outcome.error?.code.slice(0, 200) }),
      ...(stderr_tail === "" ? {} : { stderr_tail: stderr_tail.slice(-MAX_STDERR) }),
    },
  };
}

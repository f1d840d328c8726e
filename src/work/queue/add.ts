import { z } from "zod";
import { canonicalJson, defined, OperatingError } from "../../kernel/index.ts";
import { type JobSpec, type JobSpecInput, jobSpecSchema, notFound, seqOf, workIdOf } from "../job/job.ts";
import { kindOf } from "../job/kinds.ts";
import { priorityOf, urgencyLevel } from "../job/urgency.ts";
import { jobOfKey } from "./dedup.ts";
import type { Plan } from "./plan.ts";
import type { QueueState } from "./queue-state.ts";

export interface AddedJob {
  readonly work_id: string;
  /** The dedup key was known: this is the job that had it first. */
  readonly duplicate: boolean;
}

const invalid = (what: string) =>
  OperatingError.invalid("WORK_INVALID", what, { hint: "Correct the job and add it again." });

function parseSpec(parts: QueueState, given: JobSpecInput): { spec: JobSpec; payload: string } {
  const parsed = jobSpecSchema().safeParse(given);
  if (!parsed.success) throw invalid(`this is no job: ${z.prettifyError(parsed.error)}`);
  const spec = parsed.data;
  const kind = kindOf(parts.kinds, spec.work_type);
  const checked = kind.payload?.safeParse(spec.payload);
  if (checked?.success === false)
    throw invalid(`the payload is not what ${spec.work_type} takes: ${z.prettifyError(checked.error)}`);
  const payload = canonicalJson(checked?.data ?? spec.payload);
  if (payload.length > parts.limits.maxPayload)
    throw OperatingError.denied(
      "WORK_TOO_LARGE",
      `the payload takes ${payload.length} characters, ${parts.limits.maxPayload} are allowed`,
      { status: 413, hint: "Put large inputs into artifacts and name them by their hash." },
    );
  return { spec, payload };
}

/** A job waits only for jobs that are there: no cycle can come about. */
function dependenciesOf(parts: QueueState, plan: Plan, spec: JobSpec): number[] {
  const seqs = [...new Set(spec.depends_on)].map(seqOf);
  if (seqs.length > parts.limits.maxDependencies)
    throw invalid(`it waits for ${seqs.length} jobs, ${parts.limits.maxDependencies} are allowed`);
  for (const seq of seqs) {
    const job = plan.job(seq);
    if (job === undefined) throw notFound(workIdOf(seq));
    if (job.state === "failed" || job.state === "cancelled")
      throw OperatingError.conflict(
        "WORK_DEPENDENCY_FAILED",
        `job ${workIdOf(seq)}, which it waits for, is ${job.state}`,
        {
          hint: "Retry that job first.",
        },
      );
  }
  return seqs;
}

/** Adds jobs, all or none. */
export function addJobs(
  parts: QueueState,
  plan: Plan,
  specs: readonly JobSpecInput[],
  max: number = parts.limits.maxInCall,
): AddedJob[] {
  if (specs.length > max) throw invalid(`${specs.length} jobs in one call, ${max} are allowed`);
  const keys = new Map<string, number>();
  return specs.map((given) => {
    const { spec, payload } = parseSpec(parts, given);
    const { dedup_key } = spec;
    if (dedup_key !== null) {
      const first = keys.get(dedup_key) ?? jobOfKey(plan, dedup_key);
      if (first !== undefined) return { work_id: workIdOf(first), duplicate: true };
    }
    const work_id = addOne(parts, plan, spec, payload);
    if (dedup_key !== null) keys.set(dedup_key, seqOf(work_id));
    return { work_id, duplicate: false };
  });
}

function addOne(parts: QueueState, plan: Plan, spec: JobSpec, payload: string): string {
  const { limits } = parts;
  if (parts.unfinished + plan.unfinished >= limits.maxUnfinished)
    throw OperatingError.busy("WORK_QUEUE_FULL", `${limits.maxUnfinished} jobs are unfinished; no more are accepted`, {
      hint: "Wait until workers have caught up, or raise the limit.",
    });
  const dependsOn = dependenciesOf(parts, plan, spec);
  const kind = kindOf(parts.kinds, spec.work_type);
  const lane = parts.lanes.find({
    workType: spec.work_type,
    configKey: spec.config_key,
    needs: spec.needs,
    targets: spec.target_nodes,
    excluded: spec.excluded_nodes,
  });
  const seq = parts.nextSeq;
  parts.nextSeq += 1;
  const level = urgencyLevel(spec.urgency);
  const timeoutMs = Math.round(spec.timeout_seconds === undefined ? kind.timeoutMs : spec.timeout_seconds * 1_000);
  plan.add(
    {
      row: [
        seq,
        lane.lane,
        level,
        "pending",
        spec.cost ?? kind.cost,
        timeoutMs,
        spec.max_attempts ?? kind.maxAttempts,
        plan.now,
        plan.now,
        spec.deadline === null ? null : Math.round(spec.deadline * 1_000),
        spec.dedup_key,
        spec.batch_id,
        spec.requested_by,
      ],
      payload,
      ...(dependsOn.length === 0 ? {} : { dependsOn }),
    },
    lane,
    level,
  );
  const work_id = workIdOf(seq);
  plan.emit("WORK_QUEUED", {
    work_id,
    work_type: spec.work_type,
    ...defined({ config_key: spec.config_key ?? undefined }),
    priority: priorityOf(level),
    timeout_seconds: timeoutMs / 1_000,
    ...(dependsOn.length === 0 ? {} : { depends_on: dependsOn.map(workIdOf) }),
    ...defined({ requested_by: spec.requested_by ?? undefined }),
  });
  return work_id;
}

import { z } from "zod";
import { fields } from "../events/index.ts";
import { OperatingError } from "../kernel/index.ts";
import { needsSchema } from "./needs.ts";
import type { JobState } from "./states.ts";
import { URGENCIES } from "./urgency.ts";

/** What one asks for. Everything but the kind and the payload has a usual value. */
export const jobSpecSchema = z.strictObject({
  work_type: z.string().min(1).max(200),
  config_key: fields.configKey.nullable().default(null),
  urgency: z.enum(URGENCIES).default("normal"),
  payload: fields.details("what the executor is given").default({}),
  depends_on: z.array(z.string()).default([]),
  needs: needsSchema.prefault({}),
  target_nodes: z.array(fields.nodeId).min(1).max(100).nullable().default(null),
  excluded_nodes: z.array(fields.nodeId).max(100).default([]),
  dedup_key: z.string().min(1).max(200).nullable().default(null),
  /** Unix seconds; not done by then, it fails. */
  deadline: z.number().positive().nullable().default(null),
  timeout_seconds: z
    .number()
    .positive()
    .max(30 * 86_400)
    .optional(),
  max_attempts: z.int().min(1).max(100).optional(),
  cost: z.number().positive().max(1_000).optional(),
  batch_id: fields.batchId.nullable().default(null),
  requested_by: z.string().min(1).max(200).nullable().default(null),
});
export type JobSpecInput<K extends string = string> = Omit<z.input<typeof jobSpecSchema>, "work_type"> & {
  readonly work_type: K;
};
export type JobSpec = z.output<typeof jobSpecSchema>;

/** A job, as far as its life is decided on. Times are milliseconds since the epoch. */
export interface JobRow {
  readonly seq: number;
  readonly rev: number;
  readonly lane: number;
  readonly urgency: number;
  readonly state: JobState;
  readonly cost: number;
  readonly timeout_ms: number;
  readonly max_attempts: number;
  readonly attempts: number;
  readonly returns: number;
  readonly fence: number;
  readonly ready_at: number;
  readonly deadline: number | null;
  readonly node_id: string | null;
  readonly claimed_at: number | null;
  readonly started_at: number | null;
  readonly beat_by: number | null;
  readonly expires_at: number | null;
  readonly progress: number | null;
  readonly stop_reason: string | null;
  readonly stop_by: number | null;
  /** The attempt of a lease that lapsed without a word of its holder, while its result would still be taken. */
  readonly lapsed_attempts: number | null;
  /** 1 for a job that began as it was claimed, until its holder says a word: the answer may never have come to it. */
  readonly unheard: number | null;
}

/** What else is stored of it. */
export interface StoredJob extends JobRow {
  readonly queued_at: number;
  readonly not_before: number | null;
  readonly finished_at: number | null;
  readonly dedup_key: string | null;
  readonly batch_id: string | null;
  readonly requested_by: string | null;
  /** JSON: what the holder of now said last. */
  readonly metrics: string | null;
  readonly outcome: string | null;
  /** What its holder called the request that got it. */
  readonly claim_id: string | null;
}

/** The columns of a JobRow. Each one more costs every look at a job. */
const JOB_COLUMNS = [
  "seq",
  "rev",
  "lane",
  "urgency",
  "state",
  "cost",
  "timeout_ms",
  "max_attempts",
  "attempts",
  "returns",
  "fence",
  "ready_at",
  "deadline",
  "node_id",
  "claimed_at",
  "started_at",
  "beat_by",
  "expires_at",
  "progress",
  "stop_reason",
  "stop_by",
  "lapsed_attempts",
  "unheard",
] as const satisfies readonly (keyof JobRow)[];

export const columnsOf = (table: string): string => JOB_COLUMNS.map((column) => `${table}.${column}`).join(", ");

/** Who holds what, since when: what a holder shows with every word. */
export interface LeaseRef {
  readonly work_id: string;
  readonly node_id: string;
  readonly fence: number;
}

/** Ids are short on purpose: people type them. They are never given twice. */
export const workIdOf = (seq: number): string => `w${seq}`;
/** One attempt of one job: where it is a process, that process. */
export const taskIdOf = (seq: number, fence: number): string => `w${seq}.${fence}`;

export const notFound = (workId: string) =>
  new OperatingError("JOB_NOT_FOUND", `there is no job '${workId}'`, {
    hint: "It never was, or it finished long ago and is forgotten.",
  });

export function seqOf(workId: string): number {
  const digits = /^w([1-9]\d{0,14})$/.exec(workId)?.[1];
  if (digits === undefined) throw notFound(workId);
  return Number(digits);
}

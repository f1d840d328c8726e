import { z } from "zod";
import { details, field } from "../../events/fields.ts";
import { lazy, OperatingError } from "../../kernel/index.ts";
import { resultLimits } from "../limits.ts";
import { needsSchema } from "./needs.ts";
import type { JobState } from "./states.ts";
import { URGENCIES } from "./urgency.ts";

/** What one asks for. Everything but the kind and the payload has a usual value. */
export const jobSpecSchema = lazy(() =>
  z.strictObject({
    work_type: z.string().min(1).max(200),
    config_key: field.config_key.nullable().default(null),
    urgency: z.enum(URGENCIES).default("normal"),
    payload: details("what the executor is given").default({}),
    depends_on: z.array(z.string()).max(1_000).default([]),
    needs: needsSchema().prefault({}),
    target_nodes: z.array(field.node_id).min(1).max(100).nullable().default(null),
    excluded_nodes: z.array(field.node_id).max(100).default([]),
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
    batch_id: field.batch_id.nullable().default(null),
    requested_by: z.string().min(1).max(200).nullable().default(null),
  }),
);
export type JobSpecInput<K extends string = string> = Omit<z.input<ReturnType<typeof jobSpecSchema>>, "work_type"> & {
  readonly work_type: K;
};
export type JobSpec = z.output<ReturnType<typeof jobSpecSchema>>;

const NUMBERS = [
  "seq",
  "rev",
  "lane",
  "urgency",
  "cost",
  "timeout_ms",
  "max_attempts",
  "attempts",
  "returns",
  "fence",
  "ready_at",
] as const;
/** What there may be none of. */
const OPTIONAL_NUMBERS = [
  "deadline",
  "claimed_at",
  "started_at",
  "beat_by",
  "expires_at",
  "progress",
  "stop_by",
  // The attempt of a lease that lapsed without a word of its holder, while its result would still be taken.
  "lapsed_attempts",
  // 1 for a job that began as it was claimed, until its holder says a word: the answer may never have come to it.
  "unheard",
] as const;
const OPTIONAL_TEXTS = [
  "node_id",
  "stop_reason",
  // JSON: leases that lapsed without a word of their holders, whose results are still taken if they are the first.
  "earlier",
] as const;

type Columns<N extends readonly string[], T> = Readonly<Record<N[number], T>>;

/** A job, as far as its life is decided on. Times are milliseconds since the epoch. Each column more costs every look at one. */
export interface JobRow
  extends Columns<typeof NUMBERS, number>,
    Columns<typeof OPTIONAL_NUMBERS, number | null>,
    Columns<typeof OPTIONAL_TEXTS, string | null> {
  readonly state: JobState;
}

/** Of an attempt that is not yet, or of the one before, nothing stays. */
export const NO_ATTEMPT = {
  node_id: null,
  claimed_at: null,
  started_at: null,
  beat_by: null,
  expires_at: null,
  progress: null,
  stop_reason: null,
  stop_by: null,
  lapsed_attempts: null,
  unheard: null,
} as const;

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
  /** JSON: what a try saved when it was stopped, for the next one. */
  readonly saved: string | null;
  /** What its holder called the request that got it. */
  readonly claim_id: string | null;
}

/** Those of a JobRow. */
export const columnsOf = (table: string): string =>
  ["state", ...NUMBERS, ...OPTIONAL_NUMBERS, ...OPTIONAL_TEXTS].map((column) => `${table}.${column}`).join(", ");

/** A checkpoint that a try saved when it was stopped: the next one goes on from it. */
export const savedSchema = lazy(() =>
  z.strictObject({
    sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex"),
    bytes: z.int().min(1).max(resultLimits.maxFileBytes),
    /** How far the run was, as its program counts; 0 where it does not say. */
    epoch: z.int().min(0).max(1_000_000_000).default(0),
  }),
);
export type SavedInput = z.input<ReturnType<typeof savedSchema>>;

/** The same in the books, with whose it is. */
export interface SavedCheckpoint extends z.output<ReturnType<typeof savedSchema>> {
  readonly node_id: string;
  readonly fence: number;
  readonly at: number;
}

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
  OperatingError.notFound("JOB_NOT_FOUND", `there is no job '${workId}'`, {
    hint: "It never existed, or it ended long ago and was removed.",
  });

export function seqOf(workId: string): number {
  const digits = /^w([1-9]\d{0,14})$/.exec(workId)?.[1];
  if (digits === undefined) throw notFound(workId);
  return Number(digits);
}

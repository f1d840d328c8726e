import { z } from "zod";
import { canonicalJson, didYouMean, type Json, lazy, OperatingError } from "../../kernel/index.ts";
import { resultLimits } from "../limits.ts";
import { type CountBounds, implausible } from "./plausible.ts";

/** What a finished job of a kind has to show. */
export interface EvidenceRule {
  /** Files it must have made, at least. */
  readonly outputs: number;
  /** Counts that must be there and above zero, as in games. */
  readonly counts: readonly string[];
  /** The most that it may count, by what its job was asked for. */
  readonly bounds?: CountBounds;
}

/** A kind of work that somebody here can do. */
export interface WorkKind {
  readonly evidence: EvidenceRule;
  /** Longest time of one attempt. */
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** What one job costs its config's share, beside others. */
  readonly cost: number;
  /** Whether a running job may be stopped for one that matters more. */
  readonly preemptible: boolean;
  /** Checks the payload; anything that is JSON unless set. */
  readonly payload?: z.ZodType<Readonly<Record<string, Json>>>;
}

export type WorkKinds<K extends string = string> = Readonly<Record<K, WorkKind>>;

/** A kind with the usual limits where it does not say others. */
export const defineKind = (kind: Partial<WorkKind> & Pick<WorkKind, "evidence">): WorkKind => ({
  timeoutMs: 3_600_000,
  maxAttempts: 3,
  cost: 1,
  preemptible: true,
  ...kind,
});

const games = { parameter: "games", times: 1 };
const rows = { parameter: "games", times: resultLimits.maxRowsPerGame };

/** The kinds of work that the built-in workload does, and what each has to show when it is done. */
const builtinKinds = {
  selfplay: defineKind({ evidence: { outputs: 1, counts: ["games"], bounds: { games, rows, samples: rows } } }),
  validation: defineKind({ evidence: { outputs: 0, counts: ["games"], bounds: { games, rows } } }),
  export: defineKind({ evidence: { outputs: 1, counts: ["rows"] } }),
  // The first network is trained on nothing: its maker counts no steps, and the loop looks closer.
  training: defineKind({ evidence: { outputs: 1, counts: [] }, cost: 4, timeoutMs: 6 * 3_600_000 }),
  evaluation: defineKind({
    evidence: {
      outputs: 0,
      counts: ["games"],
      bounds: { games: { parameter: "blocks", times: resultLimits.maxPlayers } },
    },
  }),
} as const satisfies WorkKinds;

/** The built-in kinds under the names that the Python system gives them. */
export const TaskType = Object.freeze({
  SELFPLAY: "selfplay",
  PARITY: "validation",
  EXPORT: "export",
  TRAINING: "training",
  EVALUATION: "evaluation",
} as const satisfies Record<string, keyof typeof builtinKinds>);
export type TaskType = (typeof TaskType)[keyof typeof TaskType];

/** Those, and kinds that somebody declared: of them it is only known that they must bring a file. */
export const kindsWith = (declared: readonly string[]): WorkKinds => ({
  ...Object.fromEntries(declared.map((kind) => [kind, defineKind({ evidence: { outputs: 1, counts: [] } })])),
  ...builtinKinds,
});

export function kindOf(kinds: WorkKinds, name: string): WorkKind {
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind === undefined)
    throw OperatingError.invalid("WORK_KIND_UNKNOWN", `no executor is registered for work of the kind '${name}'`, {
      hint: `Kinds are ${Object.keys(kinds).join(", ")}; docs/41-workloads.md shows how to add one.${didYouMean(name, Object.keys(kinds))}`,
    });
  return kind;
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex");

/** What was made: files by their hash, and numbers that say how much. */
export const evidenceSchema = lazy(() =>
  z.strictObject({
    outputs: z
      .array(z.strictObject({ name: z.string().min(1).max(200), sha256, bytes: z.int().min(1) }))
      .max(1_000)
      .default([]),
    counts: z.record(z.string().min(1).max(100), z.int().min(0)).default({}),
    summary: z.record(z.string().max(200), z.json()).optional(),
  }),
);
export type EvidenceInput = z.input<ReturnType<typeof evidenceSchema>>;
export type Evidence = z.output<ReturnType<typeof evidenceSchema>>;

/** The evidence in its stored form, or why it proves nothing. `parameters`: what the job was asked for. */
export function checkEvidence(
  rule: EvidenceRule,
  given: unknown,
  maxBytes: number,
  parameters: () => Readonly<Record<string, Json>>,
): { evidence: Evidence; text: string } {
  const parsed = evidenceSchema().safeParse(given);
  if (!parsed.success) throw lacking(`the evidence is malformed: ${z.prettifyError(parsed.error)}`);
  const evidence = parsed.data;
  if (evidence.outputs.length < rule.outputs)
    throw lacking(`${rule.outputs} outputs are needed, ${evidence.outputs.length} came`);
  const empty = rule.counts.filter((name) => (evidence.counts[name] ?? 0) < 1);
  if (empty.length > 0) throw lacking(`nothing is counted under ${empty.join(", ")}`);
  const unbelievable = implausible(evidence, rule.bounds ?? {}, parameters);
  if (unbelievable !== undefined) throw beyondBelief(unbelievable);
  const text = canonicalJson(evidence);
  if (text.length > maxBytes) throw lacking(`it takes ${text.length} characters, ${maxBytes} are allowed`);
  return { evidence, text };
}

const lacking = (what: string) =>
  OperatingError.invalid("WORK_EVIDENCE_LACKING", `the job is not done: ${what}`, {
    hint: "Report outputs with their SHA-256 and size, and counts above zero; report a failure if there is no result.",
  });

const beyondBelief = (what: string) =>
  OperatingError.invalid("WORK_EVIDENCE_IMPLAUSIBLE", `the result is not plausible: ${what}`, {
    hint: "Report only what this job did, and not more than its parameters ask for.",
  });

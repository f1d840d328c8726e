/**
 * The protocol between a worker and a program of anybody's, version 1: lines of JSON, one message a line, the program's
 * standard input and output. This table is the only place that says what a message looks like; the parsers, the types,
 * the JSON Schema and the table in the manual are made from it.
 *
 * Readers tolerate fields that they do not know, so that a newer neighbour may say more.
 */

import { z } from "zod";
import { issueText } from "../../events/index.ts";
import { lazy } from "../../kernel/index.ts";

/** The newest version that we speak, and the oldest. */
export const PROTOCOL_VERSION = 1;
export const PROTOCOL_MIN = 1;

/** How a program ends when words fail it: what it was given is wrong for ever, or it was told to leave. */
export const EXIT_BAD_INPUT = 64;
export const EXIT_PREEMPTED = 75;

/** The input that holds what an earlier try of the same job saved when it was stopped, and the kind of file that it has to be. */
export const RESUME_INPUT = "resume";
export const RESUME_KIND = "checkpoint";

/** Longest texts that are kept of a message; programs of others are not trusted to be brief. */
const MAX_NAME = 128;
const MAX_TEXT = 4_000;
const MAX_PATH = 1_024;
const MAX_PAIRS = 10_000;
const MAX_BOARD = { lines: 64, chars: 128, note: 200 };

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/, "letters, digits and . _ : / @ + - only");
const shortName = name.max(MAX_NAME);
const text = z.string().max(MAX_TEXT);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "64 hex digits in lower case");
const count = z.int().min(0);
const jobId = z.string().min(1).max(MAX_NAME).describe("which job it is about, as the job said");
const metrics = z.record(z.string().max(MAX_NAME), z.number()).describe("finite numbers by name");
const anything = z.record(z.string(), z.json());

const input = lazy(() =>
  z.object({
    name: shortName.describe("what the file is to the job, such as `model`"),
    path: z.string().min(1).describe("absolute path; only to be read"),
    sha256: sha256.describe("checked before the job was sent"),
  }),
);

/** A tiny job that a program can be tried with. `long_parameters` make it run longer than ten seconds. */
export const exampleJobSchema = lazy(() =>
  z.object({
    kind: shortName,
    config_key: z.string().max(MAX_NAME).optional(),
    parameters: anything.optional(),
    long_parameters: anything.optional(),
    inputs: z
      .array(z.object({ name: shortName, path: z.string().min(1).optional(), artifact_kind: shortName.optional() }))
      .optional(),
  }),
);

export type ExampleJob = z.infer<ReturnType<typeof exampleJobSchema>>;

const capabilities = lazy(() =>
  z
    .looseObject({
      deterministic: z.boolean().optional().describe("same job, same seed: the same artifacts, byte for byte"),
      config_keys: z.array(z.string().max(MAX_NAME)).max(1_000).optional().describe("all configs that it can do"),
      tags: z.array(shortName).max(100).optional(),
    })
    .describe("`deterministic`, `config_keys`, `tags`, and whatever else you like to tell"),
);

const hello = lazy(() =>
  z.object({
    type: z.literal("hello"),
    protocol: z.int().min(1).describe("the newest version of this protocol that the program speaks"),
    protocol_least: z.int().min(1).optional().describe("the oldest one; the same unless given"),
    name: shortName.describe("the program"),
    version: z.string().max(MAX_NAME).describe("of the program"),
    kinds: z.array(shortName).min(1).max(100).describe("kinds of job that it does, such as `selfplay`"),
    capabilities: capabilities().optional(),
    examples: z
      .array(exampleJobSchema())
      .max(100)
      .optional()
      .describe("tiny jobs for `ringrift workload check`; see below"),
  }),
);

const progress = lazy(() =>
  z.object({
    type: z.literal("progress"),
    job_id: jobId,
    done: z.number().min(0).describe("how much is done, in any unit: games, steps, rows"),
    total: z.number().min(0).optional().describe("of how much"),
    message: text.optional().describe("one line for people"),
    metrics: metrics.optional(),
    board: z
      .object({
        lines: z.array(z.string().max(MAX_BOARD.chars)).min(1).max(MAX_BOARD.lines),
        note: z.string().max(MAX_BOARD.note).optional(),
      })
      .optional()
      .describe(
        "a game that you play now, for people who look: `{lines, note?}`, at most 64 rows of 128 characters; `.` is empty, X O A B are the seats",
      ),
  }),
);

const artifact = lazy(() =>
  z.object({
    type: z.literal("artifact"),
    job_id: jobId,
    path: z.string().min(1).max(MAX_PATH).describe("relative to `output_folder`; flushed to disk and renamed already"),
    sha256: sha256.describe("of the whole file; it is checked"),
    bytes: count.describe("size of the file; it is checked"),
    kind: shortName.describe("what it is, such as `samples`, `model`, `checkpoint`"),
    rows: count.optional().describe("how many rows, games or positions are in it"),
    meta: anything.optional().describe("whatever a reader of the file should know"),
  }),
);

const block = lazy(() =>
  z.object({
    opening: z.union([z.string().max(MAX_NAME), z.int()]).describe("what both sides started from"),
    scores: z.array(z.number().min(0).max(1)).min(1).max(16).describe("the candidate's score in each seat"),
  }),
);

const pairs = lazy(() =>
  z.object({
    type: z.literal("pairs"),
    job_id: jobId,
    candidate: shortName.describe("who is judged"),
    opponent: shortName.describe("against whom"),
    blocks: z
      .array(block())
      .min(1)
      .max(MAX_PAIRS)
      .describe(
        "played since the last such message: `{opening, scores}`, one opening with the candidate in every seat",
      ),
  }),
);

const failure = lazy(() =>
  z.object({
    code: z.string().min(1).max(MAX_NAME),
    message: text,
    retryable: z.boolean(),
  }),
);

const done = lazy(() =>
  z.object({
    type: z.literal("done"),
    job_id: jobId,
    status: z.enum(["ok", "error", "preempted"]).describe("it is done, it cannot be done, or it was cancelled"),
    error: failure()
      .optional()
      .describe(
        "with `error`: `{code, message, retryable}`; code `resource` says that memory, disk or a device was short",
      ),
    metrics: metrics.optional(),
  }),
);

const welcome = lazy(() =>
  z.object({
    type: z.literal("welcome"),
    protocol: z.int().min(1).describe("the version that both will speak from here on"),
    limits: z
      .looseObject({ line_bytes: count, messages_per_second: z.number() })
      .describe("`line_bytes`, `messages_per_second`: who goes beyond is ended"),
  }),
);

const job = lazy(() =>
  z.object({
    type: z.literal("job"),
    job_id: jobId,
    kind: shortName.describe("what is to be done; one of the kinds of hello"),
    config_key: z.string().max(MAX_NAME).describe("board and players, such as `hex8_2p`"),
    attempt: z.int().min(1).describe("1 on the first try"),
    fence: count.describe("grows with every holder of the job; write it into what you put anywhere else"),
    seed: z.int().min(0).describe("all randomness of the job comes from it; below 2^53"),
    deadline: z.number().nullable().describe("Unix seconds after which nobody wants the result; null for none"),
    parameters: anything.describe(
      "what the kind of job needs to know beyond this; agreed between you and who adds the job",
    ),
    traceparent: z
      .string()
      .max(MAX_NAME)
      .optional()
      .describe(
        "W3C trace context: your spans hang under it; also `TRACEPARENT` of a process that was started for this job",
      ),
    inputs: z
      .array(input())
      .describe("`{name, path, sha256}`; one named `resume` is the checkpoint that an earlier try of this job saved"),
    output_folder: z.string().min(1).describe("absolute; where artifacts are written; empty at the start"),
    scratch_folder: z.string().min(1).describe("absolute; for anything else; removed after the job"),
  }),
);

/** Why a job is to end before it is done. */
export const CANCEL_REASONS = ["cancelled", "preempted", "shutdown", "deadline", "lease_lost"] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];

const cancel = lazy(() =>
  z.object({
    type: z.literal("cancel"),
    job_id: jobId,
    reason: z
      .enum(CANCEL_REASONS)
      .describe(
        "for your log: nobody wants it, another needs the place, the worker leaves, it is too late, another holds the job",
      ),
    grace_seconds: z.number().min(0).describe("after so long come SIGTERM and SIGKILL"),
  }),
);

const shutdown = lazy(() => z.object({ type: z.literal("shutdown") }));

interface MessageRow {
  readonly from: "program" | "worker";
  readonly about: string;
  readonly schema: () => z.ZodObject;
}

/** All messages, in the order in which a program meets them. */
export const MESSAGES = {
  hello: { from: "program", about: "The first line, once: who the program is and what it does.", schema: hello },
  welcome: { from: "worker", about: "The answer to hello.", schema: welcome },
  job: { from: "worker", about: "One job. The next one comes after its done.", schema: job },
  progress: {
    from: "program",
    about: "How far the job is. Also the heartbeat: send one every few seconds.",
    schema: progress,
  },
  artifact: { from: "program", about: "A file is complete and in its place.", schema: artifact },
  pairs: {
    from: "program",
    about: "Match results since the last message of this type, for evaluations.",
    schema: pairs,
  },
  cancel: {
    from: "worker",
    about:
      "End this job: save what is worth it, then say done. A `checkpoint` that is announced comes back to the next try.",
    schema: cancel,
  },
  done: { from: "program", about: "The job has ended. Nothing more may be said about it.", schema: done },
  shutdown: {
    from: "worker",
    about: "No more jobs: exit with 0. A closed standard input means the same.",
    schema: shutdown,
  },
} as const satisfies Record<string, MessageRow>;

export type MessageType = keyof typeof MESSAGES;

export type Hello = z.infer<ReturnType<typeof hello>>;
export type JobMessage = z.infer<ReturnType<typeof job>>;
export type JobInput = z.infer<ReturnType<typeof input>>;
export type ProgressMessage = z.infer<ReturnType<typeof progress>>;
export type ArtifactMessage = z.infer<ReturnType<typeof artifact>>;
export type PairsMessage = z.infer<ReturnType<typeof pairs>>;
export type DoneMessage = z.infer<ReturnType<typeof done>>;
export type ProgramMessage = Hello | ProgressMessage | ArtifactMessage | PairsMessage | DoneMessage;
export type WorkerMessage =
  | JobMessage
  | z.infer<ReturnType<typeof welcome> | ReturnType<typeof cancel> | ReturnType<typeof shutdown>>;

const parserOf = (from: MessageRow["from"]) =>
  lazy(() => {
    const schemas = Object.values<MessageRow>(MESSAGES).flatMap((row) => (row.from === from ? [row.schema()] : []));
    return z.discriminatedUnion("type", schemas as [z.ZodObject, ...z.ZodObject[]]);
  });

const programParser = parserOf("program");
const workerParser = parserOf("worker");

export type Parsed<M> = { readonly ok: true; readonly message: M } | { readonly ok: false; readonly reason: string };

const MAX_QUOTED = 80;
const quote = (line: string): string =>
  JSON.stringify(line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}...` : line);

function parse<M>(line: string, parser: z.ZodType): Parsed<M> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { ok: false, reason: `a line that is not JSON: ${quote(line)}` };
  }
  const parsed = parser.safeParse(value);
  if (parsed.success) return { ok: true, message: parsed.data as M };
  const type = (value as { type?: unknown } | null)?.type;
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
  const about = typeof type === "string" ? `a "${type.slice(0, MAX_NAME)}" message` : "a message without a type";
  return {
    ok: false,
    reason: `${about} that is not valid: ${where}${issueText(issue?.message ?? "Invalid input")} in ${quote(line)}`,
  };
}

/** What a program says. */
export const parseProgramLine = (line: string): Parsed<ProgramMessage> => parse(line, programParser());
/** What a worker says. */
export const parseWorkerLine = (line: string): Parsed<WorkerMessage> => parse(line, workerParser());

export const writeMessage = (message: ProgramMessage | WorkerMessage): string => `${JSON.stringify(message)}\n`;

/** The version that both sides speak, or undefined. */
export function commonVersion(theirs: Pick<Hello, "protocol" | "protocol_least">): number | undefined {
  const version = Math.min(theirs.protocol, PROTOCOL_VERSION);
  const min = Math.max(theirs.protocol_least ?? theirs.protocol, PROTOCOL_MIN);
  return version >= min ? version : undefined;
}

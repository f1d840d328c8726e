import { z } from "zod";
import { field } from "../events/index.ts";
import { lazy, OperatingError } from "../kernel/index.ts";
import type { ArtifactState } from "./states.ts";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex");
const word = z.string().min(1).max(200);
const count = z.int().min(0);

/** The manifest of a file: what is known of it when it comes. */
export const artifactEntrySchema = lazy(() =>
  z.strictObject({
    sha256,
    /** As the workload calls it: games, samples, training_set, holdout, model, checkpoint. */
    kind: word,
    bytes: count,
    rows: count.default(0),
    /** Games that it holds, or that its rows are from. */
    games: count.default(0),
    config_key: field.config_key,
    /** The node that made it. */
    producer: word,
    rules_version: word.nullable().default(null),
    /** Files it was made from, in their order. They are its history, and are not kept for its sake. */
    parents: z.array(sha256).max(10_000).default([]),
    /** The job that made it; null for one that was brought by hand, which does not stand in the books. */
    work_id: word.nullable().default(null),
    /** Which part of its batch that job was. */
    part: word.nullable().default(null),
    iteration: count.nullable().default(null),
  }),
);
export type ArtifactEntry = z.output<ReturnType<typeof artifactEntrySchema>>;
export type ArtifactEntryInput = Omit<z.input<ReturnType<typeof artifactEntrySchema>>, "parents"> & {
  readonly parents?: readonly string[] | undefined;
};

export function parseEntries(entries: readonly ArtifactEntryInput[]): ArtifactEntry[] {
  return entries.map((entry) => {
    const parsed = artifactEntrySchema().safeParse(entry);
    if (parsed.success) return parsed.data;
    throw OperatingError.invalid("ARTIFACT_ENTRY", `a manifest is malformed: ${z.prettifyError(parsed.error)}`);
  });
}

/** An artifact as the catalog has it. Times are milliseconds since the epoch. */
export interface ArtifactRow extends Readonly<Omit<ArtifactEntry, "parents" | "config_key">> {
  readonly seq: number;
  /** Games that stand in the books under it: not those that another file of the same job stands for. */
  readonly counted: number;
  /** Null, like the job, for a file that nobody had recorded when it was taken away. */
  readonly config_key: string | null;
  readonly state: ArtifactState;
  readonly reason: string | null;
  /** For one in quarantine: the state it comes back to. */
  readonly was: ArtifactState | null;
  readonly created_at: number;
  /** Since when nothing happened to it that would keep it. */
  readonly idle_since: number;
  readonly verified_at: number | null;
  /** When its games were announced. */
  readonly announced_at: number | null;
  /** When its file was given up, and when it was gone. */
  readonly freed_at: number | null;
  readonly removed_at: number | null;
}

/** Whether its file is there to be handed out. */
export const isUsable = ({ state, freed_at }: Pick<ArtifactRow, "state" | "freed_at">): boolean =>
  (state === "in_flight" || state === "durable") && freed_at === null;

const MODEL_KINDS = new Set(["model", "checkpoint"]);

/** What an artifact is to those who move data. */
export const dataTypeOf = (kinds: Iterable<string>): "games" | "models" | "npz" | "all" => {
  const types = new Set(
    [...kinds].map((kind) => (kind === "games" ? "games" : MODEL_KINDS.has(kind) ? "models" : "npz")),
  );
  const [only = "all"] = types;
  return types.size > 1 ? "all" : only;
};

/**
 * Models that nobody could use, and who made them. A file can be sound and still be no model: only use shows that. Whoever made one that
 * nodes could not use which can use others trains nothing of the config for a while; where that is not shown, the next try only goes to
 * somebody else.
 */
import { defineTable, type StateTable } from "../../router/index.ts";
import { probationOf } from "../data/index.ts";

export type HeldTrainer = {
  readonly producer: string;
  readonly model: string;
  readonly reason: string;
  /** How often it was shown. */
  readonly times: number;
  readonly last_iteration: number;
  /** It trains again from this iteration on. */
  readonly until_iteration: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
};

/** By config_key. */
export type Unusable = {
  /** Files that nobody could use, newest last. */
  readonly files: readonly { readonly sha256: string; readonly producer: string }[];
  readonly held: { readonly [producer: string]: HeldTrainer };
};
/** Written by `evaluation_daemon`. */
export const unusables = defineTable<Unusable>("pipeline_unusable_models");
/** The same of checkpoints. Written by `training_coordinator`. */
export const unusableCheckpoints = defineTable<Unusable>("pipeline_unusable_checkpoints");

const NOTHING: Unusable = { files: [], held: {} };
const MAX_FILES = 100;
const MAX_HELD = 100;

export interface UnusableFile {
  readonly sha256: string;
  readonly producer: string;
  readonly reason: string;
  /** Whether others of the same nodes were used meanwhile: what fails then is the file's fault. */
  readonly isProven: boolean;
  readonly iteration: number;
  readonly now: number;
}

export const isUnusable = (row: Unusable | undefined, sha256: string | null): boolean =>
  row?.files.some((file) => file.sha256 === sha256) ?? false;

/** Whether somebody else made the same bytes before: then it is the program that makes them, and nobody's lie. */
export const isMadeAgain = (row: Unusable | undefined, sha256: string, producer: string): boolean =>
  row?.files.some((file) => file.sha256 === sha256 && file.producer !== producer) ?? false;

/** What is known after one more. */
export function withUnusable(before: Unusable | undefined, found: UnusableFile): Unusable {
  const { files, held } = before ?? NOTHING;
  const { sha256, producer, reason, isProven, iteration, now } = found;
  const rest = files.filter((file) => file.sha256 !== sha256 || file.producer !== producer);
  const listed = [...rest, { sha256, producer }].slice(-MAX_FILES);
  if (isMadeAgain(before, sha256, producer)) {
    const others = Object.entries(held).filter(([, { model }]) => model !== sha256);
    return { files: listed, held: Object.fromEntries(others) };
  }
  const known = held[producer];
  const isRepeat = known?.last_iteration === iteration;
  const times = (known?.times ?? 0) + (isProven && !isRepeat ? 1 : 0);
  const until_iteration = Math.max(
    known?.until_iteration ?? 0,
    iteration + 1 + (isProven ? probationOf(Math.max(1, times)) : 0),
  );
  const next: HeldTrainer = {
    producer,
    model: sha256,
    reason,
    times,
    last_iteration: iteration,
    until_iteration,
    since: known?.since ?? now,
  };
  const all = Object.entries({ ...held, [producer]: next }).filter(([, one]) => iteration < one.until_iteration);
  return { files: listed, held: Object.fromEntries(all.slice(-MAX_HELD)) };
}

/** Who trains nothing of the config in this iteration. */
export const heldTrainers = (
  row: (table: StateTable<Unusable>) => Unusable | undefined,
  iteration: number,
): HeldTrainer[] =>
  [unusables, unusableCheckpoints]
    .flatMap((table) => Object.values(row(table)?.held ?? {}))
    .filter(({ until_iteration }) => iteration < until_iteration)
    .toSorted((a, b) => (a.producer < b.producer ? -1 : 1));

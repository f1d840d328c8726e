import { defined, type Json, OperatingError } from "../../kernel/index.ts";
import { defineTable, type WriteSet } from "../../router/index.ts";
import { type Iteration, iterations } from "../stage/index.ts";
import { type CheckOutcome, type Crowned, type CrowningCause, recordCrowning } from "./champion-history.ts";

/** The champion of a config. Only `crown` writes it. Times are milliseconds since the epoch. */
export type Champion = {
  /** SHA-256 of its file. */
  readonly model: string;
  readonly since: number;
  readonly iteration: number;
  /** Counts the champions of the config, from 1. */
  readonly generation: number;
  readonly cause: CrowningCause;
  readonly evidence: { readonly [name: string]: Json };
  readonly by: string;
  /** The event of the iteration that it came from: what is told of its way to the nodes shares its trace. Older rows have none. */
  readonly event?: NonNullable<Iteration["cause"]>;
};

/** By config_key. */
export const champions = defineTable<Champion>("pipeline_champions");

export interface Crowning {
  readonly configKey: string;
  readonly model: string;
  /** The champion that it was measured against; null where there must be none. */
  readonly expected: string | null;
  readonly iteration: number;
  readonly cause: CrowningCause;
  readonly by: string;
  readonly evidence: { readonly [name: string]: Json };
}

const short = (model: string | null): string => (model === null ? "none" : model.slice(0, 12));

/**
 * Makes a model the champion, if the champion is still the one it was measured against: compare and set. The row that was
 * compared is part of the caller's read set, so a change between this look and the commit has the caller look again.
 */
export function crown(
  { rows, now }: { readonly rows: Pick<WriteSet, "get" | "put" | "apply">; readonly now: number },
  { configKey, model, expected, iteration, cause, by, evidence }: Crowning,
): Champion {
  const current = rows.get(champions, configKey);
  const previous = current?.model ?? null;
  if (previous !== expected)
    throw OperatingError.conflict(
      "CHAMPION_CHANGED",
      `the champion of ${configKey} is ${short(previous)}, not ${short(expected)}, which ${short(model)} was measured against`,
      { hint: "Measure it against the current champion." },
    );
  if (previous === model)
    throw OperatingError.conflict("ALREADY_CHAMPION", `${short(model)} is the champion of ${configKey} already`, {
      hint: "There is nothing to do.",
    });
  const generation = (current?.generation ?? 0) + 1;
  const event = rows.get(iterations, configKey)?.cause;
  const champion: Champion = { model, since: now, iteration, generation, cause, evidence, by, ...defined({ event }) };
  rows.put(champions, configKey, champion);
  rows.apply(
    recordCrowning({ config_key: configKey, generation, model, previous, iteration, cause, by, evidence, at: now }),
  );
  return champion;
}

/** Models that were withdrawn once. They never come back by themselves. */
export const withdrawnModels = (history: readonly Crowned[]): ReadonlySet<string> =>
  new Set(history.flatMap(({ cause, previous }) => (cause === "rollback" && previous !== null ? [previous] : [])));

/**
 * The champion to go back to: the newest other one that was not withdrawn and has shown what it can. One that a person put
 * there counts only when games have cleared it. `history` is newest first.
 */
export function lastGood(
  history: readonly Crowned[],
  outcomes: ReadonlyMap<number, CheckOutcome>,
  current: string,
  except: readonly string[] = [],
): Crowned | undefined {
  const withdrawn = withdrawnModels(history);
  const isTrusted = ({ cause, generation }: Crowned): boolean => {
    const outcome = outcomes.get(generation);
    return outcome === "cleared" || (cause !== "hand" && outcome !== "regressed");
  };
  return history.find(
    (entry) =>
      entry.model !== current && !withdrawn.has(entry.model) && !except.includes(entry.model) && isTrusted(entry),
  );
}

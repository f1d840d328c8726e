import { didYouMean, OperatingError, suggest } from "../kernel/index.ts";
import type { Rows } from "./row.ts";

export type Spelling = "name" | "wire" | "legacy";

export interface Resolution {
  readonly name: string;
  readonly spelling: Spelling;
}

/** Names canonicalise once: constant, wire value and legacy spelling are one event. */
export interface EventNames {
  /** Undefined for a name that the catalog does not know. Case and the character between words do not matter. */
  resolve(spelling: string): Resolution | undefined;
  /** The events that have this name on the stage bus. */
  ofStage(stage: string): readonly string[];
  suggest(wrong: string): string[];
  unknown(wrong: string): OperatingError;
}

/** One form for all spellings of a name: upper snake case. */
const canonicalForm = (spelling: string): string =>
  spelling
    .trim()
    .toUpperCase()
    .replace(/[-.\s]/g, "_");

export function createNames(rows: Rows): EventNames {
  const known = new Map<string, Resolution>();
  const stages = new Map<string, string[]>();
  const add = (key: string, name: string, spelling: Spelling) => {
    const taken = known.get(key);
    if (taken !== undefined && taken.name !== name)
      throw new Error(`'${key}' names both ${taken.name} and ${name}: one spelling, one event`);
    if (taken === undefined) known.set(key, { name, spelling });
  };
  for (const name of Object.keys(rows)) add(name, name, "name");
  for (const [name, row] of Object.entries(rows)) {
    // A legacy constant may be the wire value in capitals (NEW_GAMES, new_games): exactly written it is the wire value,
    // in any other way the legacy spelling.
    add(row.wire, name, "wire");
    for (const spelling of row.legacy) add(canonicalForm(spelling), name, "legacy");
    add(canonicalForm(row.wire), name, "wire");
    if (row.stage !== null) stages.set(row.stage, [...(stages.get(row.stage) ?? []), name]);
  }
  return {
    // The exact spellings are the common case and need no rewriting.
    resolve: (spelling) => known.get(spelling) ?? known.get(canonicalForm(spelling)),
    ofStage: (stage) => stages.get(stage) ?? [],
    suggest: (wrong) => suggest(wrong, Object.keys(rows)),
    unknown: (wrong) =>
      OperatingError.notFound(
        "UNKNOWN_EVENT",
        `unknown event '${wrong.slice(0, 100)}'.${didYouMean(wrong, Object.keys(rows))}`,
        { status: 422, hint: "'ringrift events list' prints all events; defineEvents adds your own." },
      ),
  };
}

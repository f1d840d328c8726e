/** What becomes of a file that no manifest knows. Nothing is ever deleted. */
import type { FoundFile } from "../../orphans/find-orphans.ts";
import type { OrphanRule } from "../../states.ts";

export interface OrphanVerdict {
  readonly rule: OrphanRule;
  readonly why: string;
}

const GAMES = new Set(["games", "samples"]);

/** The rule for a file, and why; undefined for one that holds no games. */
export function verdictOn({ isStored, isNamed, structure }: FoundFile): OrphanVerdict | undefined {
  if (!structure.sound)
    return isStored
      ? { rule: "quarantine", why: `it cannot be read (${structure.code}): ${structure.message}` }
      : { rule: "leave", why: `it cannot be imported (${structure.code}): ${structure.message}` };
  const { kind, games, format } = structure;
  if (kind === null || !GAMES.has(kind) || format === "other") return undefined;
  if (!isNamed) return { rule: "quarantine", why: "its bytes are not what its name says" };
  if (!isStored) return { rule: "offer", why: "it lies in a watched folder: 'ringrift import' takes it" };
  if (games === 0) return { rule: "leave", why: "it holds no games" };
  if (kind === "games") return { rule: "adopt", why: "its games follow the rules, and no job speaks for them" };
  return { rule: "offer", why: "its rows have no games beside them: 'ringrift import' takes them" };
}

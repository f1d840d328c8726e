/**
 * Why something stands still, or is not as it should be. `why`, `status`, `health` and the live view all tell causes of one list,
 * so that none of them can contradict another. A cause is data: programs read its code, people its sentence, and what to do
 * about it is worded by whoever shows it.
 */
import type { z } from "zod";
import type { Given } from "../kernel/index.ts";
import { CAUSE_LEVELS, type CauseLevel } from "./cause-levels.ts";
import type { cause } from "./cause-schema.ts";

/** What somebody can do, or ask for; each surface has its words for every one of them. */
export const ADVICE_ACTIONS = [
  "up",
  "start",
  "reset",
  "resume",
  "restart",
  "show",
  "list",
  "why",
  "letters",
  "resume_config",
  "retry_config",
  "pipeline",
  "history",
  "add_worker",
  "show_node",
  "node_health",
  "uncordon",
  "free_disk",
  "unburden",
  "show_job",
  "retry_job",
  "show_file",
  "alerts",
  "health",
  "audit",
  "doctor",
  "consumer",
  "dead_letters",
  "ledger",
] as const;

export type Cause = Given<z.output<ReturnType<typeof cause>>>;

export interface CauseAdvice {
  readonly action: (typeof ADVICE_ACTIONS)[number];
  readonly subject: string;
}

/** A cause of which only that is said which there is to say. */
export const causeOf = (
  level: CauseLevel,
  code: string,
  subject: string,
  what: string,
  more: Partial<Omit<Cause, "advice">> & { readonly advice?: CauseAdvice | null } = {},
): Cause => ({
  code,
  subject,
  what,
  level,
  actual: null,
  required: null,
  since: null,
  advice: null,
  because: [],
  affects: [],
  ...more,
});

const rank = ({ level }: Pick<Cause, "level">): number => CAUSE_LEVELS.indexOf(level);

/** They tell that something is wrong, and not what: what they follow from comes first. */
const SUMMARIES = new Set(["alerts", "health"]);
const isSummary = ({ code }: Cause): number => (SUMMARIES.has(code) ? 1 : 0);

const isNote = ({ level }: Cause): number => (level === "note" ? 1 : 0);
const holdsUp = ({ affects }: Cause): number => (affects.length > 0 ? 1 : 0);

/** Well means that nobody has to do anything. */
export const isWell = (causes: readonly Pick<Cause, "level">[]): boolean =>
  causes.every(({ level }) => level === "note");

/**
 * Each root once: what several configs stand still for is one cause that affects them all. What is wrong comes first, the worst of it
 * before the rest and what a config stands still for before what follows from it; then what only says that something is.
 */
export function rootCauses(causes: readonly Cause[]): Cause[] {
  const roots = Map.groupBy(causes, ({ code, subject }) => `${code} ${subject}`);
  return [...roots.values()]
    .map((same) => ({
      ...same.toSorted((a, b) => rank(a) - rank(b) || b.because.length - a.because.length)[0]!,
      affects: [...new Set(same.flatMap(({ affects }) => affects))],
    }))
    .sort(
      (a, b) => isNote(a) - isNote(b) || isSummary(a) - isSummary(b) || rank(a) - rank(b) || holdsUp(b) - holdsUp(a),
    );
}

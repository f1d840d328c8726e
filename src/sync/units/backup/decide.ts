/** What to do about backups next, and what is wrong with them. */
import { type DueRules, isDue, isOverdue } from "../../backup/decide.ts";
import type { BackupKind } from "../../backup/words.ts";

/** How one sort of task did at one place. */
export interface Past {
  readonly last:
    | {
        readonly state: "running" | "completed" | "failed";
        readonly started_at: number;
        readonly ended_at: number | null;
        readonly error: string | null;
      }
    | undefined;
  readonly succeededAt: number | null;
  readonly failures: number;
}

export interface PlacePast {
  readonly place: string;
  readonly run: Past;
  readonly drill: Past;
  /** The last backup has not been followed by a look at what may go. */
  readonly isPruneOwed: boolean;
}

export interface BackupPace {
  readonly everyMs: number;
  readonly drillEveryMs: number;
}

export interface BackupRules {
  readonly retryMs: number;
  readonly spacingMs: number;
  /** So many failures in a row are a person's business. */
  readonly failures: number;
}

export interface NextTask {
  readonly kind: BackupKind;
  readonly place: string;
}

/** One at a time: first what is not backed up, then what may go, then the drill of what is. */
export function nextTask(
  places: readonly PlacePast[],
  pace: BackupPace,
  rules: BackupRules,
  isWoken: boolean,
  now: number,
): NextTask | undefined {
  const due = (past: Past, everyMs: number, woken: boolean) => {
    const dueRules: DueRules = { everyMs, retryMs: rules.retryMs, spacingMs: rules.spacingMs };
    return isDue(past.last, past.failures, woken, now, dueRules);
  };
  const found = (kind: BackupKind, one: PlacePast | undefined) =>
    one === undefined ? undefined : { kind, place: one.place };
  return (
    found(
      "run",
      places.find(({ run }) => due(run, pace.everyMs, isWoken)),
    ) ??
    found(
      "prune",
      places.find(({ isPruneOwed }) => isPruneOwed),
    ) ??
    found(
      "drill",
      places.find(({ run, drill }) => run.succeededAt !== null && due(drill, pace.drillEveryMs, false)),
    )
  );
}

const NAMES = { run: "backup", drill: "restore drill" } as const;

const why = ({ last }: Past): string => {
  const error = last?.error;
  return error == null ? "" : `: ${(JSON.parse(error) as { message: string }).message}`;
};

/** What a person should know, place by place; nothing where all is well. */
export function backupTrouble(
  { place, ...past }: PlacePast,
  pace: BackupPace,
  rules: Pick<BackupRules, "failures">,
  watchedSince: number,
  now: number,
): string | null {
  const found = (["run", "drill"] as const).map((kind) => {
    const { failures, succeededAt } = past[kind];
    const everyMs = kind === "run" ? pace.everyMs : pace.drillEveryMs;
    if (failures >= rules.failures)
      return `the ${NAMES[kind]} of '${place}' has failed ${failures} times${why(past[kind])}`;
    // Before there is a backup there is nothing to drill.
    if (kind === "drill" && past.run.succeededAt === null) return null;
    if (isOverdue(succeededAt, watchedSince, everyMs, now))
      return `the ${NAMES[kind]} of '${place}' is overdue${why(past[kind])}`;
    return null;
  });
  return found.find((text) => text !== null) ?? null;
}

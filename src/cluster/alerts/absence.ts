/**
 * Alarms on what does not happen: "no event of this type, for this subject, for so long". A watch arms itself when its subject
 * is first seen. Only time in which somebody listened counts as silence: neither a restart, nor a closed laptop, nor a
 * blocked loop is mistaken for it.
 */
import type { AlertSeverity } from "./alert.ts";

export interface AbsenceRule {
  readonly name: string;
  readonly event: string;
  /** Fields that tell one subject from another; without any all events of the type are one subject. */
  readonly by: readonly string[];
  readonly withinMs: number;
  readonly severity: AlertSeverity;
  readonly title: string;
  /** `first_seen`: only who was there once can be missed. `start`: the first one is awaited, too; for rules without `by`. */
  readonly from: "first_seen" | "start";
  /** Events that say goodbye: the silence after them is no loss. Their fields stand in the order of `by`. */
  readonly endedBy: readonly { readonly event: string; readonly by: readonly string[] }[];
}

export interface WatchRow {
  readonly rule: string;
  readonly subject: string;
  /** Milliseconds since the epoch. */
  readonly seen_at: number;
  /** Silence that was listened to, in milliseconds. */
  readonly quiet_ms: number;
  readonly raised: 0 | 1;
}

type WatchKey = Pick<WatchRow, "rule" | "subject">;

/** What a look at the watches found. */
export interface WatchNews {
  readonly silent: readonly { readonly rule: AbsenceRule; readonly row: WatchRow }[];
  /** Seen again, or their rule is no longer there. */
  readonly back: readonly { readonly rule: AbsenceRule | undefined; readonly row: WatchRow }[];
}

export interface WatchChanges {
  readonly rows: readonly WatchRow[];
  readonly gone: readonly WatchKey[];
}

export type Watches = ReturnType<typeof createWatches>;

/** A loop that was away longer than this was not listening. */
const MAX_STEP_MS = 5_000;
/** After a start there is at least this much time, or the whole of a shorter rule, before silence is told. */
const GRACE_MS = 120_000;
const MAX_SUBJECTS = 1_000;

const subjectOf = (by: readonly string[], payload: Readonly<Record<string, unknown>>): string | undefined => {
  const values = by.map((field) => payload[field]);
  if (values.some((value) => typeof value !== "string" && typeof value !== "number")) return undefined;
  return values.map((value) => encodeURIComponent(String(value)).slice(0, 200)).join("@");
};

const graceful = (rule: AbsenceRule, row: WatchRow): WatchRow =>
  row.raised === 1
    ? row
    : { ...row, quiet_ms: Math.min(row.quiet_ms, rule.withinMs - Math.min(rule.withinMs, GRACE_MS)) };

/** Watches over rules, from what was stored of them. */
export function createWatches(rules: readonly AbsenceRule[], stored: readonly WatchRow[], now: number) {
  const byName = new Map(rules.map((rule) => [rule.name, rule]));
  const rows = new Map<string, WatchRow>();
  const changed = new Set<string>();
  const gone = new Map<string, WatchKey>();
  /** Raised ones that were seen again, and the last look has not told yet. */
  const back = new Map<string, WatchRow>();
  const counts = new Map<string, number>();
  const keyOf = ({ rule, subject }: WatchKey) => `${rule}\u0000${subject}`;
  const put = (row: WatchRow) => {
    const key = keyOf(row);
    if (!rows.has(key)) counts.set(row.rule, (counts.get(row.rule) ?? 0) + 1);
    rows.set(key, row);
    changed.add(key);
    gone.delete(key);
  };
  const remove = (key: string) => {
    const row = rows.get(key);
    if (row === undefined) return;
    rows.delete(key);
    changed.delete(key);
    counts.set(row.rule, (counts.get(row.rule) ?? 1) - 1);
    gone.set(key, { rule: row.rule, subject: row.subject });
    if (row.raised === 1) back.set(key, row);
  };
  for (const row of stored) {
    const rule = byName.get(row.rule);
    put(rule === undefined ? row : graceful(rule, row));
    // A rule that was taken out of the configuration leaves nothing behind, its open alert included.
    if (rule === undefined) remove(keyOf(row));
  }
  for (const { name, from } of rules)
    if (from === "start" && !rows.has(keyOf({ rule: name, subject: "" })))
      put({ rule: name, subject: "", seen_at: now, quiet_ms: 0, raised: 0 });
  const wanted = new Set(rules.flatMap(({ event, endedBy }) => [event, ...endedBy.map((end) => end.event)]));

  return {
    /** Whether the event matters to any rule. */
    hears: (eventType: string) => wanted.has(eventType),
    get size(): number {
      return rows.size;
    },
    see(eventType: string, payload: Readonly<Record<string, unknown>>, at: number) {
      for (const rule of rules) {
        for (const end of rule.endedBy)
          if (end.event === eventType) {
            const subject = subjectOf(end.by, payload);
            if (subject !== undefined) remove(keyOf({ rule: rule.name, subject }));
          }
        if (rule.event !== eventType) continue;
        const subject = subjectOf(rule.by, payload);
        if (subject === undefined) continue;
        const key = keyOf({ rule: rule.name, subject });
        const row = rows.get(key);
        if (row === undefined && (counts.get(rule.name) ?? 0) >= MAX_SUBJECTS) continue;
        if (row?.raised === 1) back.set(key, row);
        put({ rule: rule.name, subject, seen_at: at, quiet_ms: 0, raised: 0 });
      }
    },
    /** Lets listened-to time pass; at most `maxStepMs` of it counts. */
    pass(elapsedMs: number): WatchNews {
      const step = Math.min(Math.max(0, elapsedMs), MAX_STEP_MS);
      const silent: { rule: AbsenceRule; row: WatchRow }[] = [];
      for (const [key, row] of rows) {
        const rule = byName.get(row.rule)!;
        const quiet_ms = row.quiet_ms + step;
        const raise = row.raised === 0 && quiet_ms >= rule.withinMs;
        const next: WatchRow = { ...row, quiet_ms, raised: raise || row.raised === 1 ? 1 : 0 };
        rows.set(key, next);
        changed.add(key);
        if (raise) silent.push({ rule, row: next });
      }
      const returned = [...back.values()].map((row) => ({ rule: byName.get(row.rule), row }));
      back.clear();
      return { silent, back: returned };
    },
    /** Rows that changed since they were last taken, and those that are gone. */
    takeChanges(): WatchChanges {
      const taken = { rows: [...changed].flatMap((key) => rows.get(key) ?? []), gone: [...gone.values()] };
      changed.clear();
      gone.clear();
      return taken;
    },
    /** They could not be written down: they are taken again next time. */
    putBack(changes: WatchChanges) {
      for (const row of changes.rows) if (rows.has(keyOf(row))) changed.add(keyOf(row));
      for (const row of changes.gone) if (!rows.has(keyOf(row))) gone.set(keyOf(row), row);
    },
  };
}

/** Absence rules that every system has. */
export const builtinAbsenceRules = [
  {
    name: "unit-heartbeat",
    event: "COORDINATOR_HEARTBEAT",
    by: ["coordinator_name", "node_id"],
    withinMs: 300_000,
    severity: "error",
    title: "No sign of life from a unit",
    from: "first_seen",
    endedBy: [
      { event: "COORDINATOR_SHUTDOWN", by: ["coordinator_name", "node_id"] },
      { event: "DAEMON_STOPPED", by: ["daemon_name", "node_id"] },
    ],
  },
] as const satisfies readonly AbsenceRule[];

/** The key of the alert that a silent watch raises. */
export const absenceKey = ({ rule, subject }: WatchKey): string => `ABSENCE/${rule}/${subject}`;

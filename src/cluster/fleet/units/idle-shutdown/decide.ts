/** Which rented machines may go. Pure, and explained by the gates that it judges by. */

import type { FleetNode } from "../../decide.ts";
import { believed, type Foreseen, slotsOf } from "../../foreseen.ts";
import { isStaying } from "../../ledger-states.ts";
import type { MachineRow } from "../../machine.ts";
import type { Burden } from "../../services.ts";

export interface IdleFacts {
  readonly row: MachineRow;
  readonly node: FleetNode | undefined;
  /** Undefined where it could not be asked. */
  readonly burden: Burden | undefined;
  /** When it last took something, as far as was heard; 0 if never. */
  readonly busyAt: number;
}

export interface IdleRules {
  readonly min: number;
  readonly idleAfterMs: number;
  /** Machines that are there or come, this one included. */
  readonly staying: number;
  readonly foreseen?: Foreseen | undefined;
}

export interface IdleGate {
  readonly gate: string;
  readonly holds: boolean;
  readonly actual: string;
  readonly required: string;
}

/** Since when it has nothing to do; null while it has, or while nobody knows. */
function idleSince({ row, node, burden, busyAt }: IdleFacts, now: number): number | null {
  if (row.state !== "active" || node?.state !== "online" || burden === undefined) return null;
  if (burden.held > 0 || burden.fitting > 0) return null;
  return Math.max(row.idle_since ?? now, busyAt, row.joined_at ?? 0);
}

const minutes = (ms: number): string => `${(ms / 60_000).toFixed(1)} min`;

/** Why it may go, or may not: one line for each condition. */
export function idleGates(facts: IdleFacts, rules: IdleRules, now: number): IdleGate[] {
  const { min, idleAfterMs, staying } = rules;
  const ahead = believed(rules.foreseen);
  const left = ahead === undefined ? 0 : ahead.slots - slotsOf(facts.row);
  const { row, node, burden } = facts;
  const since = idleSince(facts, now);
  const idleMs = since === null ? 0 : now - since;
  const none = (gate: string, count: number | undefined): IdleGate => ({
    gate,
    holds: count === 0,
    actual: count === undefined ? "unknown" : String(count),
    required: "0",
  });
  return [
    { gate: "rented and working", holds: row.state === "active", actual: row.state, required: "active" },
    { gate: "node", holds: node?.state === "online", actual: node?.state ?? "unknown", required: "online" },
    none("jobs in its hands", burden?.held),
    none("waiting jobs that fit it", burden?.fitting),
    none("files that lie only there", burden?.alone),
    none("results and events on their way", burden?.unsent),
    {
      gate: "idle for",
      holds: since !== null && idleMs >= idleAfterMs,
      actual: minutes(idleMs),
      required: minutes(idleAfterMs),
    },
    {
      gate: "machines above the minimum",
      holds: staying > min,
      actual: `${staying} machines`,
      required: `more than ${min}`,
    },
    ...(ahead === undefined
      ? []
      : [
          {
            gate: "slots that are left without it",
            holds: left >= ahead.wanted,
            actual: String(left),
            required: `${ahead.wanted}, by the forecast`,
          },
        ]),
  ];
}

export interface Returns {
  /** What the rows shall say about since when each is idle, where that is news. */
  readonly idle: readonly { readonly row: MachineRow; readonly since: number | null }[];
  readonly goes: readonly { readonly row: MachineRow; readonly reason: string; readonly idleMs: number }[];
}

/** Dearest first, and never below the minimum: what goes is not bought again. */
export function decideReturns(
  all: readonly IdleFacts[],
  rows: readonly Pick<MachineRow, "state">[],
  { min, idleAfterMs, foreseen: given }: Omit<IdleRules, "staying">,
  now: number,
): Returns {
  let foreseen = given;
  let staying = rows.filter(isStaying).length;
  const judged = all
    .map((facts) => ({ ...facts, since: idleSince(facts, now) }))
    .toSorted(
      (a, b) =>
        b.row.price_usd_hour - a.row.price_usd_hour ||
        (a.since ?? now) - (b.since ?? now) ||
        (a.row.label < b.row.label ? -1 : 1),
    );
  const goes: { row: MachineRow; reason: string; idleMs: number }[] = [];
  for (const facts of judged) {
    if (!idleGates(facts, { min, idleAfterMs, staying, foreseen }, now).every(({ holds }) => holds)) continue;
    staying -= 1;
    if (foreseen !== undefined) foreseen = { ...foreseen, slots: foreseen.slots - slotsOf(facts.row) };
    const idleMs = now - facts.since!;
    goes.push({ row: facts.row, reason: `it had nothing to do for ${minutes(idleMs)}`, idleMs });
  }
  const idle = judged.filter(({ row, since }) => row.idle_since !== since).map(({ row, since }) => ({ row, since }));
  return { idle, goes };
}

/** Whether a drained machine may be ended; the reason why not, if it may not. */
export function whyNotYet(
  { row, node, burden }: Omit<IdleFacts, "busyAt">,
  { evacuateMs }: { readonly evacuateMs: number },
  now: number,
): string | undefined {
  if (row.forced === 1) return undefined;
  // Money that is used up does not wait for ever.
  if (row.return_by === "budget" && now - row.state_since >= evacuateMs) return undefined;
  if (burden === undefined) return "what lies there is not known";
  if (burden.held > 0) return `${burden.held} jobs are in its hands`;
  if (burden.alone > 0) return `${burden.alone} files lie only there`;
  if (burden.unsent > 0 && node?.state === "online") return `${burden.unsent} results and events are on their way`;
  return undefined;
}

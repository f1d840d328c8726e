/** A node's health for people: every check with its breaker, and what the node may get. */
import { type Availability, NODE_USES } from "./availability.ts";
import { CHECKS, type HealthBook, wellSince } from "./node-health/health-book.ts";
import type { NodeView } from "./nodes/node-view.ts";
import type { RecoveryAct } from "./recovery/recovery-rows.ts";
import { breakerOf } from "./units/node-health/decide.ts";

/** Times are milliseconds since the epoch. */
export function nodeHealthReport(
  { node_id, label, state }: Pick<NodeView, "node_id" | "label" | "state">,
  { health, availability }: { readonly health: HealthBook; readonly availability: Pick<Availability, "barrier"> },
  now: number,
  act?: Pick<RecoveryAct, "rung" | "state" | "begun_at">,
) {
  const row = health.get(node_id) ?? wellSince(now);
  const { condition, reason, since, isOnTrial, slow, checks, starts } = row;
  return {
    node_id,
    label,
    state,
    condition,
    reason,
    since,
    on_trial: isOnTrial,
    slow_start: slow,
    repair: act?.state === "acting" ? { rung: act.rung, since: act.begun_at } : null,
    checks: CHECKS.flatMap((check) => {
      const found = checks[check];
      if (found === undefined) return [];
      const { openedAt, countsFrom, lastPassAt, passes, ...told } = found;
      return [{ check, ...told, breaker: breakerOf(check, found, starts.at(-1) ?? 0, now), last_pass_at: lastPassAt }];
    }),
    may: NODE_USES.map((use) => {
      const barrier = availability.barrier(node_id, use);
      const isAllowed = barrier === undefined || barrier.leaves > 0;
      return { use, allowed: isAllowed, max_jobs: barrier?.leaves ?? null, reason: barrier?.reason ?? null };
    }),
  };
}

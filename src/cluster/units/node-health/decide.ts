/** How a node does, from what its checks find: with hysteresis, a breaker for each check, and a slow start for those who return. Pure. */
import { isIll, type NodeCondition, worse } from "../../node-health/conditions.ts";
import {
  CHECKS,
  type CheckName,
  type CheckState,
  type NodeHealthRow,
  wellSince,
} from "../../node-health/health-book.ts";
import { checkRules, type Evidence, type Finding, type NodeFacts } from "./checks.ts";

export const conditionDefaults = {
  /** Failures in a row that make a node unhealthy, and evicted where a check may. */
  unhealthyAfter: 3,
  evictedAfter: 5,
  /** Passes in a row that close a breaker. */
  passes: 3,
  /** A breaker that has not opened for so long begins anew. */
  forgetMs: 6 * 3_600_000,
  startsWindowMs: 600_000,
  maxStarts: 16,
  outagesWindowMs: 3_600_000,
  /** Slow start: each step lasts so long, or until as many jobs are done; it ends above this. */
  stepMs: 120_000,
  maxSteps: 16,
};
export type ConditionPolicy = typeof conditionDefaults;

/** What of a change is told. */
export interface HealthNews {
  /** Checks that began to fail, or failed so often that the node's condition hangs on it. */
  readonly failed: readonly { readonly check: CheckName; readonly state: CheckState }[];
  /** Checks that failed, and pass again. */
  readonly passed: readonly CheckName[];
  readonly condition: { readonly from: NodeCondition; readonly to: NodeCondition } | null;
  /** Its illness begins or ends to be somebody's business: one that has left is nobody's, however ill it was. */
  readonly alert: "ill" | "well" | "left" | null;
}

/** Whether operators think that it is ill. */
export const wasAlerted = ({ alerted, condition }: NodeHealthRow): boolean => alerted ?? isIll(condition);

/** Closed, open, or open for so long that one try may show whether it is well. */
export function breakerOf(check: CheckName, state: CheckState | undefined, lastStartAt: number, now: number) {
  if (state === undefined || state.openedAt === null) return "closed" as const;
  const { openMs, isShownByWork } = checkRules[check];
  const ms = openMs[Math.min(openMs.length, Math.max(1, state.openings)) - 1]!;
  // A worker that was started anew is another one: it gets its chance at once.
  const isNew = isShownByWork && lastStartAt > state.openedAt;
  return isNew || now - state.openedAt >= ms ? ("half_open" as const) : ("open" as const);
}

const fresh = (now: number): CheckState => ({
  verdict: "pass",
  what: "",
  actual: "",
  required: "",
  since: now,
  failures: 0,
  passes: 0,
  lastPassAt: null,
  openedAt: null,
  countsFrom: 0,
  openings: 0,
});

function nextCheck(
  check: CheckName,
  before: CheckState | undefined,
  found: Finding | undefined,
  facts: { readonly now: number; readonly lastStartAt: number },
  policy: ConditionPolicy,
): CheckState | undefined {
  if (found === undefined) return before;
  const { now, lastStartAt } = facts;
  const known = before ?? fresh(now);
  const { verdict, what, actual, required } = found;
  const about = { verdict, what, actual, required, since: verdict === known.verdict ? known.since : now };
  if (verdict === "fail") {
    const failures = known.failures + 1;
    const breaker = breakerOf(check, known, lastStartAt, now);
    const opens = (breaker === "closed" && failures >= policy.unhealthyAfter) || breaker === "half_open";
    const isOld = known.openedAt !== null && now - known.openedAt > policy.forgetMs;
    const openedAt = opens || (found.atLeast !== undefined && known.openedAt === null) ? now : known.openedAt;
    return {
      ...known,
      ...about,
      failures,
      passes: 0,
      openedAt,
      countsFrom: Math.max(known.countsFrom, openedAt ?? 0),
      openings: opens ? (isOld ? 1 : known.openings + 1) : known.openings,
    };
  }
  const passes = known.passes + 1;
  const isClosed = known.failures === 0 || passes >= policy.passes;
  return {
    ...known,
    ...about,
    passes,
    lastPassAt: verdict === "pass" ? now : known.lastPassAt,
    failures: isClosed ? 0 : known.failures,
    openedAt: isClosed ? null : known.openedAt,
  };
}

/** How bad one check makes its node. */
function levelOf(
  check: CheckName,
  state: CheckState,
  found: Finding | undefined,
  policy: ConditionPolicy,
): NodeCondition {
  const { worst } = checkRules[check];
  const atMost = (level: NodeCondition): NodeCondition => (worse(level, worst) === worst ? level : worst);
  if (state.failures === 0) return state.verdict === "warn" ? "degraded" : "healthy";
  if (state.openedAt !== null && found?.atLeast !== undefined) return found.atLeast;
  if (state.failures >= policy.evictedAfter) return atMost("evicted");
  return state.failures >= policy.unhealthyAfter || state.openedAt !== null ? atMost("unhealthy") : "degraded";
}

/** Work comes back by doubling, when as much was done as was given, or when nothing spoke against it for a while. */
function nextSlow({ slow }: NodeHealthRow, facts: NodeFacts, policy: ConditionPolicy): NodeHealthRow["slow"] {
  if (slow === null) return null;
  const { now, work } = facts;
  const since = work.outcomes.filter(({ at }) => at > slow.since);
  if (since.some((outcome) => !outcome.ok && facts.isFault(outcome))) return { leaves: 1, since: now };
  if (since.filter(({ ok }) => ok).length < slow.leaves && now - slow.since < policy.stepMs) return slow;
  const leaves = slow.leaves * 2;
  return leaves > policy.maxSteps ? null : { leaves, since: now };
}

/**
 * All starts since it was last looked at. A worker that crashes soon is heard once in several lives, or never; how often it started it
 * counts itself. Whoever left in order was started by somebody, and did not crash. Those that nobody saw are spread over the time since it was last heard: after a week they are no crash loop.
 */
function newStarts(
  { incarnation: before, heardAt, hasLeft = false }: NodeHealthRow,
  incarnation: number,
  now: number,
  { maxStarts, startsWindowMs }: ConditionPolicy,
): number[] {
  const count = before === 0 ? 0 : Math.max(0, incarnation - before - (hasLeft ? 1 : 0));
  const silentMs = Math.max(0, now - (heardAt ?? now - startsWindowMs));
  return Array.from(
    { length: Math.min(count, maxStarts) },
    (_, ago) => now - (ago * silentMs) / Math.max(1, count),
  ).reverse();
}

/** The next state of a node. `facts.starts` need not hold the start that `incarnation` tells of: it is noted here. */
export function nextHealth(
  before: NodeHealthRow,
  given: Omit<NodeFacts, "starts" | "outages"> & {
    readonly incarnation: number;
    /** It is silent with most of the others. */
    readonly isOneOfMany?: boolean;
  },
  policy: ConditionPolicy = conditionDefaults,
): { readonly row: NodeHealthRow; readonly news: HealthNews } {
  const { now, incarnation } = given;
  const starts = [...before.starts, ...newStarts(before, incarnation, now, policy)]
    .filter((at) => now - at < policy.startsWindowMs)
    .slice(-policy.maxStarts);
  const outages = (before.outages ?? []).filter((at) => now - at < policy.outagesWindowMs);
  const facts: NodeFacts = { ...given, starts, outages };
  const lastStartAt = starts.at(-1) ?? 0;
  const states: { [C in CheckName]?: CheckState } = {};
  const news = { failed: [] as { check: CheckName; state: CheckState }[], passed: [] as CheckName[] };
  let worstOf: { level: NodeCondition; check: CheckName; state: CheckState } | undefined;
  let isOnTrial = true;
  for (const check of CHECKS) {
    const known = before.checks[check];
    const breaker = breakerOf(check, known, lastStartAt, now);
    const since = Math.max(known?.countsFrom ?? 0, lastStartAt, before.recoveredAt ?? 0);
    const evidence: Evidence = { since, isOnTrial: breaker !== "closed" };
    const found = checkRules[check].find(facts, evidence);
    const state = nextCheck(check, known, found, { now, lastStartAt }, policy);
    if (state === undefined) continue;
    states[check] = state;
    const level = levelOf(check, state, found, policy);
    if (worstOf === undefined || (level !== worstOf.level && worse(level, worstOf.level) === level))
      worstOf = { level, check, state };
    const isEdge = (known?.failures ?? 0) === 0 || (known?.openedAt ?? null) !== state.openedAt;
    if (state.failures > 0 && isEdge) news.failed.push({ check, state });
    if (state.failures === 0 && (known?.failures ?? 0) > 0) news.passed.push(check);
    if (isIll(level))
      isOnTrial &&= checkRules[check].isShownByWork && breakerOf(check, state, lastStartAt, now) === "half_open";
  }
  const found = worstOf?.level ?? "healthy";
  // What home holds is what the cluster has: its own node never counts for nothing.
  const condition = given.isLocal && found === "evicted" ? "unhealthy" : found;
  const isWell = condition === "healthy";
  // One alert of the cluster tells of all that fell silent. Whoever is still silent when the others are back gets its own.
  const isToldAlone = given.presence === "dead" && given.isOneOfMany !== true;
  const isToldForAll = worstOf?.check === "beats" && !isToldAlone && !wasAlerted(before);
  const row: NodeHealthRow = {
    condition,
    since: condition === before.condition ? before.since : now,
    check: isWell ? null : worstOf!.check,
    reason: isWell ? null : `${worstOf!.state.what} (${worstOf!.state.actual})`,
    checks: states,
    incarnation: Math.max(incarnation, before.incarnation),
    heardAt: given.seenAt,
    hasLeft: given.presence === "left" || (before.hasLeft === true && incarnation <= before.incarnation),
    starts,
    outages,
    isOnTrial: isIll(condition) && isOnTrial,
    slow: isIll(condition) ? null : nextSlow(before, facts, policy),
    recoveredAt: before.recoveredAt,
    alerted: isIll(condition) && given.presence !== "left" && !isToldForAll,
  };
  const changed = condition === before.condition ? null : { from: before.condition, to: condition };
  const isOver = isIll(condition) ? ("left" as const) : ("well" as const);
  const alert = row.alerted === wasAlerted(before) ? null : row.alerted ? ("ill" as const) : isOver;
  return { row, news: { ...news, condition: changed, alert } };
}

/**
 * A node that was ill is taken for recovered: what was before counts no more, and its work comes back step by step. Its starts and outages
 * still count, unless they were the illness: a worker that crashes, is silent for a while and comes back is no better each time.
 */
export const recovered = (before: NodeHealthRow, now: number): NodeHealthRow => ({
  ...wellSince(now, before.incarnation),
  starts: before.check === "starts" ? [] : before.starts,
  outages: before.check === "link" ? [] : (before.outages ?? []),
  recoveredAt: now,
  slow: { leaves: 1, since: now },
  // The next look tells that it is over.
  alerted: wasAlerted(before),
});

/** A node was cut off, as it told itself when it was back. */
export const cutOff = (
  before: NodeHealthRow,
  at: number,
  policy: ConditionPolicy = conditionDefaults,
): NodeHealthRow => ({
  ...before,
  outages: [...(before.outages ?? []), at].slice(-policy.maxStarts),
});

/** Whether a row is worth writing down: it says something else than the one before. */
export function saysMore(one: NodeHealthRow, other: NodeHealthRow): boolean {
  const essence = ({ checks, since, reason, heardAt, ...row }: NodeHealthRow) =>
    JSON.stringify([
      row,
      Object.entries(checks).map(([name, { verdict, openedAt, openings, failures }]) => [
        name,
        verdict,
        openedAt,
        openings,
        Math.min(failures, 1),
      ]),
    ]);
  return essence(one) !== essence(other);
}

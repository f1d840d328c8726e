/** From facts to the stored verdict, and what operators are told of the change. Pure. */
import { canonicalJson } from "../../kernel/index.ts";
import type { ComponentVerdict } from "./components.ts";
import {
  type Gate,
  gatesOf,
  judgePause,
  type PausePolicy,
  pauseDefaults,
  type SystemStatus,
  statusOf,
} from "./pause.ts";
import { type HealthFacts, scoreOf } from "./score.ts";
import type { StoredVerdict } from "./system-health.ts";

export interface VerdictPolicy extends PausePolicy {
  /** Work that was paused for so long calls a person. */
  readonly escalateAfterMs: number;
  /** Better news is told when it has lasted so long. */
  readonly settleMs: number;
}

export const verdictDefaults: VerdictPolicy = { ...pauseDefaults, escalateAfterMs: 900_000, settleMs: 60_000 };

export interface HealthNews {
  readonly component: string;
  readonly severity: "info" | "warning" | "error" | "critical";
  readonly message: string;
  readonly health_score?: number;
  readonly action?: string;
}

export interface VerdictInput {
  readonly before: StoredVerdict | undefined;
  readonly facts: HealthFacts;
  readonly components: readonly ComponentVerdict[];
  readonly recoveries: StoredVerdict["recoveries"];
  readonly now: number;
  readonly policy: VerdictPolicy;
}

const SHOWN_COMPONENTS = 200;
const SHOWN_REASONS = 20;
const MOST_MESSAGE = 2_000;
const RANK: readonly SystemStatus[] = ["healthy", "degraded", "unhealthy"];
const SEVERITY = { healthy: "info", degraded: "warning", unhealthy: "critical" } as const;

const isWorse = (one: SystemStatus, other: SystemStatus) => RANK.indexOf(one) > RANK.indexOf(other);

/** The moment makes each telling one of a kind: the same news again within a minute is no repeat of the first. */
const since = (ms: number) => `(since ${new Date(ms).toISOString().replace(/\.\d+Z$/, "Z")})`;

/** Components that turned bad or well since operators were last told. */
function newsOf(before: readonly string[], components: readonly ComponentVerdict[], now: number): HealthNews[] {
  const bad = components.filter((component) => component.bad !== null);
  const names = new Set(bad.map(({ component }) => component));
  return [
    ...bad
      .filter(({ component }) => !before.includes(component))
      .map(({ component, bad: why, critical }) => ({
        component,
        severity: critical ? ("critical" as const) : ("error" as const),
        message: `${why} ${since(now)}`.slice(0, MOST_MESSAGE),
      })),
    ...before
      .filter((component) => !names.has(component))
      .map((component) => ({ component, severity: "info" as const, message: `it does its work again ${since(now)}` })),
  ];
}

const reasonsOf = (gates: readonly Gate[], components: readonly ComponentVerdict[], accepts: boolean): string[] => {
  const failing = gates.filter(({ passed }) => !passed);
  return [
    ...failing.map(({ gate, actual, required, hint }) =>
      `${gate} is ${Math.round(actual * 100) / 100}, needed is ${required}. ${hint}`.trim(),
    ),
    ...(failing.length === 0 && !accepts ? ["all is well; new work resumes when that has lasted"] : []),
    ...components
      .flatMap(({ component, bad }) => (bad === null ? [] : [`${component}: ${bad}`]))
      .slice(0, SHOWN_REASONS),
  ];
};

const shown = (components: readonly ComponentVerdict[]): StoredVerdict["components"] =>
  [...components]
    .sort((a, b) => Number(b.bad !== null) - Number(a.bad !== null) || b.errors - a.errors)
    .slice(0, SHOWN_COMPONENTS)
    .map(({ component, breaker, errors, last_error, last_error_at }) => ({
      component,
      breaker,
      errors,
      last_error,
      last_error_at: last_error_at === null ? null : last_error_at / 1_000,
    }));

export function nextVerdict(input: VerdictInput): { verdict: StoredVerdict; alerts: HealthNews[] } {
  const { before, facts, components, recoveries, now, policy } = input;
  const { score, parts } = scoreOf(facts);
  const paused = {
    accepts: before?.accepts_new_work ?? true,
    since: before?.since ?? now,
    // Time in which nobody judged proves nothing.
    wellSince: before === undefined || now - before.judged_at > policy.resumeAfterMs ? null : before.well_since,
  };
  const gates = gatesOf(score, facts, paused.accepts, policy);
  const pause = judgePause(paused, gates, now, policy);
  const status = statusOf(score, pause.accepts, facts, policy);
  const reasons = reasonsOf(gates, components, pause.accepts);

  const told = before?.told_status ?? "healthy";
  const betterSince = isWorse(told, status) ? (before?.better_since ?? now) : null;
  const tell = isWorse(status, told) || (betterSince !== null && now - betterSince >= policy.settleMs);
  const escalate = !pause.accepts && !(before?.escalated ?? false) && now - pause.since >= policy.escalateAfterMs;
  const what = escalate ? "new work has been paused for long" : `the system is ${status}`;
  const system: HealthNews = {
    component: "system",
    severity: escalate ? "critical" : SEVERITY[status],
    message: `${what} ${since(now)}: ${reasons.join("; ") || "all is well"}`.slice(0, MOST_MESSAGE),
    health_score: score / 100,
    ...(escalate ? { action: "A person has to look: '/health' names what is wrong." } : {}),
  };
  return {
    alerts: [...(tell || escalate ? [system] : []), ...newsOf(before?.told_components ?? [], components, now)],
    verdict: {
      status,
      score,
      accepts_new_work: pause.accepts,
      since: pause.since,
      reasons,
      parts,
      gates,
      components: shown(components),
      recoveries,
      judged_at: now,
      well_since: pause.wellSince,
      told_status: tell ? status : told,
      better_since: tell ? null : betterSince,
      told_components: components.flatMap(({ component, bad }) => (bad === null ? [] : [component])),
      escalated: pause.accepts ? false : (before?.escalated ?? false) || escalate,
    },
  };
}

/** Whether two verdicts differ in nothing but the moment. */
export function saysTheSame(one: StoredVerdict | undefined, other: StoredVerdict): one is StoredVerdict {
  if (one === undefined) return false;
  const timeless = ({ judged_at: _, ...rest }: StoredVerdict) => canonicalJson(rest);
  return timeless(one) === timeless(other);
}

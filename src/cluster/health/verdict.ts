/** From facts to the stored verdict, and what operators are told of the change. Pure. */
import { canonicalJson } from "../../kernel/index.ts";
import type { StoredVerdict } from "../views.ts";
import type { ComponentVerdict } from "./components.ts";
import { type Gate, gatesOf, type SystemStatus, statusOf } from "./gates.ts";
import { type HealthFacts, scoreOf } from "./score.ts";

export const verdictDefaults = {
  /** A system that is unhealthy for so long calls a person. */
  escalateAfterMs: 900_000,
  /** Better news is told when it has lasted so long. */
  settleMs: 60_000,
};

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
  readonly now: number;
  readonly policy: typeof verdictDefaults;
}

const SHOWN_COMPONENTS = 200;
const SHOWN_REASONS = 20;
const MAX_MESSAGE = 2_000;
const RANK: readonly SystemStatus[] = ["healthy", "degraded", "unhealthy"];
const SEVERITY = { healthy: "info", degraded: "warning", unhealthy: "critical" } as const;

const isWorse = (one: SystemStatus, other: SystemStatus) => RANK.indexOf(one) > RANK.indexOf(other);

/** The moment makes each telling one of a kind: the same news again within a minute is no repeat of the first. */
export const since = (ms: number) => `(since ${new Date(ms).toISOString().replace(/\.\d+Z$/, "Z")})`;

/** Components that turned bad or well since operators were last told. */
function newsOf(before: readonly string[], components: readonly ComponentVerdict[], now: number): HealthNews[] {
  const bad = components.filter((component) => component.bad !== null);
  const names = new Set(bad.map(({ component }) => component));
  return [
    ...bad
      .filter(({ component, because }) => because === null && !before.includes(component))
      .map(({ component, bad: why, critical }) => ({
        component,
        severity: critical ? ("critical" as const) : ("error" as const),
        message: `${why} ${since(now)}`.slice(0, MAX_MESSAGE),
      })),
    ...before
      .filter((component) => !names.has(component))
      .map((component) => ({ component, severity: "info" as const, message: `it does its work again ${since(now)}` })),
  ];
}

/** Of whom operators think that they are bad: those of whom they were told, and of none who only waits for another. */
const toldComponents = (before: readonly string[], components: readonly ComponentVerdict[]): string[] =>
  components
    .filter(({ component, bad, because }) => bad !== null && (because === null || before.includes(component)))
    .map(({ component }) => component);

const reasonsOf = (gates: readonly Gate[], components: readonly ComponentVerdict[]): string[] => {
  const failing = gates.filter(({ passed }) => !passed);
  return [
    ...failing.map(({ gate, actual, required, hint }) =>
      `${gate} is ${Math.round(actual * 100) / 100}, needed is ${required}. ${hint}`.trim(),
    ),
    ...components
      .flatMap(({ component, bad, because }) => (bad === null || because !== null ? [] : [`${component}: ${bad}`]))
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
  const { before, facts, components, now, policy } = input;
  const { score, parts } = scoreOf(facts);
  const gates = gatesOf(score, facts);
  const status = statusOf(score, gates);
  const isIll = status === "unhealthy";
  const sinceMs = before?.status === status ? before.since : now;
  const reasons = reasonsOf(gates, components);

  const emitted = before?.told_status ?? "healthy";
  const betterSince = isWorse(emitted, status) ? (before?.better_since ?? now) : null;
  const emits = isWorse(status, emitted) || (betterSince !== null && now - betterSince >= policy.settleMs);
  const wasEscalated = before?.escalated ?? false;
  const escalate = isIll && !wasEscalated && now - sinceMs >= policy.escalateAfterMs;
  const what = escalate ? "the system has been unhealthy for long" : `the system is ${status}`;
  const system: HealthNews = {
    component: "system",
    severity: escalate ? "critical" : SEVERITY[status],
    message: `${what} ${since(now)}: ${reasons.join("; ") || "all is well"}`.slice(0, MAX_MESSAGE),
    health_score: score / 100,
    ...(escalate ? { action: "A person has to look: '/health' names what is wrong." } : {}),
  };
  return {
    alerts: [...(emits || escalate ? [system] : []), ...newsOf(before?.told_components ?? [], components, now)],
    verdict: {
      status,
      score,
      accepts_new_work: true,
      since: sinceMs,
      reasons,
      parts,
      gates,
      components: shown(components),
      recoveries: facts.recoveries,
      judged_at: now,
      told_status: emits ? status : emitted,
      better_since: emits ? null : betterSince,
      told_components: toldComponents(before?.told_components ?? [], components),
      escalated: isIll && (wasEscalated || escalate),
    },
  };
}

/** Whether two verdicts differ in nothing but the moment. */
export function saysTheSame(one: StoredVerdict | undefined, other: StoredVerdict): one is StoredVerdict {
  if (one === undefined) return false;
  const timeless = ({ judged_at: _, ...rest }: StoredVerdict) => canonicalJson(rest);
  return timeless(one) === timeless(other);
}

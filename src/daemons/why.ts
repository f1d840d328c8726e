import { didYouMean, isOperatingError, OperatingError } from "../kernel/index.ts";
import type { DaemonInfo } from "./daemon-manager/daemon.ts";
import { OPERATOR_HOLD } from "./daemon-manager/holds.ts";
import { daemonTypes, resolveDaemon } from "./daemon-types.ts";
import type { HealthState } from "./health.ts";
import { consumerOf } from "./identity.ts";
import type { Declaration } from "./unit.ts";

/** One thing that must be so for a unit to do its work. */
export interface Gate {
  readonly gate: string;
  readonly passed: boolean;
  readonly actual: string | number;
  readonly required: string | number;
  /** Unix seconds; null where it is not known. */
  readonly since: number | null;
  /** What to do next; null where nothing is to be done. */
  readonly hint: string | null;
}

export interface Why {
  readonly subject: string;
  readonly kind: "coordinator" | "daemon" | "not_built";
  /** One sentence. */
  readonly verdict: string;
  /** Since when that is so, in Unix seconds; null where it is not known. */
  readonly since: number | null;
  readonly gates: readonly Gate[];
}

/** How things stand, as plain data. Times are milliseconds since the epoch. */
export interface WhyFacts {
  readonly now: number;
  readonly nodeId: string;
  readonly process?: string | undefined;
  readonly units: readonly Declaration[];
  readonly daemons: Readonly<Record<string, DaemonInfo>>;
  readonly status: readonly {
    readonly name: string;
    readonly subscribed: boolean;
    readonly status: HealthState;
    readonly message: string;
  }[];
  /** The units of the profile that runs; all are meant where there is none. */
  readonly profile?: { readonly name: string; readonly members: readonly string[] } | undefined;
  /** When each unit was last heard. */
  readonly beats: ReadonlyMap<string, number>;
  readonly deadLetters: ReadonlyMap<string, { readonly pending: number; readonly oldestAt: number }>;
  readonly lag: Readonly<Record<string, number>>;
  readonly limits: { readonly heartbeatMs: number; readonly lag: number };
}

const inSeconds = (at: number | null | undefined): number | null =>
  at === null || at === undefined ? null : at / 1_000;

interface Part {
  readonly required: string | number;
  readonly passed: boolean;
  readonly actual: string | number;
  readonly since?: number | null | undefined;
  /** What to do when it does not pass. */
  readonly hint: string;
}

const gateOf = (gate: string, { required, passed, actual, since, hint }: Part): Gate => ({
  gate,
  passed,
  actual,
  required,
  since: inSeconds(since),
  hint: passed ? null : hint,
});

/** Gates that keep a unit from running; the others say how well it runs. */
const KEEPS_DOWN = /^(registered|in_profile|wanted|not_given_up|not_held|held_by:|dependency:|restart_backoff|running)/;

/** The chain of gates that a unit must pass, and where it stands. An unknown name is an error that offers the nearest. */
export function why(subject: string, facts: WhyFacts): Why {
  const known = new Map(facts.units.map((unit) => [unit.name, unit]));
  const name = nameOf(subject, facts);
  if (typeof name !== "string") return name;
  const unit = known.get(name);
  if (unit === undefined || facts.daemons[name] === undefined)
    return notBuilt(subject, `'${name}' is not registered`, null);
  const gates = gatesOf(unit, facts.daemons[name], facts);
  const failing = gates.find(({ passed }) => !passed);
  const since = failing === undefined ? inSeconds(facts.daemons[name].startedAt) : failing.since;
  return { subject: name, kind: unit.kind, verdict: verdictOf(name, failing), since, gates };
}

function verdictOf(name: string, failing: Gate | undefined): string {
  if (failing === undefined) return `${name} runs and is well`;
  const what = `${failing.gate}: ${failing.actual}`;
  return KEEPS_DOWN.test(failing.gate) ? `${name} does not run, because of ${what}` : `${name} runs, but ${what}`;
}

/** The unit that a name, an old name or a daemon type means. */
function nameOf(subject: string, { units }: WhyFacts): string | Why {
  const byOtherName = units.find((unit) => unit.name === subject || unit.alsoKnownAs.includes(subject));
  if (byOtherName !== undefined) return byOtherName.name;
  const names = new Set(units.map(({ name }) => name));
  try {
    return resolveDaemon(subject, names).name;
  } catch (thrown) {
    if (isOperatingError(thrown, "DAEMON_NOT_BUILT")) return notBuilt(subject, thrown.message, thrown.hint ?? null);
    const near = [...names, ...units.flatMap((unit) => unit.alsoKnownAs), ...Object.keys(daemonTypes)];
    throw new OperatingError("UNKNOWN_UNIT", `there is no unit '${subject}'.${didYouMean(subject, near)}`, {
      hint: "'/v1/units' lists the units of this process.",
    });
  }
}

const notBuilt = (subject: string, actual: string, hint: string | null): Why => ({
  subject,
  kind: "not_built",
  verdict: `${subject} does not run, because of registered: ${actual}`,
  since: null,
  gates: [{ gate: "registered", passed: false, actual, required: "registered here", since: null, hint }],
});

function gatesOf(unit: Declaration, info: DaemonInfo, facts: WhyFacts): Gate[] {
  const { now, limits, profile } = facts;
  const { name } = unit;
  const changedAt = (type: string) => info.conditions.find((condition) => condition.type === type)?.lastTransitionAt;
  const status = facts.status.find((each) => each.name === name);
  const isUp = info.state === "running" || info.state === "degraded";
  const consumer = consumerOf(unit, facts.nodeId, facts.process);
  const letters = facts.deadLetters.get(consumer);
  const beatAt = facts.beats.get(name);
  const backoffMs = info.restartAt === null ? 0 : Math.max(0, info.restartAt - now);
  const inProfile = profile === undefined || profile.members.includes(name);

  const mayRun: Gate[] = [
    gateOf("registered", { passed: true, actual: "registered", required: "registered here", hint: "" }),
    gateOf("in_profile", {
      // Whoever starts one by hand wants it, whatever the profile holds.
      passed: inProfile || info.wanted,
      actual: inProfile
        ? (profile?.name ?? "no profile is set")
        : `not in '${profile.name}'${info.wanted ? ", started by hand" : ""}`,
      required: "in the profile that runs",
      hint: "Start a profile that holds it.",
    }),
    gateOf("wanted", {
      passed: info.wanted,
      actual: info.wanted ? "wanted" : "nobody asked for it, or it was stopped",
      required: "wanted",
      since: changedAt("Ready"),
      hint: `Start it: POST /v1/daemons/${name}/start.`,
    }),
    gateOf("not_given_up", {
      passed: info.permanentFailure === null,
      actual: info.permanentFailure?.reason ?? `${info.restarts} of ${info.maxRestarts} restarts spent`,
      required: "not permanently failed",
      since: info.permanentFailure?.at,
      hint: `Mend the cause, then reset it: POST /v1/daemons/${name}/reset.`,
    }),
    ...holdGates(info),
    ...unit.dependsOn.map((on) => dependencyGate(on, facts, [name])),
    gateOf("restart_backoff", {
      passed: backoffMs === 0,
      actual: backoffMs === 0 ? "none" : `${Math.ceil(backoffMs / 1_000)} s are left: ${info.lastError ?? "it failed"}`,
      required: "over",
      since: changedAt("Ready"),
      hint: "Wait, or start it now.",
    }),
    gateOf("running", {
      passed: isUp,
      actual: isUp ? info.state : (info.lastError ?? info.state),
      required: "running",
      since: isUp ? info.startedAt : changedAt("Ready"),
      hint: `Look at what was done to it: GET /v1/daemon-actions, and at its lines in the log.`,
    }),
  ];
  const doesWell: Gate[] = [
    gateOf("subscribed", {
      passed: status?.subscribed ?? false,
      actual: status?.subscribed ? `${unit.hears.length} events` : "not subscribed",
      required: "subscribed to all it hears",
      hint: "It is tried again with its next start; the log says why it failed.",
    }),
    gateOf("health", {
      passed: (status?.status ?? info.health.status) === "running",
      actual: status === undefined ? info.health.status : [status.status, status.message].filter(Boolean).join(": "),
      required: "running",
      since: changedAt("Healthy"),
      hint: "Its recent errors are in GET /v1/units.",
    }),
    gateOf("heartbeat", {
      passed: beatAt !== undefined && now - beatAt <= limits.heartbeatMs,
      actual: beatAt === undefined ? "never heard" : `${Math.max(0, Math.round((now - beatAt) / 1_000))} s ago`,
      required: `at most ${limits.heartbeatMs / 1_000} s ago`,
      since: beatAt,
      hint: "If all are late, the main loop is busy: look for MAIN_LOOP_BLOCKED.",
    }),
    gateOf("dead_letters", {
      passed: (letters?.pending ?? 0) === 0,
      actual: letters?.pending ?? 0,
      required: 0,
      since: letters?.oldestAt,
      hint: `See them with 'ringrift dlq list --consumer ${consumer}'.`,
    }),
    gateOf("lag", {
      passed: (facts.lag[consumer] ?? 0) <= limits.lag,
      actual: facts.lag[consumer] ?? 0,
      required: limits.lag,
      hint: "It is slower than what it is owed; look at its handlers and open breakers.",
    }),
  ];
  return [...mayRun, ...doesWell];
}

function holdGates(info: DaemonInfo): Gate[] {
  if (info.holds.length === 0)
    return [gateOf("not_held", { passed: true, actual: "nothing holds it", required: "no hold", hint: "" })];
  return info.holds.map(({ hold, reason, actor, since }) =>
    gateOf(`held_by:${hold}`, {
      passed: false,
      actual: reason,
      required: "no hold",
      since,
      hint:
        hold === OPERATOR_HOLD
          ? `Resume it: POST /v1/daemons/${info.name}/resume.`
          : `${actor} lifts it when its reason is over.`,
    }),
  );
}

/** A dependency, and if it does not run the gate at which the trouble begins, however deep. */
function dependencyGate(on: string, facts: WhyFacts, path: readonly string[]): Gate {
  const info = facts.daemons[on];
  const gate = `dependency:${on}`;
  const required = "running";
  const trail = [...path, on];
  // What is not registered here runs elsewhere, or nowhere; the supervisor does not wait for it.
  if (info === undefined || info.state === "running" || info.state === "degraded")
    return gateOf(gate, {
      passed: true,
      actual: info?.state ?? "not of this process",
      required,
      since: info?.startedAt,
      hint: "",
    });
  const unit = facts.units.find(({ name }) => name === on);
  const deeper = unit === undefined || path.includes(on) ? undefined : gatesOfDependency(unit, info, facts, trail);
  const actual = deeper === undefined ? info.state : `${on}: ${deeper.gate}: ${deeper.actual}`;
  return gateOf(gate, {
    passed: false,
    actual,
    required,
    since: deeper?.since === null || deeper === undefined ? undefined : deeper.since * 1_000,
    hint: deeper?.hint ?? `Ask for it: GET /v1/why/${on}.`,
  });
}

function gatesOfDependency(
  unit: Declaration,
  info: DaemonInfo,
  facts: WhyFacts,
  trail: readonly string[],
): Gate | undefined {
  const below = unit.dependsOn
    .filter((on) => !trail.includes(on))
    .map((on) => dependencyGate(on, facts, trail))
    .find(({ passed }) => !passed);
  if (below !== undefined) return below;
  return gatesOf({ ...unit, dependsOn: [] }, info, facts).find(({ passed }) => !passed);
}

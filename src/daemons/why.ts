import { didYouMean, isOperatingError, OperatingError } from "../kernel/index.ts";
import { type Cause, causeOf } from "./cause.ts";
import { daemonTypes } from "./legacy.ts";
import type { DaemonInfo } from "./supervisor/daemon.ts";
import { resolveDaemon } from "./supervisor/daemon-names.ts";
import { OPERATOR_HOLD } from "./supervisor/holds.ts";
import { consumerOf } from "./unit/consumer-name.ts";
import type { Declaration } from "./unit/shape.ts";
import type { UnitStatus } from "./unit/work-counts.ts";

/** Something to do, or to ask for, next: what each surface puts into its own words. */
export interface Advice {
  readonly action: "start" | "reset" | "resume" | "show" | "list" | "why" | "letters";
  /** The daemon, unit or consumer that it is done to. */
  readonly subject: string;
}

/** One thing that must be so for a unit to do its work. */
export interface Gate {
  readonly gate: string;
  readonly passed: boolean;
  readonly actual: string | number;
  readonly required: string | number;
  /** Milliseconds since the epoch; null where it is not known. */
  readonly since: number | null;
  /** What to do next, in words of the API; null where nothing is to be done. */
  readonly hint: string | null;
  /** The same as data, where it is something to do or to ask for. */
  readonly advice?: Advice | undefined;
}

/** Advice in words of the API. */
const WORDS: Readonly<Record<Advice["action"], (subject: string) => string>> = {
  start: (name) => `Start it: POST /v1/daemons/${name}/start.`,
  reset: (name) => `Mend the cause, then reset it: POST /v1/daemons/${name}/reset.`,
  resume: (name) => `Resume it: POST /v1/daemons/${name}/resume.`,
  show: () => "Look at what was done to it: GET /v1/daemon-actions, and at its lines in the log.",
  list: () => "Its recent errors are in GET /v1/units.",
  why: (name) => `Ask for it: GET /v1/why/${name}.`,
  letters: (consumer) => `See them with GET /v1/dead-letters?consumer=${consumer}.`,
};

export interface Why {
  readonly subject: string;
  readonly kind: "coordinator" | "daemon" | "not_built";
  /** One sentence. */
  readonly verdict: string;
  /** Since when that is so, in milliseconds since the epoch; null where it is not known. */
  readonly since: number | null;
  /** The root of it; null where nothing stands in the way. */
  readonly cause: Cause | null;
  readonly gates: readonly Gate[];
}

/** How things stand, as plain data. Times are milliseconds since the epoch. */
export interface WhyFacts {
  readonly now: number;
  readonly nodeId: string;
  readonly units: readonly Declaration[];
  readonly daemons: Readonly<Record<string, DaemonInfo>>;
  /** How one unit is. */
  status(unit: string): Pick<UnitStatus, "subscribed" | "status" | "message"> | undefined;
  /** The units of the profile that runs; all are meant where there is none. */
  readonly profile?: { readonly name: string; readonly members: readonly string[] } | undefined;
  /** When each unit was last heard. */
  readonly beats: ReadonlyMap<string, number>;
  /** Those of one consumer that wait; undefined where none does. */
  deadLetters(consumer: string): { readonly pending: number; readonly oldestAt: number } | undefined;
  readonly lag: Readonly<Record<string, number>>;
  readonly limits: { readonly heartbeatMs: number; readonly lag: number };
}

interface Part extends Pick<Gate, "required" | "passed" | "actual"> {
  readonly since?: number | null | undefined;
  /** What to do when it does not pass: a sentence, or something that can be done. */
  readonly hint?: string | Advice;
}

const gateOf = (gate: string, { required, passed, actual, since, hint = "" }: Part): Gate => ({
  gate,
  passed,
  actual,
  required,
  since: since ?? null,
  ...(passed ? { hint: null } : saidOf(hint)),
});

const saidOf = (hint: string | Advice): Pick<Gate, "hint" | "advice"> =>
  typeof hint === "string" ? { hint } : { hint: WORDS[hint.action](hint.subject), advice: hint };

/** Why a unit does not run, by the gate that keeps it down; the other gates say how well it runs. */
const DOWN: Readonly<Record<string, (it: string, actual: Gate["actual"], of: string) => string>> = {
  registered: (_it, actual) => `${actual}`,
  in_profile: (it, actual) => `${it} is ${actual}`,
  wanted: (it) => `${it} was stopped, or is not enabled`,
  not_given_up: (it, actual) => `${it} was given up: ${actual}`,
  held_by: (it, actual, of) => `${it} is held by ${of}: ${actual}`,
  dependency: (it, actual) => `${it} waits for ${actual}`,
  restart_backoff: (it, actual) => `${it} failed and starts again: ${actual}`,
  running: (_it, actual) => `${actual}`,
};

const UP: Readonly<Record<string, (actual: Gate["actual"]) => string>> = {
  subscribed: () => "it does not hear its events",
  health: (actual) => `it is not well: ${actual}`,
  heartbeat: (actual) => `its last sign of life is late: ${actual}`,
  dead_letters: (actual) => `${actual} of its events failed for good and wait as dead letters`,
  lag: (actual) => `it is ${actual} events behind`,
};

/** What cannot be while a unit does not run: it says nothing more of why. */
const FOLLOWS = new Set(["running", "subscribed", "health", "heartbeat"]);

/** The chain of gates that a unit must pass, and where it stands. An unknown name is an error that offers the nearest. */
export function why(subject: string, facts: WhyFacts): Why {
  const known = new Map(facts.units.map((unit) => [unit.name, unit]));
  const name = nameOf(subject, facts);
  if (typeof name !== "string") return name;
  const unit = known.get(name);
  if (unit === undefined || facts.daemons[name] === undefined)
    return notBuilt(subject, `'${name}' is not registered`, null);
  const all = gatesOf(unit, facts.daemons[name], facts);
  const failing = all.find(({ passed }) => !passed);
  const isKept = failing !== undefined && !FOLLOWS.has(failing.gate) && whyDown(name, failing) !== undefined;
  const gates = isKept ? all.filter(({ gate, passed }) => passed || !FOLLOWS.has(gate)) : all;
  const since = failing === undefined ? facts.daemons[name].startedAt : failing.since;
  const verdict = failing === undefined ? `${name} runs and is well` : failingWords(name, failing);
  return { subject: name, kind: unit.kind, verdict, since, cause: rootOf(name, failing), gates };
}

/** The gate at which it ends. A few dead letters are no reason to call anybody. */
const rootOf = (name: string, failing: Gate | undefined): Cause | null =>
  failing === undefined
    ? null
    : causeOf(
        failing.gate === "dead_letters" ? "note" : "warn",
        `gate_${failing.gate}`,
        name,
        failingWords(name, failing),
        {
          actual: failing.actual,
          required: failing.required,
          since: failing.since,
          advice: failing.advice ?? null,
        },
      );

/** Why it does not run, where that is what the gate says. */
function whyDown(it: string, { gate, actual }: Gate): string | undefined {
  const [kind = "", ...of] = gate.split(":");
  return DOWN[kind]?.(it, actual, of.join(":"));
}

const whyNotWell = ({ gate, actual }: Gate): string => UP[gate]?.(actual) ?? String(actual);

const failingWords = (name: string, failing: Gate): string =>
  whyDown("it", failing) === undefined
    ? `${name} runs, but ${whyNotWell(failing)}`
    : `${name} does not run: ${whyDown("it", failing)}`;

/** The unit that a name, an old name or a daemon type means. */
function nameOf(subject: string, { units }: WhyFacts): string | Why {
  const byOtherName = units.find((unit) => unit.name === subject || unit.alsoKnownAs.includes(subject));
  if (byOtherName !== undefined) return byOtherName.name;
  try {
    return resolveDaemon(subject, units).name;
  } catch (thrown) {
    if (isOperatingError(thrown, "DAEMON_NOT_BUILT")) return notBuilt(subject, thrown.message, thrown.hint ?? null);
    const near = [...units.flatMap((unit) => [unit.name, ...unit.alsoKnownAs]), ...Object.keys(daemonTypes)];
    throw OperatingError.notFound(
      "UNKNOWN_UNIT",
      `there is no config, job, node, file, daemon or unit '${subject}'.${didYouMean(subject, near)}`,
      {
        hint: "'/v1/units' lists the units of this process.",
      },
    );
  }
}

function notBuilt(subject: string, actual: string, hint: string | null): Why {
  const gate: Gate = { gate: "registered", passed: false, actual, required: "registered here", since: null, hint };
  const verdict = failingWords(subject, gate);
  return { subject, kind: "not_built", verdict, since: null, cause: rootOf(subject, gate), gates: [gate] };
}

function gatesOf(unit: Declaration, info: DaemonInfo, facts: WhyFacts): Gate[] {
  const { now, limits, profile } = facts;
  const { name } = unit;
  const changedAt = (type: string) => info.conditions.find((condition) => condition.type === type)?.lastTransitionAt;
  const status = facts.status(name);
  const isUp = info.state === "running" || info.state === "degraded";
  const consumer = consumerOf(unit, facts.nodeId);
  const letters = facts.deadLetters(consumer);
  const beatAt = facts.beats.get(name);
  const backoffMs = info.restartAt === null ? 0 : Math.max(0, info.restartAt - now);
  const inProfile = profile === undefined || profile.members.includes(name);

  const mayRun: Gate[] = [
    gateOf("registered", { passed: true, actual: "registered", required: "registered here" }),
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
      actual: info.wanted ? "wanted" : "not enabled, or stopped",
      required: "wanted",
      since: changedAt("Ready"),
      hint: { action: "start", subject: name },
    }),
    gateOf("not_given_up", {
      passed: info.permanentFailure === null,
      actual: info.permanentFailure?.reason ?? `${info.restarts} of ${info.maxRestarts} restarts spent`,
      required: "not permanently failed",
      since: info.permanentFailure?.at,
      hint: { action: "reset", subject: name },
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
      hint: { action: "show", subject: name },
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
      hint: { action: "list", subject: name },
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
      hint: { action: "letters", subject: consumer },
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
    return [gateOf("not_held", { passed: true, actual: "nothing holds it", required: "no hold" })];
  return info.holds.map(({ hold, reason, actor, since }) =>
    gateOf(`held_by:${hold}`, {
      passed: false,
      actual: reason,
      required: "no hold",
      since,
      hint:
        hold === OPERATOR_HOLD
          ? { action: "resume", subject: info.name }
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
    });
  const unit = facts.units.find(({ name }) => name === on);
  const deeper = unit === undefined || path.includes(on) ? undefined : gatesOfDependency(unit, info, facts, trail);
  const root = deeper === undefined ? undefined : whyDown(on, deeper);
  const actual = root === undefined ? `${on}, which is ${info.state}` : `${on}; ${root}`;
  return gateOf(gate, {
    passed: false,
    actual,
    required,
    since: deeper?.since,
    hint: deeper?.advice ?? deeper?.hint ?? { action: "why", subject: on },
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

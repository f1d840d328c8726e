/** Which components do their work. Alive is not enough: a loop has a deadline, and who is expected has to report. Pure. */
import type { Registry, UnitRuntime } from "../../daemons/index.ts";
import type { BreakerState } from "../../kernel/index.ts";
import { isIll } from "../node-health/conditions.ts";
import type { NodeView } from "../nodes/node-view.ts";
import { breakerDefaults, breakerState, type ComponentBreaker } from "./component-breaker.ts";
import type { ComponentRow } from "./health-rows.ts";

/** What the runtime of this process knows of one of its units. */
export interface ComponentWork {
  readonly component: string;
  /** Pause between two rounds of its loop; null for one that only answers events. */
  readonly everyMs: number | null;
  /** When its loop last ended well, in milliseconds since the epoch; null before that. */
  readonly lastWorkAt: number | null;
  readonly health: "running" | "degraded" | "stopped";
  readonly message: string;
  /** Whether another unit keeps it from running for now: it does nothing by a decision, and is not ill. */
  readonly heldBack: boolean;
  /** The unit at the root of what it waits for, where only that keeps it from running. */
  readonly waitsFor?: string | undefined;
}

/** What the units that run here have done, for whoever judges them. */
export function componentWork(
  registry: Pick<Registry, "units">,
  units: Pick<UnitRuntime, "status" | "outcomes" | "heldBack" | "waiting">,
): ComponentWork[] {
  const heldBack = units.heldBack();
  const roots = units.waiting();
  const running = new Set(units.outcomes().map(({ name }) => name));
  return units
    .status()
    .filter(({ name }) => running.has(name))
    .map(({ name, status: health, message, last_tick_at }) => ({
      component: name,
      everyMs: registry.units.find((unit) => unit.name === name)?.everyMs ?? null,
      lastWorkAt: last_tick_at,
      health,
      message,
      heldBack: heldBack.has(name),
      waitsFor: roots.get(name),
    }));
}

/** The last word of a unit of any node. */
export interface Beat extends Pick<ComponentWork, "health" | "message"> {
  readonly at: number;
}

export interface ComponentRecord extends Omit<ComponentRow, "breaker"> {
  readonly state: ComponentBreaker;
}

export interface ComponentVerdict extends Omit<ComponentRow, "breaker" | "critical"> {
  readonly breaker: BreakerState;
  readonly critical: boolean;
  /** Why it counts as bad; null when it does its work. */
  readonly bad: string | null;
  /** The component that is bad in its place: this one only waits for it. */
  readonly because: string | null;
}

export interface ComponentFacts {
  readonly now: number;
  /** Since when health is judged here: before its deadline nobody is late. */
  readonly startedAt: number;
  readonly work: readonly ComponentWork[];
  readonly beats: ReadonlyMap<string, Beat>;
  readonly records: readonly ComponentRecord[];
  readonly critical: ReadonlySet<string>;
}

/** A sign of life older than this is none. */
const SILENT_AFTER_MS = 300_000;
const MIN_DEADLINE_MS = 60_000;
/** What was given up and belongs to nobody any more, as after an upgrade, is forgotten after this. */
const FORGOTTEN_AFTER_MS = 7 * 86_400_000;

/** When a loop must have done a round: three of its pauses, and never less than a minute. */
const deadlineMs = (everyMs: number): number => Math.max(MIN_DEADLINE_MS, 3 * everyMs);

const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

function lateness(
  { everyMs, lastWorkAt, health, message, heldBack }: ComponentWork,
  facts: ComponentFacts,
): string | null {
  if (heldBack) return null;
  if (health === "stopped") return message === "" ? "stopped" : message;
  if (everyMs === null) return null;
  const quietMs = facts.now - Math.max(lastWorkAt ?? 0, facts.startedAt);
  if (quietMs <= deadlineMs(everyMs)) return null;
  return lastWorkAt === null
    ? "its loop has never done a round"
    : `its loop has done no round for ${seconds(facts.now - lastWorkAt)}`;
}

const silence = ({ at, health, message }: Beat, facts: ComponentFacts): string | null => {
  if (facts.now - Math.max(at, facts.startedAt) > SILENT_AFTER_MS)
    return `it has not reported for ${seconds(facts.now - at)}`;
  return health === "stopped" ? message || "stopped" : null;
};

const SHOWN_WAITING = 10;

const waitingWords = (names: readonly string[]): string => {
  const shown = names.slice(0, SHOWN_WAITING).join(", ");
  const more = names.length > SHOWN_WAITING ? ` and ${names.length - SHOWN_WAITING} more` : "";
  return `${names.length === 1 ? "1 daemon waits" : `${names.length} daemons wait`} for it: ${shown}${more}`;
};

/** One cause is told once: whoever only waits for another one counts, and that one speaks for all of them. */
function foldWaiting(
  verdicts: readonly ComponentVerdict[],
  work: ReadonlyMap<string, ComponentWork>,
): ComponentVerdict[] {
  const rootOf = ({ component, bad }: ComponentVerdict) => {
    const root = bad === null ? undefined : work.get(component)?.waitsFor;
    return root === undefined ? undefined : work.get(root);
  };
  const waiting = Map.groupBy(
    verdicts.filter((verdict) => rootOf(verdict) !== undefined),
    (verdict) => rootOf(verdict)!.component,
  );
  return verdicts.map((verdict) => {
    const root = rootOf(verdict);
    // What another unit keeps from running for now makes nobody ill.
    if (root !== undefined) return root.heldBack ? { ...verdict, bad: null } : { ...verdict, because: root.component };
    const those = waiting.get(verdict.component);
    if (those === undefined || work.get(verdict.component)?.heldBack === true) return verdict;
    const names = those.map(({ component }) => component);
    return { ...verdict, bad: `${verdict.bad ?? "it is not running"}; ${waitingWords(names)}` };
  });
}

export function judgeComponents(facts: ComponentFacts): ComponentVerdict[] {
  const work = new Map(facts.work.map((each) => [each.component, each]));
  const isForgotten = ({ component, last_error_at }: ComponentRecord) =>
    !work.has(component) && !facts.beats.has(component) && facts.now - (last_error_at ?? 0) > FORGOTTEN_AFTER_MS;
  const records = new Map(
    facts.records.filter((record) => !isForgotten(record)).map((record) => [record.component, record]),
  );
  const names = new Set([...work.keys(), ...facts.beats.keys(), ...records.keys()]);
  const verdicts = [...names].sort().map((component) => {
    const record = records.get(component);
    const beat = facts.beats.get(component);
    const unit = work.get(component);
    const breaker = record === undefined ? "closed" : breakerState(record.state, facts.now, breakerDefaults);
    const bad =
      (breaker === "open"
        ? `${record?.state.held ? "it is out of work" : "it fails again and again"}: ${record?.last_error}`
        : null) ??
      (unit === undefined ? null : lateness(unit, facts)) ??
      // Of a unit that runs here its own process knows more than its last word.
      (beat === undefined || unit !== undefined ? null : silence(beat, facts));
    return {
      component,
      breaker,
      errors: record?.errors ?? 0,
      last_error: record?.last_error ?? null,
      last_error_at: record?.last_error_at ?? null,
      critical: facts.critical.has(component.split("@", 1)[0]!) || record?.critical === 1,
      bad,
      because: null,
    };
  });
  return foldWaiting(verdicts, work);
}

/**
 * Whoever has come and has not left is expected; missing is who is dead by the register, or ill by its checks. The node
 * that judges is there: it does not wait for its own first beat.
 */
export function judgeNodes(nodes: readonly Pick<NodeView, "node_id" | "label" | "state" | "health">[], here: string) {
  const own = nodes.find(({ node_id }) => node_id === here);
  const self = { node_id: here, label: own?.label ?? here, state: "online", health: own?.health };
  const others = nodes.filter(({ node_id, state }) => node_id !== here && state !== "joined" && state !== "left");
  const expected = [self, ...others];
  const missing = expected.filter(({ state, health }) => state === "dead" || isIll(health?.condition ?? "healthy"));
  return {
    known: expected.length,
    online: expected.length - missing.length,
    missing: missing.map(({ label }) => label),
    late: expected.filter((node) => node.state === "suspect" && !missing.includes(node)).map(({ label }) => label),
  };
}

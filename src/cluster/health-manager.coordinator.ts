import { criticalDaemons, defineCoordinator, defineDaemon, onEach, type UnitContext } from "../daemons/index.ts";
import { canonicalJson } from "../kernel/index.ts";
import type { AnyEvent, Operation, Store } from "../router/index.ts";
import { fill } from "./alerts/judge.ts";
import {
  type Beat,
  type ComponentVerdict,
  type ComponentWork,
  judgeComponents,
  judgeNodes,
} from "./health/components.ts";
import {
  errorsSince,
  forgetNodes,
  noteFailure,
  noteNode,
  noteRecovery,
  noteWell,
  recoveriesSince,
  storedComponents,
  storedNodes,
} from "./health/health-rows.ts";
import { type HealthEvent, healthEvents, heardByHealth, type Meaning } from "./health/heard.ts";
import { gatesOf, judgePause, type PausePolicy, pauseDefaults, type SystemStatus, statusOf } from "./health/pause.ts";
import { type HealthFacts, scoreOf } from "./health/score.ts";
import { type StoredVerdict, storedVerdict, verdicts } from "./health/system-health.ts";

export interface HealthManagerSettings extends PausePolicy {
  readonly everyMs: number;
  /** An unchanged judgement is written down again after this, as a sign of life. */
  readonly renewMs: number;
  /** Work that was paused for so long calls a person. */
  readonly escalateAfterMs: number;
  /** Better news is told when it has lasted so long. */
  readonly settleMs: number;
}

export const healthManagerDefaults: HealthManagerSettings = {
  ...pauseDefaults,
  everyMs: 5_000,
  renewMs: 30_000,
  escalateAfterMs: 900_000,
  settleMs: 60_000,
};

export interface HealthManagerPorts {
  readonly nodeId: string;
  readonly store: Store;
  /** What the runtime of this process knows of its units: who is expected here, and what each has done. */
  readonly work: () => readonly ComponentWork[];
  readonly settings?: Partial<HealthManagerSettings>;
}

interface Cache {
  /** Since when it has judged without a break: nobody is late for a time in which the machine slept. */
  startedAt: number;
  judgedAt: number;
  /** The last word of units that speak from other nodes, by unit and node. */
  readonly beats: Map<string, Beat>;
  /** When each node was last heard, and what of that is written down. */
  readonly heard: Map<string, { at: number; savedAt: number }>;
}

type Context = UnitContext<"HEALTH_ALERT", unknown, Cache>;

/** A pause between two looks that says that the machine slept or the loop was blocked. */
const BREAK_MS = 30_000;
const ERROR_WINDOW_MS = 300_000;
const RECOVERY_WINDOW_MS = 86_400_000;
const RECOVERY_OVERDUE_MS = 3_600_000;
const SAVE_HEARD_MS = 60_000;
const FORGET_NODE_MS = 86_400_000;
const MOST_BEATS = 10_000;
const SHOWN_COMPONENTS = 200;
const MOST_TEXT = 500;
const CRITICAL = new Set(criticalDaemons);
const RANK: readonly SystemStatus[] = ["healthy", "degraded", "unhealthy"];
const SEVERITY = { healthy: "info", degraded: "warning", unhealthy: "critical" } as const;

const isWorse = (one: SystemStatus, other: SystemStatus) => RANK.indexOf(one) > RANK.indexOf(other);
const clock = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

/** What an event writes down. Texts are bounded: they come from others. */
function operationsOf(eventType: HealthEvent, event: AnyEvent, at: number): Operation[] {
  const payload = event.payload as Readonly<Record<string, unknown>>;
  const meaning: Meaning = heardByHealth[eventType];
  const text = (template: string) => fill(template, payload, MOST_TEXT);
  const node_id = typeof payload.node_id === "string" ? payload.node_id : undefined;
  switch (meaning.kind) {
    case "failure": {
      const component = text(meaning.component).slice(0, 200);
      if (meaning.when !== undefined && payload[meaning.when.field] !== meaning.when.is)
        return meaning.orWell ? [noteWell({ component, at })] : [];
      const own = payload.severity;
      if (meaning.severity === "own" && own === "info") return [];
      const severity =
        meaning.severity === "own" ? (own === "warning" || own === "critical" ? own : "error") : meaning.severity;
      const { eventId: event_id } = event;
      const held = meaning.held ?? false;
      return [
        noteFailure({ component, severity, error: text(meaning.text), held, event_type: eventType, event_id, at }),
      ];
    }
    case "well":
      return [noteWell({ component: text(meaning.component).slice(0, 200), at })];
    case "node":
      return node_id === undefined ? [] : [noteNode({ node_id, state: meaning.state, reason: text(meaning.text), at })];
    case "recovery":
      return node_id === undefined
        ? []
        : [noteRecovery({ node_id, step: meaning.step, action: text(meaning.text), at })];
    case "gone":
    case "beat":
      return [];
  }
}

/**
 * Owns the health of the system: one score, one verdict on new work with its reasons, errors and repairs as bounded rows, and
 * the call for a person. What it stores says when it was judged, so that a dead judge leaves no good word behind.
 */
export const healthManagerCoordinator = ({ nodeId, store, work, settings: given = {} }: HealthManagerPorts) => {
  const settings = { ...healthManagerDefaults, ...given };

  const beat = (event: AnyEvent, { cache, now }: Context) => {
    const { coordinator_name, node_id, health, message = "" } = event.payload as Readonly<Record<string, string>>;
    if (typeof coordinator_name !== "string" || typeof node_id !== "string") return;
    cache.heard.set(node_id, { at: now, savedAt: cache.heard.get(node_id)?.savedAt ?? 0 });
    // Units of this process are judged by what they did, not by their own word.
    if (node_id === nodeId || cache.beats.size >= MOST_BEATS) return;
    cache.beats.set(`${coordinator_name}@${node_id}`, { at: now, health: health as Beat["health"], message });
  };

  const hear = (event: AnyEvent, context: Context) => {
    const eventType = event.eventType as HealthEvent;
    const meaning: Meaning = heardByHealth[eventType];
    for (const operation of operationsOf(eventType, event, context.now)) context.rows.apply(operation);
    if (meaning.kind === "beat") context.afterCommit(() => beat(event, context));
    if (meaning.kind === "gone") {
      const payload = event.payload as Readonly<Record<string, unknown>>;
      const name = `${fill(meaning.component, payload, MOST_TEXT)}@${payload.node_id}`;
      context.afterCommit(() => void context.cache.beats.delete(name));
    }
  };

  const factsOf = (cache: Cache, now: number): { facts: HealthFacts; components: ComponentVerdict[] } => {
    const { startedAt } = cache;
    const nodes = new Map(storedNodes(store).map((row) => [row.node_id, row]));
    for (const [node_id, { at }] of cache.heard) {
      const known = nodes.get(node_id);
      nodes.set(node_id, {
        node_id,
        state: known?.state ?? "online",
        reason: known?.reason ?? "",
        heard_at: Math.max(known?.heard_at ?? 0, at),
      });
    }
    const components = judgeComponents({
      now,
      startedAt,
      work: work(),
      beats: cache.beats,
      records: storedComponents(store),
      critical: CRITICAL,
    });
    const bad = components.filter((component) => component.bad !== null);
    return {
      components,
      facts: {
        nodes: judgeNodes([...nodes.values()], now, startedAt),
        components: {
          known: components.length,
          badCritical: bad.filter(({ critical }) => critical).map(({ component }) => component),
          badOther: bad.filter(({ critical }) => !critical).map(({ component }) => component),
        },
        errors: errorsSince(store, now - ERROR_WINDOW_MS),
        recoveries: recoveriesSince(store, now - RECOVERY_WINDOW_MS, now - RECOVERY_OVERDUE_MS),
      },
    };
  };

  /** Tells of components that turned bad or well since operators were last told. */
  const tellComponents = (
    before: readonly string[],
    components: readonly ComponentVerdict[],
    { emit, now }: Context,
  ) => {
    const bad = components.filter((component) => component.bad !== null);
    for (const { component, bad: why, critical } of bad)
      if (!before.includes(component))
        emit.HEALTH_ALERT({
          component,
          severity: critical ? "critical" : "error",
          message: `${why} (since ${clock(now)})`.slice(0, 2_000),
          node_id: nodeId,
        });
    const names = bad.map(({ component }) => component);
    for (const component of before)
      if (!names.includes(component))
        emit.HEALTH_ALERT({
          component,
          severity: "info",
          message: `it does its work again (since ${clock(now)})`,
          node_id: nodeId,
        });
    return names;
  };

  const judge = (context: Context) => {
    const { cache, now, rows, emit, log } = context;
    const before = storedVerdict(store);
    const { facts, components } = factsOf(cache, now);
    const { score, parts } = scoreOf(facts);
    const paused =
      before === undefined
        ? { accepts: true, since: now, wellSince: null }
        : {
            accepts: before.accepts_new_work,
            since: before.since,
            // Time in which nobody judged proves nothing.
            wellSince: now - before.judged_at > settings.resumeAfterMs ? null : before.well_since,
          };
    const gates = gatesOf(score, facts, paused.accepts, settings);
    const pause = judgePause(paused, gates, now, settings);
    const status = statusOf(score, pause.accepts, facts, settings);
    const failing = gates.filter(({ passed }) => !passed);
    const reasons = [
      ...failing.map(({ gate, actual, required, hint }) =>
        `${gate} is ${Math.round(actual * 100) / 100}, needed is ${required}. ${hint}`.trim(),
      ),
      ...(failing.length === 0 && !pause.accepts ? ["all is well; new work resumes when that has lasted"] : []),
      ...components.flatMap(({ component, bad }) => (bad === null ? [] : [`${component}: ${bad}`])).slice(0, 20),
    ];
    if (pause.accepts !== paused.accepts)
      log[pause.accepts ? "info" : "error"](pause.accepts ? "new work resumes" : "new work is paused", {
        score,
        reasons,
      });

    const told = before?.told_status ?? "healthy";
    const betterSince = isWorse(told, status) ? (before?.better_since ?? now) : null;
    const tell = isWorse(status, told) || (betterSince !== null && now - betterSince >= settings.settleMs);
    const escalate = !pause.accepts && !(before?.escalated ?? false) && now - pause.since >= settings.escalateAfterMs;
    if (tell || escalate)
      emit.HEALTH_ALERT({
        component: "system",
        severity: escalate ? "critical" : SEVERITY[status],
        message:
          `${escalate ? "new work has been paused for long" : `the system is ${status}`} (since ${clock(now)}): ${reasons.join("; ") || "all is well"}`.slice(
            0,
            2_000,
          ),
        node_id: nodeId,
        health_score: score / 100,
        ...(escalate ? { action: "A person has to look: 'ringrift status' shows what is wrong." } : {}),
      });
    const told_components = tellComponents(before?.told_components ?? [], components, context);
    const verdict: StoredVerdict = {
      status,
      score,
      accepts_new_work: pause.accepts,
      since: pause.since,
      reasons,
      parts,
      gates,
      components: [...components]
        .sort((a, b) => Number(b.bad !== null) - Number(a.bad !== null) || b.errors - a.errors)
        .slice(0, SHOWN_COMPONENTS)
        .map(({ component, breaker, errors, last_error, last_error_at }) => ({
          component,
          breaker,
          errors,
          last_error,
          last_error_at: last_error_at === null ? null : last_error_at / 1_000,
        })),
      recoveries: recoveriesSince(store, now - RECOVERY_WINDOW_MS, now - RECOVERY_OVERDUE_MS),
      judged_at: now,
      well_since: pause.wellSince,
      told_status: tell ? status : told,
      better_since: tell ? null : betterSince,
      told_components,
      escalated: pause.accepts ? false : (before?.escalated ?? false) || escalate,
    };
    const { judged_at, ...saying } = verdict;
    const same = before !== undefined && canonicalJson(saying) === canonicalJson(without(before));
    if (!same || judged_at - before.judged_at >= settings.renewMs) rows.put(verdicts, "system", verdict);
  };

  const saveHeard = ({ cache, now, rows, afterCommit }: Context) => {
    // Whoever judges is online.
    cache.heard.set(nodeId, { at: now, savedAt: cache.heard.get(nodeId)?.savedAt ?? 0 });
    const due = [...cache.heard].filter(([, { at, savedAt }]) => at - savedAt >= SAVE_HEARD_MS);
    for (const [node_id, { at }] of due) rows.apply(noteNode({ node_id, state: "heard", reason: "", at }));
    if (due.length > 0) rows.apply(forgetNodes({ heardBefore: now - FORGET_NODE_MS }));
    afterCommit(() => {
      for (const [node_id, { at }] of due) cache.heard.set(node_id, { at, savedAt: at });
      for (const [node_id, { at }] of cache.heard) if (now - at > FORGET_NODE_MS) cache.heard.delete(node_id);
      for (const [name, { at }] of cache.beats) if (now - at > FORGET_NODE_MS) cache.beats.delete(name);
    });
  };

  return defineDaemon({
    name: "health_manager",
    layer: 2,
    placement: "leader",
    alsoKnownAs: ["SYSTEM_HEALTH_MONITOR", "UnifiedHealthManager", "HealthFacade"],
    pattern: "WIRE",
    dependsOn: ["event_router"],
    emits: ["HEALTH_ALERT"],
    state: {
      tables: { verdicts },
      cache: (): Cache => ({ startedAt: 0, judgedAt: 0, beats: new Map(), heard: new Map() }),
    },
    on: onEach(healthEvents, hear as never),
    loop: {
      everyMs: settings.everyMs,
      tick(context) {
        const { cache, now } = context;
        if (now - cache.judgedAt > BREAK_MS || now < cache.judgedAt) cache.startedAt = now;
        cache.judgedAt = now;
        saveHeard(context);
        judge(context);
      },
    },
    health: ({ rows }) => {
      const verdict = rows.get(verdicts, "system") as StoredVerdict | undefined;
      // That the system is ill is not this unit's illness: it does its work by saying so.
      return verdict === undefined
        ? { status: "running", message: "" }
        : {
            status: "running",
            message: `the system is ${verdict.status}`,
            details: { score: verdict.score, accepts_new_work: verdict.accepts_new_work },
          };
    },
  });
};

const without = ({ judged_at: _, ...saying }: StoredVerdict) => saying;

/** Names of the Python system's registry that have no code of their own here. */
export const errorCoordinator = defineCoordinator({
  name: "error_coordinator",
  layer: 2,
  placement: "leader",
  pattern: "DELEGATE",
  delegatesTo: "health_manager",
  dependsOn: ["health_manager"],
  emits: [],
});

export const recoveryManager = defineCoordinator({
  name: "recovery_manager",
  layer: 2,
  placement: "leader",
  pattern: "SKIP",
  dependsOn: ["health_manager"],
  emits: [],
});

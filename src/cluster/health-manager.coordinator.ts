import { criticalDaemons, defineCoordinator, defineDaemon, onEach, type UnitContext } from "../daemons/index.ts";
import type { AnyEvent, Store } from "../router/index.ts";
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
  noteNode,
  recoveriesSince,
  storedComponents,
  storedNodes,
} from "./health/health-rows.ts";
import { type HealthEvent, healthEvents, heardByHealth, type Meaning } from "./health/heard.ts";
import { operationsOf } from "./health/operations.ts";
import type { HealthFacts } from "./health/score.ts";
import { type StoredVerdict, storedVerdict, verdicts } from "./health/system-health.ts";
import { nextVerdict, saysTheSame, type VerdictPolicy, verdictDefaults } from "./health/verdict.ts";

export interface HealthManagerSettings extends VerdictPolicy {
  readonly everyMs: number;
  /** An unchanged judgement is written down again after this, as a sign of life. */
  readonly renewMs: number;
}

export const healthManagerDefaults: HealthManagerSettings = { ...verdictDefaults, everyMs: 5_000, renewMs: 30_000 };

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
const MOST_TEXT = 500;
const CRITICAL = new Set(criticalDaemons);

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
    const name = `${coordinator_name}@${node_id}`;
    // Units of this process are judged by what they did, not by their own word.
    if (node_id === nodeId || (cache.beats.size >= MOST_BEATS && !cache.beats.has(name))) return;
    cache.beats.set(name, { at: now, health: health as Beat["health"], message });
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

  const judge = ({ cache, now, rows, emit, log }: Context) => {
    const before = storedVerdict(store);
    const { facts, components } = factsOf(cache, now);
    const recoveries = recoveriesSince(store, now - RECOVERY_WINDOW_MS, now - RECOVERY_OVERDUE_MS);
    const { verdict, alerts } = nextVerdict({ before, facts, components, recoveries, now, policy: settings });
    for (const alert of alerts) emit.HEALTH_ALERT({ ...alert, node_id: nodeId });
    const { accepts_new_work, score, reasons } = verdict;
    if (accepts_new_work !== (before?.accepts_new_work ?? true))
      log[accepts_new_work ? "info" : "error"](accepts_new_work ? "new work resumes" : "new work is paused", {
        score,
        reasons,
      });
    if (!saysTheSame(before, verdict) || now - before.judged_at >= settings.renewMs)
      rows.put(verdicts, "system", verdict);
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

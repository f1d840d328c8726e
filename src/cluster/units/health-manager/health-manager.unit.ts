import {
  type ContextOf,
  criticalDaemons,
  defineCoordinator,
  defineDaemon,
  onEach,
  type Wiring,
} from "../../../daemons/index.ts";
import type { AnyEvent } from "../../../router/index.ts";
import { fill } from "../../alerts/judge.ts";
import { type Beat, type ComponentVerdict, judgeComponents, judgeNodes } from "../../health/components.ts";
import { type HealthEvent, healthEvents, healthMeanings, type Meaning } from "../../health/health-events.ts";
import { errorsSince, recoveriesSince, storedComponents } from "../../health/health-rows.ts";
import { operationsOf } from "../../health/operations.ts";
import type { HealthFacts } from "../../health/score.ts";
import { nextVerdict, saysTheSame, verdictDefaults } from "../../health/verdict.ts";
import { healthLimits } from "../../limits.ts";
import type { ClusterServices } from "../../services.ts";
import { type StoredVerdict, storedVerdict, verdicts } from "../../views.ts";

const wiring = {
  name: "health_manager",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "health",
  daemonTypes: ["SYSTEM_HEALTH_MONITOR"],
  alsoKnownAs: ["UnifiedHealthManager", "HealthFacade"],
  pattern: "WIRE",
  dependsOn: ["event_router"],
  emits: ["HEALTH_ALERT"],
} as const satisfies Wiring;

interface Cache {
  /** Since when it has judged without a break: nobody is late for a time in which the machine slept. */
  startedAt: number;
  judgedAt: number;
  /** The last word of units that speak from other nodes, by unit and node. */
  readonly beats: Map<string, Beat>;
}

type Context = ContextOf<typeof wiring, Cache>;

const CRITICAL = new Set(criticalDaemons);

/**
 * Owns the health of the system: one score, one verdict with its reasons, errors and repairs as bounded rows, and the call for
 * a person. It tells, and stops nobody: a loop that works is worth more than one that waits until all is well. What it stores says when it was judged, so that a dead judge leaves no good word behind.
 */
export const healthManagerCoordinator = (
  { nodeId, store, work, nodes }: Pick<ClusterServices, "nodeId" | "store" | "work" | "nodes">,
  limits = healthLimits,
) => {
  const beat = (event: AnyEvent, { cache, now }: Context) => {
    const { coordinator_name, node_id, health, message = "" } = event.payload as Readonly<Record<string, string>>;
    if (typeof coordinator_name !== "string" || typeof node_id !== "string") return;
    const name = `${coordinator_name}@${node_id}`;
    // Units of this process are judged by what they did, not by their own word.
    if (node_id === nodeId || (cache.beats.size >= limits.maxBeats && !cache.beats.has(name))) return;
    cache.beats.set(name, { at: now, health: health as Beat["health"], message });
  };

  /** What is told of a node that nobody knows says nothing of ours. */
  const isOfStranger = ({ payload }: AnyEvent): boolean => {
    const { node_id } = payload as Readonly<Record<string, unknown>>;
    return typeof node_id === "string" && node_id !== nodeId && nodes.row(node_id) === undefined;
  };

  const hear = (event: AnyEvent, context: Context) => {
    if (isOfStranger(event)) return;
    const eventType = event.eventType as HealthEvent;
    const meaning: Meaning = healthMeanings[eventType];
    for (const operation of operationsOf(eventType, event, context.now)) context.rows.apply(operation);
    if (meaning.kind === "beat") context.afterCommit(() => beat(event, context));
    if (meaning.kind === "gone") {
      const payload = event.payload as Readonly<Record<string, unknown>>;
      const name = `${fill(meaning.component, payload, limits.maxText)}@${payload.node_id}`;
      context.afterCommit(() => void context.cache.beats.delete(name));
    }
  };

  const factsOf = (cache: Cache, now: number): { facts: HealthFacts; components: ComponentVerdict[] } => {
    const { startedAt } = cache;
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
        nodes: judgeNodes(nodes.list(), nodeId),
        components: {
          known: components.length,
          badCritical: bad.filter(({ critical }) => critical).map(({ component }) => component),
          badOther: bad.filter(({ critical }) => !critical).map(({ component }) => component),
        },
        errors: errorsSince(store, now - limits.errorWindowMs),
        recoveries: recoveriesSince(store, now - limits.recoveryWindowMs, now - limits.recoveryOverdueMs),
      },
    };
  };

  const judge = ({ cache, now, rows, emit, log }: Context) => {
    const before = storedVerdict(store);
    const { facts, components } = factsOf(cache, now);
    const { verdict, alerts } = nextVerdict({ before, facts, components, now, policy: verdictDefaults });
    for (const alert of alerts) emit.HEALTH_ALERT({ ...alert, node_id: nodeId });
    const { status, score, reasons } = verdict;
    if (status !== (before?.status ?? "healthy"))
      log[status === "unhealthy" ? "error" : "info"](`the system is ${status}`, { score, reasons });
    if (!saysTheSame(before, verdict) || now - before.judged_at >= limits.renewMs)
      rows.put(verdicts, "system", verdict);
  };

  const forgetBeats = ({ cache, now, afterCommit }: Context) =>
    afterCommit(() => {
      for (const [name, { at }] of cache.beats) if (now - at > limits.forgetNodeMs) cache.beats.delete(name);
    });

  return defineDaemon({
    ...wiring,
    state: {
      tables: { verdicts },
      cache: (): Cache => ({ startedAt: 0, judgedAt: 0, beats: new Map() }),
    },
    on: onEach(healthEvents, hear as never),
    loop: {
      everyMs: limits.everyMs,
      tick(context) {
        const { cache, now } = context;
        if (now - cache.judgedAt > limits.breakMs || now < cache.judgedAt) cache.startedAt = now;
        cache.judgedAt = now;
        forgetBeats(context);
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
            details: { score: verdict.score },
          };
    },
  });
};

/** Names of the Python system's registry that have no code of their own here. */
export const errorCoordinator = defineCoordinator({
  name: "error_coordinator",
  layer: 2,
  placement: "leader",
  feature: "health",
  pattern: "DELEGATE",
  delegatesTo: "health_manager",
  dependsOn: ["health_manager"],
  emits: [],
});

export const recoveryManager = defineCoordinator({
  name: "recovery_manager",
  layer: 2,
  placement: "leader",
  feature: "health",
  pattern: "SKIP",
  dependsOn: ["health_manager"],
  emits: [],
});

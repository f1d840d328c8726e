import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import { idleLimits } from "../../limits.ts";
import type { UsageReading } from "../../resources/usage-gauge.ts";
import type { ClusterServices } from "../../services.ts";
import { type IdleVerdict, judgeIdle } from "./decide.ts";

const wiring = {
  name: "idle_resource_daemon",
  layer: 7,
  placement: "each-node",
  profiles: ["coordinator", "training_node"],
  feature: "idle",
  daemonTypes: ["IDLE_RESOURCE"],
  alsoKnownAs: ["IdleResourceDaemon"],
  pattern: "IMPORT",
  dependsOn: ["resource_monitor"],
  emits: ["IDLE_RESOURCE_DETECTED", "IDLE_STATE_BROADCAST", "NODE_INCOMPATIBLE_WITH_WORKLOAD"],
} as const satisfies Wiring;

interface Cache {
  /** Since when it has been idle without a break; null while it is not. */
  since: number | null;
  /** What was told last, and when. */
  told: { readonly idle: boolean; readonly at: number } | null;
  detectedAt: number;
  /** Configs of which was told that they cannot run here. */
  misfits: readonly string[];
}
type Context = ContextOf<typeof wiring, Cache>;

const GIGABYTE = 1e9;

/** What an accelerator-less node has nothing to say of. */
function gpusOf({ sample: { gpus } }: UsageReading) {
  if (gpus.length === 0) return {};
  const sum = (of: (gpu: (typeof gpus)[number]) => number) => gpus.reduce((all, gpu) => all + of(gpu), 0);
  return {
    gpu_usage: sum(({ usage }) => usage) / gpus.length,
    gpu_memory_gb: sum(({ memoryTotalBytes }) => memoryTotalBytes) / GIGABYTE,
  };
}

/**
 * Finds that this node could do more than it does, and says so: whoever plans self-play then puts out more. It judges by the last
 * sample of `resource_monitor` and by what the worker here has room for, and starts nothing itself.
 */
export const idleResourceDaemon = (
  {
    nodeId,
    usage,
    ownWork,
    idleRequests,
    misfits = () => [],
  }: Pick<ClusterServices, "nodeId" | "usage" | "ownWork"> &
    Partial<Pick<ClusterServices, "idleRequests">> & {
      /** Configs whose jobs keep running out of something here; its worker knows them. */
      readonly misfits?: () => readonly string[];
    },
  limits = idleLimits,
) => {
  const broadcast = ({ emit, cache, now, afterCommit }: Context, reading: UsageReading, verdict: IdleVerdict) => {
    const since = cache.since;
    emit.IDLE_STATE_BROADCAST({
      node_id: nodeId,
      idle: verdict.idle,
      idle_seconds: since === null ? 0 : (now - since) / 1_000,
      running_tasks: ownWork()?.running ?? 0,
      free_slots: verdict.freeSlots,
      ...gpusOf(reading),
    });
    afterCommit(() => {
      cache.told = { idle: verdict.idle, at: now };
    });
  };

  /** A node that has too little for a config gets none of it any more; it may be idle just because of that. */
  const tellMisfits = ({ emit, cache, afterCommit }: Context) => {
    const found = misfits();
    const fresh = found.filter((config) => !cache.misfits.includes(config));
    if (fresh.length === 0) return;
    emit.NODE_INCOMPATIBLE_WITH_WORKLOAD({
      node_id: nodeId,
      config_keys: fresh as never,
      reason: "jobs of these configs ran out of memory, disk or processes here, three times in a row",
    });
    afterCommit(() => {
      cache.misfits = found;
    });
  };

  const look = (context: Context, isAsked: boolean) => {
    const { emit, cache, now, afterCommit } = context;
    tellMisfits(context);
    const reading = usage.measured();
    const work = ownWork();
    // Where nothing was measured, or no worker asks for jobs, there is nothing to be idle.
    if (reading === undefined || work === undefined) return;
    const { level, sample } = reading;
    const verdict = judgeIdle({ ...work, level, cpuUsage: sample.cpuUsage, gpus: sample.gpus });
    const since = verdict.idle ? (cache.since ?? now) : null;
    cache.since = since;
    const toldAt = cache.told?.at ?? Number.NEGATIVE_INFINITY;
    if (isAsked || cache.told?.idle !== verdict.idle || now - toldAt >= limits.tellEveryMs)
      broadcast(context, reading, verdict);
    if (since === null || now - since < limits.detectAfterMs || now - cache.detectedAt < limits.detectEveryMs) return;
    emit.IDLE_RESOURCE_DETECTED({
      node_id: nodeId,
      idle_seconds: (now - since) / 1_000,
      free_slots: verdict.freeSlots,
      ...gpusOf(reading),
    });
    afterCommit(() => {
      cache.detectedAt = now;
    });
  };

  return defineDaemon({
    ...wiring,
    state: {
      tables: {},
      cache: (): Cache => ({ since: null, told: null, detectedAt: Number.NEGATIVE_INFINITY, misfits: [] }),
    },
    on: {
      IDLE_STATE_REQUEST({ payload: { node_id } }, context: Context) {
        if (node_id === nodeId) look(context, true);
        // A joined node hears of it with the answer to its next sign of life.
        else idleRequests?.ask(node_id);
      },
    },
    loop: { everyMs: limits.everyMs, tick: (context) => look(context, usage.takeAsked()) },
    health: ({ cache }) => ({
      status: "running",
      message: "",
      details: { idle_since: cache.since === null ? null : cache.since / 1_000 },
    }),
  });
};

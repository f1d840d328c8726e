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
  emits: ["IDLE_RESOURCE_DETECTED", "IDLE_STATE_BROADCAST"],
} as const satisfies Wiring;

interface Cache {
  /** Since when it has been idle without a break; null while it is not. */
  since: number | null;
  /** What was told last, and when. */
  told: { readonly idle: boolean; readonly at: number } | null;
  detectedAt: number;
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
  }: Pick<ClusterServices, "nodeId" | "usage" | "ownWork"> & Partial<Pick<ClusterServices, "idleRequests">>,
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

  const look = (context: Context, isAsked: boolean) => {
    const { emit, cache, now, afterCommit } = context;
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
      cache: (): Cache => ({ since: null, told: null, detectedAt: Number.NEGATIVE_INFINITY }),
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

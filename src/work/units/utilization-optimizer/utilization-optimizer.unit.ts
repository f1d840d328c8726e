import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import { defined } from "../../../kernel/index.ts";
import type { StateTable } from "../../../router/index.ts";
import { isPreprocessing } from "../../claims/preprocessing.ts";
import { utilizationLimits } from "../../limits.ts";
import { beginForecast, forecastErrors, noteWork } from "../../load/forecast.ts";
import { addedWork, loadForecasts } from "../../load/load-forecast.ts";
import { nodeIdle, nodeSlots } from "../../node-policy.ts";
import type { WorkServices } from "../../services.ts";
import { slotsWords } from "../../slots-words.ts";
import { createWorkMeasure, isAsTold, type NodeUse, nextUse, slotsOf, type WorkMeasure } from "./node-use.ts";

const wiring = {
  name: "utilization_optimizer",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "jobs",
  daemonTypes: ["UTILIZATION_OPTIMIZER", "RESOURCE_OPTIMIZER", "ADAPTIVE_RESOURCES", "VAST_CPU_PIPELINE"],
  alsoKnownAs: [
    "UtilizationOptimizer",
    "LoadForecaster",
    "CPUPipelineOrchestrator",
    "ClusterActivator",
    "AdaptiveResourceManager",
  ],
  dependsOn: ["job_scheduler"],
  emits: ["NODE_ACTIVATED", "CPU_PIPELINE_JOB_COMPLETED"],
} as const satisfies Wiring;

interface Cache {
  readonly use: Map<string, NodeUse>;
  /** Jobs that ended on a node since its last sample, and their work. */
  readonly done: Map<string, { readonly jobs: number; readonly work: number }>;
  readonly measure: WorkMeasure;
}
type Context = ContextOf<typeof wiring, Cache>;

const ALL = "all";
const MINUTE = 60_000;

/**
 * Uses what is there: decides how many jobs each node does at once, by what other programs leave and by how many it does most work with;
 * foresees how much work comes; and tells when a node without accelerators has done preparing work, or an idle one was put to work.
 */
export const utilizationOptimizer = (
  { queue, settings: { targetUsage: target } }: Pick<WorkServices, "queue" | "settings">,
  limits = utilizationLimits,
) => {
  const forget = ({ rows, cache, afterCommit }: Context, nodeId: string) => {
    for (const table of [nodeSlots, nodeIdle] as StateTable[])
      if (rows.get(table, nodeId) !== undefined) rows.delete(table, nodeId);
    // Of a node that is new there is nothing to forget, and nothing is written that nobody would read.
    afterCommit(() => {
      for (const known of [cache.use, cache.done]) if (known.has(nodeId)) known.delete(nodeId);
    });
  };

  /** Since when it has had nothing to do; that it has again is told where it had nothing for long. */
  const noteIdle = ({ rows, emit, now }: Context, nodeId: string, gpuUsage: number | undefined) => {
    const [job] = queue.held(nodeId);
    const since = rows.get(nodeIdle, nodeId)?.since;
    if (job === undefined) {
      if (since == null) rows.put(nodeIdle, nodeId, { since: now });
      return;
    }
    if (since !== null) rows.put(nodeIdle, nodeId, { since: null });
    if (since == null || now - since < limits.activatedAfterMs) return;
    emit.NODE_ACTIVATED({
      node_id: nodeId,
      work_type: job.work_type,
      reason: `it had nothing to do for ${Math.round((now - since) / MINUTE)} min`,
      ...defined({ config_key: (job.config_key ?? undefined) as never, gpu_usage: gpuUsage }),
    });
  };

  return defineDaemon({
    ...wiring,
    state: {
      tables: { nodeSlots, nodeIdle, loadForecasts },
      cache: (): Cache => ({ use: new Map(), done: new Map(), measure: createWorkMeasure() }),
    },
    on: {
      HOST_ONLINE: ({ payload: { node_id } }, context: Context) => forget(context, node_id),
      NODE_CAPACITY_UPDATED({ payload }, context: Context) {
        const { rows, cache, now, log, afterCommit } = context;
        const { node_id, cpu_usage: usage, cpu_others: others, slots: cpus, gpu_usage } = payload;
        const held = queue.held(node_id).length;
        const max = Math.max(held, queue.workers.list().find((each) => each.node_id === node_id)?.all ?? 0);
        // Where nobody asks for jobs there is nothing to give out.
        if (max === 0) return;
        noteIdle(context, node_id, gpu_usage);
        const written = rows.get(nodeSlots, node_id);
        const { jobs: doneJobs = 0, work: doneWork = 0 } = cache.done.get(node_id) ?? {};
        const sample = { now, usage, others, cpus, held, max, doneJobs, doneWork };
        const state = nextUse(cache.use.get(node_id), written, sample, target);
        if (state === undefined) return;
        afterCommit(() => {
          if (cache.use.has(node_id) || cache.use.size < limits.maxNodes) cache.use.set(node_id, state);
          cache.done.delete(node_id);
        });
        const next = slotsOf(state, max, target, now);
        if (written !== undefined && isAsTold(written, next)) return;
        rows.put(nodeSlots, node_id, next);
        if (written?.slots !== next.slots) log.info(slotsWords(next), { node_id });
      },
      WORK_COMPLETED({ payload }, { emit, cache, afterCommit }: Context) {
        const { work_id, work_type, config_key, node_id, duration_seconds, result, artifact_hash } = payload;
        const games = (result as { readonly counts?: { readonly games?: unknown } }).counts?.games;
        const amount = typeof games === "number" ? games : 1;
        afterCommit(() => {
          const { jobs = 0, work = 0 } = cache.done.get(node_id) ?? {};
          if (jobs === 0 && cache.done.size >= limits.maxNodes) return;
          const sort = `${work_type}/${config_key ?? ""}`;
          const more = cache.measure.of(sort, amount, duration_seconds * 1_000);
          cache.done.set(node_id, { jobs: jobs + 1, work: work + more });
        });
        if (!isPreprocessing(work_type) || !queue.isWithoutGpus(node_id)) return;
        emit.CPU_PIPELINE_JOB_COMPLETED({
          ...{ work_id, work_type, node_id, duration_seconds },
          ...defined({ config_key, artifact_hash }),
        });
      },
      WORK_FAILED({ payload: { node_id } }, { cache, afterCommit }: Context) {
        const state = node_id === undefined ? undefined : cache.use.get(node_id);
        if (state === undefined) return;
        // Attempts that came to nothing took their time as well: what was measured beside them is no measure.
        const { window } = state.climb;
        const climb = { ...state.climb, window: { ...window, jobs: 0, work: 0, ms: 0 } };
        afterCommit(() => void cache.use.set(node_id!, { ...state, climb }));
      },
    },
    loop: {
      everyMs: limits.everyMs,
      async tick({ rows, now, signal }) {
        const known = rows.get(loadForecasts, ALL);
        const added = await queue.addedAfter(known?.seq ?? null, signal);
        const work = addedWork(added.sorts, (sort) => queue.usualMs(sort) ?? limits.unknownJobMs);
        rows.put(loadForecasts, ALL, {
          seq: added.seq,
          state: noteWork(known?.state ?? beginForecast(now), now, work),
        });
      },
    },
    health: ({ rows }) => {
      const state = rows.get(loadForecasts, ALL)?.state;
      const tuned = rows.list(nodeSlots).filter(([, { best, of }]) => best !== undefined && best < of);
      return {
        status: "running",
        message: "",
        details: {
          fewer_slots: Object.fromEntries(tuned.map(([node, { best, of }]) => [node, `${best} of ${of}`])),
          forecast_errors: state === undefined ? [] : forecastErrors(state),
        },
      };
    },
  });
};

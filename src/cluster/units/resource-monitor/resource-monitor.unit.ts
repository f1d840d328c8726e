import { defineDaemon, type Wiring } from "../../../daemons/index.ts";
import { defined } from "../../../kernel/index.ts";
import { defineTable } from "../../../router/index.ts";
import { resourceMonitorLimits } from "../../limits.ts";
import { type DiskPoint, forecastDefaults, fullInMs, withPoint } from "../../resources/disk-forecast.ts";
import {
  calm,
  type LevelState,
  type Limits,
  levelDefaults,
  patientLevels,
  RESOURCE_LEVELS,
  type ResourceLevel,
  stepLevel,
  thresholdOf,
} from "../../resources/levels.ts";
import { cpuShortageOf, diskUsageOf, gpuMemoryUsageOf, type ResourceSample } from "../../resources/sample.ts";
import type { ClusterServices } from "../../services.ts";
import type { ClusterSettings } from "../../settings.ts";

const wiring = {
  name: "resource_monitor",
  layer: 1,
  placement: "each-node",
  profiles: ["coordinator", "training_node"],
  daemonTypes: ["MEMORY_MONITOR"],
  alsoKnownAs: ["MemoryMonitorDaemon", "ResourceMonitor", "ResourceTargetManager"],
  dependsOn: ["event_router"],
  emits: [
    "METRICS_UPDATED",
    "NODE_CAPACITY_UPDATED",
    "RESOURCE_CONSTRAINT",
    "RESOURCE_CONSTRAINT_DETECTED",
    "MEMORY_PRESSURE",
    "NODE_OVERLOADED",
    "DISK_SPACE_LOW",
  ],
} as const satisfies Wiring;

type Resource = "cpu" | "memory" | "disk" | "gpu";

interface LevelRow {
  readonly level: ResourceLevel;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** The level of each resource, by node and resource: what was told last, so that a restart does not tell it again. */
const levels = defineTable<LevelRow & Record<string, string | number>>("resource_levels");

interface Cache {
  readonly levels: Map<Resource, LevelState>;
  points: readonly DiskPoint[];
  forecastEmittedAt: number;
  latest: ResourceSample | null;
  fullInMs: number | null;
}

const RESOURCES: readonly Resource[] = ["cpu", "memory", "disk", "gpu"];
const HOUR_MS = 3_600_000;
const GIGABYTE = 1e9;

const usageOf = (sample: ResourceSample): Readonly<Record<Resource, number>> => ({
  cpu: cpuShortageOf(sample),
  memory: sample.memory.usage,
  disk: diskUsageOf(sample.disk),
  gpu: gpuMemoryUsageOf(sample.gpus),
});

/** Everything measured, by name, for whoever draws it. */
const metricsOf = (sample: ResourceSample, fullIn: number | null): Record<string, number> => ({
  ...defined({ cpu_usage: sample.cpuUsage ?? undefined }),
  cpu_pressure: sample.cpuPressure,
  ...defined({ cpu_others: sample.cpuOthers ?? undefined }),
  memory_usage: sample.memory.usage,
  process_memory_bytes: sample.memory.rssBytes,
  disk_usage: diskUsageOf(sample.disk),
  disk_free_bytes: sample.disk.freeBytes,
  loop_delay_p99_ms: sample.loopDelayMs.p99,
  loop_delay_most_ms: sample.loopDelayMs.max,
  gpus: sample.gpus.length,
  ...(sample.gpus.length === 0 ? {} : { gpu_memory_usage: gpuMemoryUsageOf(sample.gpus) }),
  ...(fullIn === null ? {} : { disk_full_in_hours: fullIn / HOUR_MS }),
});

const meanGpuUsage = ({ gpus }: ResourceSample) => gpus.reduce((sum, { usage }) => sum + usage, 0) / gpus.length;

/**
 * Samples processors, memory, disk, accelerators and loop delay of its node, and says when a limit is crossed: each edge of
 * a level once (RESOURCE_CONSTRAINT), a hard limit as such (RESOURCE_CONSTRAINT_DETECTED), a load that should move away
 * (NODE_OVERLOADED), a disk that fills (DISK_SPACE_LOW), and memory for as long as it is short (MEMORY_PRESSURE).
 */
export const resourceMonitorDaemon = (
  {
    nodeId,
    sampler,
    settings,
    disk: gauge,
    usage: latest,
  }: Pick<ClusterServices, "nodeId" | "sampler" | "disk"> &
    Partial<Pick<ClusterServices, "usage">> & { readonly settings: Pick<ClusterSettings, "resources"> },
  own = resourceMonitorLimits,
) => {
  const limits: Readonly<Record<Resource, Limits>> = {
    cpu: settings.resources.cpu,
    memory: settings.resources.memory,
    disk: settings.resources.disk,
    gpu: own.gpuMemory,
  };
  const keyOf = (resource: Resource) => `${nodeId}/${resource}`;
  return defineDaemon({
    ...wiring,
    state: {
      tables: { levels },
      cache: (rows): Cache => ({
        levels: new Map(
          RESOURCES.map((resource) => [
            resource,
            { ...calm, level: rows.get(levels, keyOf(resource))?.level ?? "none" },
          ]),
        ),
        points: [],
        forecastEmittedAt: Number.NEGATIVE_INFINITY,
        latest: null,
        fullInMs: null,
      }),
    },
    loop: {
      everyMs: own.everyMs,
      async tick({ cache, rows, emit, now, log, signal, afterCommit }) {
        const sample = await sampler.sample(signal);
        const used = usageOf(sample);
        const next = new Map(
          RESOURCES.map((resource) => [
            resource,
            stepLevel(
              cache.levels.get(resource) ?? calm,
              used[resource],
              limits[resource],
              resource === "cpu" ? patientLevels : levelDefaults,
            ),
          ]),
        );
        for (const [resource, { level }] of next) {
          const before = cache.levels.get(resource)?.level ?? "none";
          const rose = level === "critical" || (level === "high" && before === "none");
          const threshold = thresholdOf(rose ? level : before, limits[resource]);
          const usage = used[resource];
          if (resource === "memory" && level !== "none")
            emit.MEMORY_PRESSURE({ node_id: nodeId, memory_kind: "ram", usage, threshold });
          if (resource === "gpu" && level !== "none")
            emit.MEMORY_PRESSURE({ node_id: nodeId, memory_kind: "gpu", usage, threshold });
          if (level === before) continue;
          rows.put(levels, keyOf(resource), { level, since: now });
          log[level === "none" ? "info" : "warn"]("a resource changed its level", { resource, level, before, usage });
          emit.RESOURCE_CONSTRAINT({ node_id: nodeId, resource, level, usage, threshold });
          if (level === "critical") emit.RESOURCE_CONSTRAINT_DETECTED({ node_id: nodeId, resource, usage, threshold });
          if (level === "critical" && (resource === "cpu" || resource === "memory"))
            emit.NODE_OVERLOADED({ node_id: nodeId, resource, usage, threshold });
          if (resource === "disk" && rose)
            emit.DISK_SPACE_LOW({
              node_id: nodeId,
              level,
              usage,
              free_gb: sample.disk.freeBytes / GIGABYTE,
              threshold,
            });
        }
        const points = withPoint(cache.points, { at: now, usedBytes: sample.disk.usedBytes }, forecastDefaults);
        const fullIn = fullInMs(points, sample.disk.freeBytes, forecastDefaults);
        const warns = fullIn !== null && fullIn < own.forecastWithinMs && now - cache.forecastEmittedAt >= HOUR_MS;
        if (warns) log.warn(`the disk of the data folder is full in about ${Math.round(fullIn / HOUR_MS)} hours`);
        emit.METRICS_UPDATED({ node_id: nodeId, metrics: metricsOf(sample, fullIn) });
        if (sample.cpuUsage !== null) {
          const slots = Math.max(1, Math.floor(sample.cpus));
          const full = [...next.values()].some(({ level }) => level === "critical");
          emit.NODE_CAPACITY_UPDATED({
            node_id: nodeId,
            cpu_usage: sample.cpuUsage,
            ...defined({ cpu_others: sample.cpuOthers === null ? undefined : Math.min(1, sample.cpuOthers) }),
            memory_usage: used.memory,
            disk_usage: used.disk,
            slots,
            free_slots: full ? 0 : Math.floor(slots * (1 - sample.cpuUsage)),
            ...(sample.gpus.length === 0
              ? {}
              : {
                  gpus: sample.gpus.length,
                  gpu_usage: meanGpuUsage(sample),
                  gpu_memory_gb: sample.gpus.reduce((sum, gpu) => sum + gpu.memoryTotalBytes, 0) / GIGABYTE,
                }),
          });
        }
        afterCommit(() => {
          for (const [resource, state] of next) cache.levels.set(resource, state);
          cache.points = points;
          cache.latest = sample;
          cache.fullInMs = fullIn;
          const { level = "none" } = next.get("disk") ?? {};
          const held = [...next.values()].map((state) => state.level);
          const worst = RESOURCE_LEVELS.findLast((one) => held.includes(one)) ?? "none";
          latest?.set({ sample, level: worst });
          gauge.set({ level, usage: used.disk, freeBytes: sample.disk.freeBytes, fullInMs: fullIn });
          if (warns) cache.forecastEmittedAt = now;
        });
      },
    },
    health: ({ cache }) => {
      const short = [...cache.levels].filter(([, { level }]) => level !== "none");
      const details = {
        levels: Object.fromEntries([...cache.levels].map(([resource, { level }]) => [resource, level])),
        ...(cache.latest === null ? {} : { metrics: metricsOf(cache.latest, cache.fullInMs) }),
      };
      // That a resource is short is the node's trouble, not this unit's; it does its work by telling.
      return {
        status: "running",
        message: short.map(([resource, { level }]) => `${resource} is ${level}`).join(", "),
        details,
      };
    },
    timeoutMs: 30_000,
  });
};

/** The daemon types whose work the room `work` does. */
import { storedNodePolicy } from "../../../src/work/node-policy.ts";
import { globalTaskCoordinator } from "../../../src/work/units/global-task-coordinator/global-task-coordinator.unit.ts";
import { jobScheduler } from "../../../src/work/units/job-scheduler/job-scheduler.unit.ts";
import { utilizationOptimizer } from "../../../src/work/units/utilization-optimizer/utilization-optimizer.unit.ts";
import { workQueueMonitor } from "../../../src/work/units/work-queue-monitor/work-queue-monitor.unit.ts";
import { workStorePart } from "../../../src/work/units.ts";
import { EVIDENCE, type Kind, PLENTY, workWorld } from "../work/work-world.ts";
import type { Scene, ShownTypes } from "./scene.ts";

const MINUTE = 60_000;

/** The units of the room, over claims that obey what they write down. */
async function world() {
  const holder: { policy?: ReturnType<typeof storedNodePolicy> } = {};
  const w = workWorld({ nodePolicy: (node, now) => holder.policy!(node, now) });
  holder.policy = storedNodePolicy(w.store);
  const { services } = w;
  await w.runtime(
    [globalTaskCoordinator(), workQueueMonitor(services), jobScheduler(services), utilizationOptimizer(services)],
    [workStorePart],
  );
  const publish = (type: string, payload: object) => w.router.publish(type, payload as never, { source: "test" });
  return { ...w, manager: w.manager(), publish };
}

const jobs = (work_type: Kind, count: number) =>
  Array.from({ length: count }, () => ({ work_type, config_key: "hex8_2p" }) as const);

/** Much waits, of several kinds. */
async function muchWaits(): Promise<Scene> {
  const w = await world();
  return {
    ...w,
    before: () => w.queue.addAll([...jobs("selfplay", 500), ...jobs("export", 450)]),
    live: () => w.pass(15_000),
    seen: () => w.said("BACKPRESSURE_ACTIVATED").map(({ payload }) => (payload as { scope: string }).scope),
    shows: ["work_queue"],
  };
}

async function batch(): Promise<Scene> {
  const w = await world();
  const about = { batch_id: "b1", config_key: "hex8_2p", work_type: "selfplay", jobs: 3, node_ids: ["a"] };
  return {
    ...w,
    before: () => w.publish("BATCH_SCHEDULED", { ...about, games_per_job: 50 }),
    live: () => w.pass(1_000),
    seen: () => w.queue.list({ batchId: "b1" }).map(({ state }) => state),
    shows: ["pending", "pending", "pending"],
  };
}

/** How many jobs a node does at once, while programs of others use a share of its processors. */
async function othersAreBusy(): Promise<Scene> {
  const w = await world();
  return {
    ...w,
    async live() {
      for (let n = 0; n < 12; n += 1) {
        w.queue.workers.asked({ node_id: "a", most: 4, offer: PLENTY });
        await w.publish("NODE_CAPACITY_UPDATED", {
          ...{ node_id: "a", cpu_usage: 0.5, cpu_others: 0.5, memory_usage: 0.5, disk_usage: 0.5, slots: 4 },
          free_slots: 0,
        });
        await w.pass(1_000);
      }
    },
    seen: () => w.queue.slots().get("a")?.slots ?? "as many as it likes",
    idle: "as many as it likes",
    shows: 2,
  };
}

/** What comes in an hour, and what is foreseen of it. */
async function loadComes(): Promise<Scene> {
  const w = await world();
  return {
    ...w,
    async live() {
      for (let n = 0; n < 14; n += 1) {
        await w.queue.addAll(jobs("selfplay", 10));
        await w.pass(5 * MINUTE);
      }
    },
    seen: () => w.queue.loadForecast([]).hours.some(({ slots }) => slots > 0),
    idle: false,
    shows: true,
  };
}

async function idleNode(): Promise<Scene> {
  const w = await world();
  const offer = { ...PLENTY, gpu: 0 };
  const sample = async () => {
    w.queue.workers.asked({ node_id: "a", most: 4, offer });
    await w.publish("NODE_CAPACITY_UPDATED", {
      ...{ node_id: "a", cpu_usage: 0.1, memory_usage: 0.1, disk_usage: 0.1, slots: 4, free_slots: 4 },
    });
    await w.pass(MINUTE);
  };
  return {
    ...w,
    async live() {
      for (let n = 0; n < 7; n += 1) await sample();
      await w.queue.add(jobs("selfplay", 1)[0]!);
      const leases = await w.queue.claim({ node_id: "a", most: 1, offer });
      await sample();
      for (const lease of leases) {
        await w.queue.start(lease);
        await w.queue.complete(lease, EVIDENCE);
      }
    },
    seen: () => w.said("NODE_ACTIVATED").map(({ payload }) => (payload as { node_id: string }).node_id),
    shows: ["a"],
  };
}

async function preparingWork(): Promise<Scene> {
  const w = await world();
  const ask = (node_id: string, gpu: number) => w.queue.claim({ node_id, most: 1, offer: { ...PLENTY, gpu } });
  return {
    ...w,
    async before() {
      for (const [node_id, gpu] of [
        ["cpu", 0],
        ["gpu", 1],
      ] as const)
        w.queue.workers.asked({ node_id, most: 1, offer: { ...PLENTY, gpu } });
      await w.queue.add({ work_type: "export" });
      // Whoever has accelerators leaves it to the other.
      const [[lease], others] = [await ask("cpu", 0), await ask("gpu", 1)];
      if (others.length > 0) throw new Error("a node with accelerators took it");
      await w.queue.start(lease!);
      await w.queue.complete(lease!, { ...EVIDENCE, counts: { rows: 5 } });
    },
    live: () => w.pass(1_000),
    seen: () => w.said("CPU_PIPELINE_JOB_COMPLETED").map(({ payload }) => (payload as { node_id: string }).node_id),
    shows: ["cpu"],
  };
}

const UTILIZATION = "utilization_optimizer";

export const ofWork = {
  WORK_QUEUE_MONITOR: { unit: "work_queue_monitor", does: "raises pressure when much waits", open: muchWaits },
  QUEUE_MONITOR: { unit: "work_queue_monitor", does: "measures one pressure over jobs of all kinds", open: muchWaits },
  JOB_SCHEDULER: { unit: "job_scheduler", does: "hands out a batch", open: batch },
  UTILIZATION_OPTIMIZER: { unit: UTILIZATION, does: "tells when an idle node was put to work", open: idleNode },
  RESOURCE_OPTIMIZER: { unit: UTILIZATION, does: "leaves room for programs of others", open: othersAreBusy },
  ADAPTIVE_RESOURCES: { unit: UTILIZATION, does: "foresees how much work comes", open: loadComes },
  VAST_CPU_PIPELINE: {
    unit: UTILIZATION,
    does: "tells what nodes without accelerators have prepared",
    open: preparingWork,
  },
} satisfies ShownTypes;

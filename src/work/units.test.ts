import { afterEach, describe, expect, test } from "vitest";
import { EVIDENCE, PLENTY, type WorkWorld, workWorld } from "../../test/unit/work/work-world.ts";
import { defineCoordinator } from "../daemons/index.ts";
import { Durations } from "./job/durations.ts";
import { jobReaperLimits } from "./limits.ts";
import { storedNodePolicy } from "./node-policy.ts";
import { globalTaskCoordinator } from "./units/global-task-coordinator/global-task-coordinator.unit.ts";
import { jobReaper } from "./units/job-reaper/job-reaper.unit.ts";
import { jobScheduler } from "./units/job-scheduler/job-scheduler.unit.ts";
import { SILENT_MS, STOPPING_MS, stuckTasks, taskCoordinator } from "./units/task-coordinator/task-coordinator.unit.ts";
import { utilizationOptimizer } from "./units/utilization-optimizer/utilization-optimizer.unit.ts";
import { workQueueMonitor } from "./units/work-queue-monitor/work-queue-monitor.unit.ts";
import { workStorePart, workUnits } from "./units.ts";

const worlds: WorkWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = (options: Parameters<typeof workWorld>[0] = {}): WorkWorld => {
  const opened = workWorld(options);
  worlds.push(opened);
  return opened;
};
/** A world whose claims obey what the units have written down. */
const guarded = (): WorkWorld => {
  const holder: { policy?: ReturnType<typeof storedNodePolicy> } = {};
  const w = world({ nodePolicy: (node, now) => holder.policy!(node, now) });
  holder.policy = storedNodePolicy(w.store);
  return w;
};
const selfplay = (config: string, more: object = {}) =>
  ({ work_type: "selfplay", config_key: `${config}_2p`, ...more }) as const;
const publish = async (w: WorkWorld, type: string, payload: object) => {
  const event = await w.router.publish(type, payload as never, { source: "test" });
  await w.driven(w.router.settled(event));
};
const detailsOf = (runtime: Awaited<ReturnType<WorkWorld["runtime"]>>, name: string) =>
  runtime.status().find((unit) => unit.name === name)?.details;
const MINUTE = 60_000;

describe("work_queue_monitor", () => {
  test("counts no time in which nobody was there: jobs of yesterday are no pressure after a start", async () => {
    const w = world();
    await w.queue.add(selfplay("a"));
    await w.pass(3_600_000);
    const queue = w.open();
    await w.runtime([workQueueMonitor({ ...w.services, queue })]);
    await w.pass(60_000);
    expect(w.said("BACKPRESSURE_ACTIVATED")).toEqual([]);
    await w.pass(3_600_000);
    expect(w.said("BACKPRESSURE_ACTIVATED")).not.toEqual([]);
  });

  test("a level of an earlier process falls at once when its cause is over, not step by step", async () => {
    const w = world();
    const first = await w.runtime([workQueueMonitor(w.services)]);
    await w.queue.addAll(Array.from({ length: 950 }, () => selfplay("a")));
    await w.pass(10_000);
    await w.driven(first.stop());
    const leases = await w.queue.claim({ node_id: "a", most: 950, offer: PLENTY });
    await w.queue.completeAll(leases.map((ref) => ({ ref, evidence: EVIDENCE })));
    await w.runtime([workQueueMonitor({ ...w.services, queue: w.open() })]);
    await w.pass(10_000);
    expect(w.said("BACKPRESSURE_RELEASED").map(({ payload }) => [payload.previous_level, payload.level])).toEqual([
      ["hard", "none"],
    ]);
  });

  test("raises pressure when much waits, and lifts it step by step when it has gone", async () => {
    const w = world();
    await w.runtime([workQueueMonitor(w.services)]);
    await w.queue.addAll(Array.from({ length: 950 }, () => selfplay("a")));
    await w.pass(10_000);
    expect(w.said("BACKPRESSURE_ACTIVATED").map(({ payload }) => payload)).toEqual([
      expect.objectContaining({
        scope: "work_queue",
        level: "hard",
        resource_level: "high",
        previous_level: "none",
        rate_multiplier: 0.1,
        queue_depth: 950,
      }),
    ]);
    const leases = await w.queue.claim({ node_id: "a", most: 900, offer: PLENTY });
    await w.queue.completeAll(leases.map((ref) => ({ ref, evidence: EVIDENCE })));
    await w.pass(30_000);
    expect(w.said("BACKPRESSURE_RELEASED")).toEqual([]);
    await w.pass(5 * MINUTE);
    expect(w.said("BACKPRESSURE_RELEASED").map(({ payload }) => [payload.previous_level, payload.level])).toEqual([
      ["hard", "soft"],
      ["soft", "none"],
    ]);
  });

  test("says within a minute what nobody who is there may take, why, and when it is over", async () => {
    const w = world();
    await w.runtime([workQueueMonitor(w.services)]);
    await w.pass(MINUTE);
    const { work_id } = await w.queue.add(selfplay("a", { excluded_nodes: ["box"] }));
    await w.queue.add({ work_type: "training", config_key: "a_2p" });
    const told = () => w.said("HEALTH_ALERT").map(({ payload }) => payload as { component: string; message: string });
    const ask = (node_id: string) => w.queue.claim({ node_id, most: 1, offer: PLENTY, kinds: ["selfplay"] });
    await ask("box");
    await w.pass(29_000);
    expect(told()).toEqual([]);
    await w.pass(6_000);
    expect(told()).toMatchObject([
      { component: "the queue of selfplay jobs", severity: "error" },
      { component: "the queue of training jobs", severity: "error" },
    ]);
    expect(told()[0]!.message).toContain(`job ${work_id} waits`);
    expect(told()[0]!.message).toContain("box: the job must not run on this node");
    expect(told()[1]!.message).toContain("box: the node has no executor for training");
    await ask("other");
    await w.pass(6_000);
    expect(told().slice(2)).toMatchObject([{ component: "the queue of selfplay jobs", severity: "info" }]);
  });

  test("a worker that is busy is no reason for an alert", async () => {
    const w = world();
    await w.runtime([workQueueMonitor(w.services)]);
    await w.queue.addAll([selfplay("a", { needs: { cpu: 2 } }), selfplay("a", { needs: { cpu: 2 } })]);
    const [lease] = await w.queue.claim({ node_id: "box", most: 1, offer: { ...PLENTY, cpu: 2 } });
    for (let beat = 0; beat < 8; beat += 1) {
      await w.queue.heartbeat(lease!);
      await w.pass(10_000);
    }
    expect(w.said("HEALTH_ALERT")).toEqual([]);
  });

  test("a few jobs that wait too long are pressure too", async () => {
    const w = world();
    const runtime = await w.runtime([workQueueMonitor(w.services)]);
    await w.queue.add(selfplay("a", { needs: { tags: ["unobtainable"] } }));
    await w.pass(61 * MINUTE);
    expect(w.said("BACKPRESSURE_ACTIVATED").map(({ payload }) => payload.level)).toEqual(["soft", "hard", "stop"]);
    expect(runtime.status()[0]).toMatchObject({ status: "degraded", details: { level: "stop", pending: 1 } });
  });

  test("speaks for nodes that are short of something, once for each change, and forgets old news", async () => {
    const w = world();
    await w.runtime([workQueueMonitor(w.services)]);
    const constraint = (resource: string, level: string) =>
      publish(w, "RESOURCE_CONSTRAINT", { node_id: "n7", resource, level, usage: 0.9, threshold: 0.85 });
    await constraint("memory", "medium");
    await constraint("memory", "medium");
    await publish(w, "DISK_SPACE_LOW", { node_id: "n7", level: "critical", usage: 0.97, free_gb: 1, threshold: 0.9 });
    await constraint("memory", "none");
    expect(
      w.said("BACKPRESSURE_ACTIVATED").map(({ payload }) => [payload.scope, payload.level, payload.reason]),
    ).toEqual([
      ["n7", "soft", "short of memory"],
      ["n7", "stop", "short of disk, memory"],
    ]);
    await w.pass(11 * MINUTE);
    expect(w.said("BACKPRESSURE_RELEASED").map(({ payload }) => [payload.previous_level, payload.level])).toEqual([
      ["stop", "none"],
    ]);
    expect(w.store.read("SELECT * FROM state_rows WHERE table_name = 'work_shortages'")).toEqual([]);
  });
});

describe("job_reaper", () => {
  test("a job whose worker died can be claimed elsewhere within the limit and one tick", async () => {
    const w = world({ lease: { silentMs: 30_000 } });
    await w.runtime([taskCoordinator(), jobReaper(w.services)]);
    await w.queue.add(selfplay("a"));
    const lease = (await w.claimOne("dead"))!;
    await w.queue.start(lease);
    await w.pass(10_000);
    await w.queue.heartbeat(lease);
    await w.pass(29_000);
    expect(w.queue.show(lease.work_id)?.state).toBe("running");
    await w.pass(7_000);
    expect(w.queue.show(lease.work_id)?.state).toBe("delayed");
    await w.pass(10_000);
    expect(await w.claimOne("other")).toMatchObject({ work_id: lease.work_id, fence: 2, attempts: 2 });
  });

  test("the second job that stands still on a node is an alert, and an hour later that is over", async () => {
    const w = world();
    await w.runtime([taskCoordinator(), jobReaper(w.services)]);
    for (let n = 0; n < 3; n += 1) {
      await w.queue.add(selfplay("a"));
      const [lease] = await w.queue.claim({ node_id: "good", most: 1, offer: PLENTY, start: true });
      await w.pass(1_000);
      await w.queue.complete(lease!, EVIDENCE);
    }
    const told = () =>
      w.said("HEALTH_ALERT").map(({ payload }) => [payload.component, payload.severity, payload.node_id]);
    for (let n = 0; n < 2; n += 1) {
      expect(told()).toEqual([]);
      await w.queue.add(selfplay("a", { payload: { n } }));
      const [lease] = await w.queue.claim({ node_id: "bad", most: 1, offer: PLENTY, start: true });
      for (let beats = 0; beats < 8; beats += 1) {
        await w.pass(10_000);
        await w.queue.heartbeat(lease!, { progress: 0.1 });
      }
      // Nobody holds it any more; somebody does it, so that the next one is another job.
      const [again] = await w.queue.claim({ node_id: "good", most: 1, offer: PLENTY, start: true });
      expect(again).toMatchObject({ work_id: lease!.work_id, fence: 2 });
      await w.queue.complete(again!, EVIDENCE);
    }
    expect(told()).toEqual([["the worker of bad", "warning", "bad"]]);
    // What such jobs took is kept for the next process.
    expect(new Durations(w.store).took({ workType: "selfplay", configKey: "a_2p" }, 1)).toBeDefined();
    await w.pass(61 * MINUTE);
    expect(told().at(-1)).toEqual(["the worker of bad", "info", "bad"]);
  });

  test("the first job of its kind that stands still where nobody else could take it is an alert at once, and one", async () => {
    const w = world();
    await w.runtime([taskCoordinator(), jobReaper(w.services)]);
    await w.queue.add(selfplay("a"));
    const [lease] = await w.queue.claim({ node_id: "only", most: 1, offer: PLENTY, start: true });
    const beatFor = async (minutes: number) => {
      for (let beats = 0; beats < 2 * minutes; beats += 1) {
        await w.pass(30_000);
        await w.queue.heartbeat(lease!, { progress: 0.1 });
      }
    };
    await beatFor(9);
    expect(w.said("HEALTH_ALERT")).toEqual([]);
    await beatFor(45);
    expect(w.said("HEALTH_ALERT").map(({ payload }) => payload)).toMatchObject([
      {
        component: "the worker of only",
        severity: "warning",
        message: expect.stringContaining(`${lease!.work_id} has made no progress there for 600 s, and no other worker`),
      },
    ]);
    expect(w.queue.show(lease!.work_id)).toMatchObject({ state: "running", node_id: "only" });
    await w.queue.complete(lease!, EVIDENCE);
    await w.pass(61 * MINUTE);
    expect(w.said("HEALTH_ALERT").at(-1)).toMatchObject({ payload: { severity: "info", node_id: "only" } });
  });

  test("a node that is known to be dead loses its jobs at once", async () => {
    const w = world();
    await w.runtime([taskCoordinator(), jobReaper(w.services)]);
    await w.queue.addAll([selfplay("a"), selfplay("b")]);
    const leases = await w.queue.claim({ node_id: "dead", most: 2, offer: PLENTY });
    await w.queue.start(leases[0]!);
    await publish(w, "P2P_NODE_DEAD", { node_id: "dead", last_seen_at: 1, silent_seconds: 90 });
    expect(w.queue.list().map(({ state, attempts }) => [state, attempts])).toEqual([
      ["pending", 0],
      ["pending", 0],
    ]);
    expect(w.said("TASK_ORPHANED")).toHaveLength(2);
  });

  test("forgets finished jobs in their time", async () => {
    const w = world({ limits: { keepCompletedMs: MINUTE } });
    await w.runtime([taskCoordinator(), jobReaper(w.services, { ...jobReaperLimits, forgetEvery: 2 })]);
    await w.queue.addAll([selfplay("a"), selfplay("b")]);
    await w.queue.complete((await w.claimOne())!, EVIDENCE);
    await w.pass(2 * MINUTE);
    expect(w.queue.list()).toHaveLength(1);
  });
});

describe("task_coordinator", () => {
  test("knows what runs where, from the spawn to the end, also after a restart", async () => {
    const w = world();
    const first = await w.runtime([taskCoordinator()]);
    await w.queue.addAll([selfplay("a"), selfplay("b"), selfplay("c")]);
    const leases = await w.queue.claim({ node_id: "n1", most: 3, offer: PLENTY });
    for (const lease of leases) await w.queue.start(lease);
    await w.pass(100);
    expect(detailsOf(first, "task_coordinator")).toMatchObject({ running: 3, on_lost_hosts: 0 });
    await w.driven(first.stop());
    await w.queue.complete(leases[0]!, EVIDENCE);
    await w.queue.fail(leases[1]!, { class: "retryable", error: "x" });
    const second = await w.runtime([taskCoordinator()]);
    await w.pass(100);
    expect(detailsOf(second, "task_coordinator")).toMatchObject({ running: 1 });
    await publish(w, "HOST_OFFLINE", { node_id: "n1", reason: "silent" });
    expect(second.status()[0]).toMatchObject({ status: "degraded", message: "1 tasks run on hosts that are away" });
    await publish(w, "HOST_ONLINE", { node_id: "n1" });
    expect(second.status()[0]).toMatchObject({ status: "running" });
  });

  test("names tasks that show no sign of life, until they beat again", async () => {
    const w = world();
    const runtime = await w.runtime([taskCoordinator()]);
    await w.queue.add(selfplay("a"));
    const [lease] = await w.queue.claim({ node_id: "n1", most: 1, offer: PLENTY });
    await w.queue.start(lease!);
    await w.pass(SILENT_MS + 2_000);
    const { task_id } = w.router.history({ eventType: "TASK_SPAWNED", fromJournal: true })[0]!.payload as {
      task_id: string;
    };
    expect(runtime.status()[0]).toMatchObject({
      status: "degraded",
      message: expect.stringMatching(/^task .* on n1 has shown no sign of life for 12\d s$/),
    });
    await publish(w, "TASK_HEARTBEAT", { task_id, node_id: "n1", work_type: "selfplay" });
    expect(runtime.status()[0]).toMatchObject({ status: "running", message: "" });
  });

  test("names a task that was asked to stop and does not", async () => {
    const running = new Map([
      ["t1", { node_id: "n1", work_type: "selfplay", work_id: "w1", config_key: null, spawned_at: 0 }],
    ]);
    const seenAt = new Map([["t1", 1_000_000]]);
    const at = (asked: number) =>
      stuckTasks(running, { seenAt, asked: new Map([["w1", asked]]) }, new Set(), 1_000_000);
    expect(at(1_000_000 - STOPPING_MS)).toEqual([]);
    expect(at(1_000_000 - STOPPING_MS - 1_000)).toMatchObject([
      { task_id: "t1", why: expect.stringMatching(/does not stop/) },
    ]);
    expect(stuckTasks(running, { seenAt, asked: new Map() }, new Set(["n1"]), 9_000_000)).toEqual([]);
  });

  test("takes a preempted job for one that was asked to stop", async () => {
    const w = world();
    const runtime = await w.runtime([taskCoordinator()]);
    await w.queue.add(selfplay("a"));
    const [lease] = await w.queue.claim({ node_id: "n1", most: 1, offer: PLENTY });
    await w.queue.start(lease!);
    await w.queue.preempt(lease!.work_id, { reason: "test" });
    await w.pass(STOPPING_MS + 2_000);
    expect(runtime.status()[0]?.message).toMatch(/does not stop/);
  });
});

describe("global_task_coordinator", () => {
  test("a node that is short of something gets no more work until that has passed", async () => {
    const w = guarded();
    await w.runtime([globalTaskCoordinator()]);
    await w.queue.addAll([selfplay("a"), selfplay("b"), selfplay("c"), selfplay("d")]);
    await publish(w, "RESOURCE_CONSTRAINT", {
      node_id: "a",
      resource: "disk",
      level: "medium",
      usage: 0.8,
      threshold: 0.75,
    });
    expect(await w.claimOne("a")).toBeDefined();
    await publish(w, "RESOURCE_CONSTRAINT", {
      node_id: "a",
      resource: "disk",
      level: "critical",
      usage: 0.97,
      threshold: 0.9,
    });
    await expect(w.claimOne("a")).rejects.toMatchObject({
      code: "NODE_HELD_BACK",
      message: expect.stringContaining("disk is 97 %"),
    });
    expect(await w.claimOne("b")).toBeDefined();
    await publish(w, "RESOURCE_CONSTRAINT", {
      node_id: "a",
      resource: "disk",
      level: "none",
      usage: 0.4,
      threshold: 0.75,
    });
    expect(await w.claimOne("a")).toBeDefined();
    await publish(w, "MEMORY_PRESSURE", { node_id: "a", memory_kind: "ram", usage: 0.95, threshold: 0.9 });
    await w.pass(1_000);
    await expect(w.claimOne("a")).rejects.toMatchObject({ code: "NODE_HELD_BACK" });
    await w.pass(MINUTE);
    expect(await w.claimOne("a")).toBeDefined();
  });

  test("a busy machine works on, a job at a time, and what slows it is told", async () => {
    const w = guarded();
    await w.runtime([globalTaskCoordinator(), jobScheduler(w.services)]);
    await w.queue.addAll([selfplay("a"), selfplay("b"), selfplay("c")]);
    const busy = { node_id: "a", resource: "cpu", level: "critical", usage: 0.93, threshold: 0.8 };
    await publish(w, "RESOURCE_CONSTRAINT", busy);
    await publish(w, "NODE_OVERLOADED", { node_id: "a", resource: "cpu", usage: 0.93, threshold: 0.8 });
    for (let done = 0; done < 2; done += 1) {
      const [lease, ...others] = await w.queue.claim({ node_id: "a", most: 2, offer: PLENTY });
      expect(others).toEqual([]);
      await expect(w.claimOne("a")).rejects.toMatchObject({
        message: expect.stringMatching(/held: (machine busy|its cpu is overloaded) \(93 %\)/),
        details: { retryAfterSeconds: 1 },
      });
      await w.queue.complete(lease!, EVIDENCE);
    }
    await publish(w, "RESOURCE_CONSTRAINT", { ...busy, level: "none", usage: 0.1 });
    expect(w.queue.verdictOn("a")).not.toHaveProperty("slowed");
  });
});

describe("job_scheduler", () => {
  const start = async (w: WorkWorld, more: Parameters<WorkWorld["runtime"]>[0] = []) =>
    w.runtime([globalTaskCoordinator(), workQueueMonitor(w.services), jobScheduler(w.services), ...more]);
  const batch = {
    batch_id: "b1",
    config_key: "hex8_2p",
    work_type: "selfplay",
    jobs: 3,
    node_ids: ["a"],
    games_per_job: 50,
  };

  test("hands a batch out in the commit of its order: the jobs, their events and the answer", async () => {
    const w = guarded();
    await start(w);
    await publish(w, "BATCH_SCHEDULED", batch);
    expect(w.queue.list({ batchId: "b1" })).toHaveLength(3);
    expect(w.said("WORK_QUEUED")).toHaveLength(3);
    expect(w.said("BATCH_DISPATCHED")[0]?.payload).toMatchObject({ batch_id: "b1", jobs: 3, failed_jobs: 0 });
    expect(await w.claimOne("b")).toBeUndefined();
    expect(await w.claimOne("a")).toMatchObject({ payload: { games: 50 } });
    expect(w.queue.unfinished).toBe(3);
  });

  test("a lost host that asks for work is there, though nobody heard that it came back", async () => {
    const w = guarded();
    await start(w);
    await w.queue.addAll([selfplay("a")]);
    w.queue.workers.asked({ node_id: "a", most: 1, offer: PLENTY });
    await publish(w, "HOST_OFFLINE", { node_id: "a", reason: "silent for 90 s" });
    // What it asked before it was lost proves nothing.
    await w.pass(11_000);
    await expect(w.claimOne("a")).rejects.toMatchObject({ message: expect.stringContaining("offline") });
    await w.pass(11_000);
    expect(await w.claimOne("a")).toBeDefined();
  });

  test("a batch that nobody can do is told as failed", async () => {
    const w = guarded();
    await start(w);
    await publish(w, "BATCH_SCHEDULED", { ...batch, work_type: "knitting" });
    expect(w.said("BATCH_DISPATCHED")[0]?.payload).toMatchObject({ jobs: 0, failed_jobs: 3 });
    expect(w.queue.list()).toEqual([]);
  });

  test("a lost host's jobs go elsewhere, and it gets nothing until it is back", async () => {
    const w = guarded();
    await start(w);
    await w.queue.addAll([selfplay("a"), selfplay("a")]);
    const lease = (await w.claimOne("a"))!;
    await publish(w, "HOST_OFFLINE", { node_id: "a", reason: "silent for 90 s" });
    await expect(w.claimOne("a")).rejects.toMatchObject({
      code: "NODE_HELD_BACK",
      message: expect.stringContaining("offline"),
    });
    expect(await w.claimOne("b")).toMatchObject({ work_id: lease.work_id, urgency: "high", fence: 2 });
    await expect(w.queue.heartbeat(lease)).rejects.toMatchObject({ code: "STALE_LEASE" });
    // What it had done all the same is the job's, if it is the first.
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    await publish(w, "HOST_ONLINE", { node_id: "a" });
    expect(await w.claimOne("a")).toBeDefined();
  });

  test("an overloaded node rests, and its least job makes room", async () => {
    const w = guarded();
    await start(w);
    await w.queue.addAll([selfplay("a", { urgency: "high" }), selfplay("b", { urgency: "low" }), selfplay("c")]);
    const leases = await w.queue.claim({ node_id: "a", most: 3, offer: PLENTY });
    await publish(w, "NODE_OVERLOADED", { node_id: "a", resource: "cpu", usage: 0.99, threshold: 0.95 });
    const low = leases.find(({ urgency }) => urgency === "low")!;
    expect(w.said("JOB_PREEMPTED").map(({ payload }) => payload.work_id)).toEqual([low.work_id]);
    await expect(w.claimOne("a")).rejects.toMatchObject({ code: "NODE_HELD_BACK" });
    await w.pass(11 * MINUTE);
    expect(await w.claimOne("a")).toBeUndefined();
  });

  test("a node where attempts keep running out rests", async () => {
    const w = guarded();
    await start(w);
    for (const n of [1, 2, 3]) {
      await publish(w, "WORK_TIMEOUT", {
        work_id: `w${n}`,
        work_type: "selfplay",
        node_id: "a",
        attempts: 1,
        timeout_seconds: 1,
        will_retry: true,
      });
      if (n < 3) expect(await w.claimOne("a")).toBeUndefined();
    }
    expect(w.queue.verdictOn("a")).toMatchObject({ room: 1, slowed: "3 attempts ran out there" });
  });

  test("a node gets no jobs of configs that it cannot run", async () => {
    const w = guarded();
    await start(w);
    await w.queue.addAll([selfplay("big"), selfplay("small")]);
    await publish(w, "NODE_INCOMPATIBLE_WITH_WORKLOAD", {
      node_id: "a",
      reason: "too little memory",
      config_keys: ["big_2p"],
    });
    const leases = await w.queue.claim({ node_id: "a", most: 5, offer: PLENTY });
    expect(leases.map(({ config_key }) => config_key)).toEqual(["small_2p"]);
  });

  test("an urgent job that waits drives out one that matters less, and only one", async () => {
    const w = guarded();
    await start(w);
    await w.queue.addAll([selfplay("a", { urgency: "low" }), selfplay("b", { urgency: "low" })]);
    const leases = await w.queue.claim({ node_id: "a", most: 2, offer: PLENTY });
    await w.pass(2 * MINUTE);
    const { work_id } = await w.queue.add(selfplay("c", { urgency: "critical" }));
    await w.pass(20_000);
    expect(w.said("JOB_PREEMPTED")).toEqual([]);
    await w.pass(40_000);
    expect(w.said("JOB_PREEMPTED").map(({ payload }) => payload.preempting_work_id)).toEqual([work_id]);
    const asked = w.said("JOB_PREEMPTED")[0]!.payload.work_id;
    const victim = leases.find((lease) => lease.work_id === asked)!;
    expect((await w.queue.heartbeat(victim)).stop).toMatchObject({ kind: "preempted" });
    await w.queue.fail(victim, { class: "preempted", error: "checkpointed" });
    expect(await w.claimOne("a")).toMatchObject({ work_id });
  });
});

describe("utilization_optimizer", () => {
  const start = (w: WorkWorld) => w.runtime([utilizationOptimizer(w.services)]);
  test("other programs on a node take slots away one by one, never the last, and the claims find fewer", async () => {
    const w = guarded();
    const runtime = await start(w);
    await w.queue.addAll(Array.from({ length: 8 }, () => selfplay("a")));
    w.queue.workers.asked({ node_id: "a", most: 4, offer: PLENTY });
    const sample = (cpu_others: number, cpu_usage = 1) =>
      publish(w, "NODE_CAPACITY_UPDATED", {
        node_id: "a",
        cpu_usage,
        cpu_others,
        memory_usage: 0.5,
        disk_usage: 0.5,
        slots: 4,
        free_slots: 0,
      });
    // Ours alone: full is what it is for.
    for (let n = 0; n < 10; n += 1) await sample(0.01);
    expect(w.queue.slots().get("a")).toMatchObject({ slots: 4, of: 4, target: 0.9 });
    expect(w.queue.verdictOn("a")).not.toHaveProperty("slowed");
    for (let n = 0; n < 10; n += 1) await sample(0.5, 0.5);
    expect(w.queue.slots().get("a")).toMatchObject({ slots: 2, of: 4 });
    expect(await w.queue.claim({ node_id: "a", most: 4, offer: PLENTY })).toHaveLength(2);
    await expect(w.claimOne("a")).rejects.toMatchObject({
      message: expect.stringContaining("held: slots 2 of 4: machine busy (100 %, target 90 %)"),
      details: { retryAfterSeconds: 1 },
    });
    for (let n = 0; n < 20; n += 1) await sample(0.97);
    expect(w.queue.slots().get("a")).toMatchObject({ slots: 1 });
    // Another process goes on where this one was.
    await w.driven(runtime.stop());
    await start(w);
    await sample(0.97);
    expect(w.queue.slots().get("a")).toMatchObject({ slots: 1 });
    // Nobody measures any more: what was decided holds nobody back for ever.
    await w.pass(4 * MINUTE);
    expect(w.queue.verdictOn("a")).toMatchObject({ accepts: true });
    expect(w.queue.slots().has("a")).toBe(false);
    w.queue.workers.asked({ node_id: "a", most: 4, offer: PLENTY });
    for (let n = 0; n < 20; n += 1) await sample(0.01);
    expect(w.queue.slots().get("a")).toMatchObject({ slots: 4 });
  });

  const idleSample = { node_id: "a", cpu_usage: 0.1, memory_usage: 0.1, disk_usage: 0.1, slots: 4, free_slots: 4 };

  test("knows since when a node has had nothing to do, and tells when it was put to work", async () => {
    const w = guarded();
    await start(w);
    const offer = { ...PLENTY, gpu: 0 };
    w.queue.workers.asked({ node_id: "a", most: 4, offer });
    await publish(w, "NODE_CAPACITY_UPDATED", idleSample);
    const since = w.clock.now();
    for (let n = 0; n < 6; n += 1) {
      await w.pass(MINUTE - 1_000);
      w.queue.workers.asked({ node_id: "a", most: 4, offer });
      await publish(w, "NODE_CAPACITY_UPDATED", idleSample);
    }
    expect(w.queue.idleSince().get("a")).toBeLessThanOrEqual(since);
    await w.queue.add(selfplay("a"));
    const [lease] = await w.queue.claim({ node_id: "a", most: 4, offer });
    await publish(w, "NODE_CAPACITY_UPDATED", idleSample);
    expect(w.said("NODE_ACTIVATED").map(({ payload }) => payload)).toEqual([
      { node_id: "a", work_type: "selfplay", config_key: "a_2p", reason: "it had nothing to do for 6 min" },
    ]);
    expect(w.queue.idleSince().has("a")).toBe(false);
    // A short pause is none.
    await w.queue.start(lease!);
    await w.queue.complete(lease!, EVIDENCE);
    await publish(w, "NODE_CAPACITY_UPDATED", idleSample);
    await w.queue.add(selfplay("a"));
    await w.queue.claim({ node_id: "a", most: 4, offer });
    await publish(w, "NODE_CAPACITY_UPDATED", idleSample);
    expect(w.said("NODE_ACTIVATED")).toHaveLength(1);
  });

  test("tells when a node without accelerators has prepared data, which those with some leave to it", async () => {
    const w = guarded();
    await w.runtime([utilizationOptimizer(w.services)], [workStorePart]);
    const offers = { cpu: { ...PLENTY, gpu: 0 }, gpu: PLENTY };
    const ask = (node: keyof typeof offers) => w.queue.claim({ node_id: node, most: 1, offer: offers[node] });
    for (const node of ["cpu", "gpu"] as const) w.queue.workers.asked({ node_id: node, most: 1, offer: offers[node] });
    await w.queue.add({ work_type: "export" });
    expect(await ask("gpu")).toEqual([]);
    const [lease] = await ask("cpu");
    await w.queue.start(lease!);
    await w.queue.complete(lease!, { ...EVIDENCE, counts: { rows: 5 } });
    await w.pass(1_000);
    expect(w.said("CPU_PIPELINE_JOB_COMPLETED").map(({ payload }) => payload)).toMatchObject([
      { work_id: lease!.work_id, work_type: "export", node_id: "cpu" },
    ]);
    // Self-play is for everybody, and what nobody without accelerators takes in time is too.
    await w.queue.add(selfplay("a"));
    expect(await ask("gpu")).toHaveLength(1);
    await w.queue.add({ work_type: "export" });
    expect(await ask("gpu")).toEqual([]);
    await w.pass(21_000);
    const [late] = await ask("gpu");
    await w.queue.start(late!);
    await w.queue.complete(late!, { ...EVIDENCE, counts: { rows: 5 } });
    await w.pass(1_000);
    expect(w.said("CPU_PIPELINE_JOB_COMPLETED")).toHaveLength(1);
  });

  test("counts what comes, and foresees what will", async () => {
    const w = guarded();
    await start(w);
    await w.pass(61_000);
    for (let n = 0; n < 180; n += 1) {
      await w.queue.addAll([selfplay("a"), selfplay("a")]);
      await w.pass(MINUTE);
    }
    const { hours, errors, waiting_slots, planned_slots } = w.queue.loadForecast([
      { workType: "selfplay", configKey: "a_2p", jobs: 60 },
    ]);
    // Two jobs in a minute of which nothing is known are two slots, taken for a minute each.
    expect(hours[1]!.slots).toBeGreaterThan(1.5);
    expect(hours[1]!.slots).toBeLessThan(2.5);
    expect(errors[0]!.error).toBeLessThan(0.6);
    expect(waiting_slots).toBeCloseTo(6, 0);
    expect(planned_slots).toBeCloseTo(1, 1);
  });
});

describe("all of them together", () => {
  test("start, keep jobs moving, and tell nothing that nobody declared", async () => {
    const w = guarded();
    const heard: string[] = [];
    const listener = defineCoordinator({
      name: "listener",
      layer: 3,
      placement: "leader",
      emits: [],
      on: { WORK_COMPLETED: ({ payload }) => void heard.push(payload.work_id) },
    });
    const runtime = await w.runtime([...workUnits(w.services), listener], [workStorePart]);
    expect(runtime.readiness().unsubscribed).toEqual([]);
    await w.queue.addAll(Array.from({ length: 20 }, (_, i) => selfplay(`c${i % 4}`)));
    for (let round = 0; round < 20; round += 1) {
      const lease = await w.claimOne(`n${round % 3}`);
      await w.queue.start(lease!);
      await w.queue.complete(lease!, EVIDENCE);
      await w.pass(1_000);
    }
    expect(new Set(heard).size).toBe(20);
    expect(runtime.status().filter(({ failed_events, tick_errors }) => failed_events + tick_errors > 0)).toEqual([]);
    expect(runtime.status().map(({ status }) => status)).toEqual(Array(7).fill("running"));
  });
});

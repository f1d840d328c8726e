import { afterEach, beforeEach, expect, test } from "vitest";
import { EVIDENCE, PLENTY, type WorkWorld, workWorld } from "../../../test/unit/work/work-world.ts";
import { NodeRegistry } from "../../cluster/index.ts";
import { silentLog } from "../../kernel/index.ts";
import type { ConfigSnapshot } from "../../pipeline/index.ts";
import { configCause } from "./config-cause.ts";
import { workFacts } from "./facts.ts";
import { whyJobOrNode } from "./why-job-or-node.ts";

const timing = { beatMs: 15_000, suspectMs: 45_000, deadMs: 120_000, purgeMs: 7 * 86_400_000, startupGraceMs: 0 };
const JOB = { work_type: "selfplay", config_key: "hex8_2p" } as const;

let w: WorkWorld;
let nodes: NodeRegistry;
beforeEach(async () => {
  w = workWorld({ lease: { silentMs: 60_000 } });
  const { store, clock } = w;
  nodes = new NodeRegistry({ store, clock, log: silentLog(), timing, localNodeId: "good", version: "1.0.0" });
  await nodes.ensureLocal(PLENTY);
  await nodes.settled("good", { state: "online" });
  for (let n = 0; n < 3; n += 1) {
    await w.queue.add(JOB);
    const [lease] = await w.queue.claim({ node_id: "good", most: 1, offer: PLENTY, start: true });
    await w.pass(1_000);
    await w.queue.complete(lease!, EVIDENCE);
  }
});
afterEach(() => w.close());

const sources = () => ({ queue: w.services.queue, book: nodes, now: w.clock.now() });
const whyJob = (workId: string) => whyJobOrNode(workId, sources())!;
const whyConfig = (workId: string) =>
  configCause({
    config: {
      config_key: "hex8_2p",
      state: "running",
      stage: "selfplay",
      waits: [],
      failures: [],
    } as unknown as ConfigSnapshot,
    jobs: [w.queue.show(workId)!],
    work: workFacts(sources()),
    unitCause: () => undefined,
    fault: undefined,
  });
/** Beats for so long and tells nothing new. */
const standStill = async (seconds: number, job: Parameters<typeof w.queue.add>[0] = JOB) => {
  const { work_id } = await w.queue.add(job);
  const [lease] = await w.queue.claim({ node_id: "box2", most: 1, offer: PLENTY, start: true });
  for (let n = 0; n < seconds; n += 10) {
    await w.pass(10_000);
    await w.queue.heartbeat(lease!, { progress: 0.3 });
    w.queue.workers.asked({ node_id: "good", most: 1, offer: PLENTY, kinds: ["selfplay"] });
    await w.queue.reap();
  }
  return work_id;
};

test("why says of a job without progress for how long, and when it is given to another", async () => {
  const id = await standStill(50);
  const { cause, verdict } = whyJob(id);
  expect(cause).toMatchObject({ code: "job_without_progress", subject: id, level: "note" });
  expect(verdict).toContain(`${id} has made no progress on box2 for 40.0 s; after 1 min it goes to another worker`);
  expect(whyConfig(id)).toMatchObject({ code: "job_without_progress", affects: ["hex8_2p"] });
});

test("why says that a job stood still, where, and who has it now", async () => {
  const id = await standStill(80);
  expect(whyConfig(id)).toMatchObject({ code: "job_stuck", level: "warn", actual: "box2" });
  expect(whyJob(id).verdict).toContain(`${id} made no progress on box2, and waits for another worker`);
  await w.queue.claim({ node_id: "good", most: 1, offer: PLENTY, start: true });
  expect(whyJob(id)).toMatchObject({ cause: { code: "job_stuck", advice: { subject: id } } });
  expect(whyJob(id).verdict).toContain("made no progress on box2; good has it now, and the first result counts");
  expect(whyConfig(id)).toMatchObject({ code: "job_stuck" });
});

test("why says of the first job of its kind that stands still that nobody else could take it", async () => {
  const id = await standStill(600, { work_type: "training", config_key: "hex8_2p" });
  expect(whyJob(id).cause).toMatchObject({ code: "job_without_progress", level: "note" });
  await w.pass(30_000);
  expect(whyConfig(id)).toMatchObject({
    code: "job_unrelieved",
    level: "warn",
    advice: { action: "add_worker", subject: "training" },
  });
  expect(whyJob(id).verdict).toContain("and there is no other worker to take it");
});

test("a job that goes on has nothing to explain", async () => {
  const id = await standStill(20);
  expect(whyJob(id).cause).toBeNull();
  expect(whyConfig(id)).toBeNull();
});

test("why says of a node without a worker that nobody asks for jobs there, which is wrong only where jobs wait", async () => {
  await w.pass(600_000);
  expect(w.queue.workers.list()).toEqual([]);
  const whyHere = () => whyJobOrNode("good", sources())!;
  expect(whyHere()).toMatchObject({
    verdict: "good has no worker, and neither has any other node",
    cause: { code: "gate_worker", level: "note" },
  });
  await w.queue.add(JOB);
  expect(whyHere().cause).toMatchObject({ code: "gate_worker", level: "warn" });
  // A main process may leave the work to others.
  w.queue.workers.asked({ node_id: "box2", most: 1, offer: PLENTY, kinds: ["selfplay"] });
  expect(whyHere().gates).toContainEqual(
    expect.objectContaining({ gate: "worker", passed: true, actual: "none here, 1 on other nodes" }),
  );
});

test("a worker that asks for nothing because its disk is full is named with its disk, not as missing", async () => {
  await w.pass(120_000);
  const { work_id } = await w.queue.add(JOB);
  const cause = (free_bytes: number) =>
    whyJobOrNode(work_id, { ...sources(), localRoom: () => ({ free_bytes, reserve_bytes: 2e9 }) })!.cause;
  expect(cause(1e9)).toMatchObject({
    code: "node_short_of_disk",
    what: "the disk of good is too full: 1.0 GB free, needed are 2.0 GB free (worker.disk_reserve_gb)",
    advice: { action: "free_disk", subject: "good" },
  });
  expect(cause(3e9)).toMatchObject({ code: "no_worker" });
});

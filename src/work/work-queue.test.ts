import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { EVIDENCE, PLENTY, type WorkWorld, withWork, workWorld } from "../../test/unit/work/work-world.ts";
import { inThreadStore, memoryWriter } from "../adapters/sqlite/in-thread-store.ts";
import { defined, listeningTime, virtualClock } from "../kernel/index.ts";
import { kindsWith } from "./job/kinds.ts";
import type { JudgeFile } from "./queue/open-queue.ts";

const worlds: WorkWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = (options: Parameters<typeof workWorld>[0] = {}): WorkWorld => {
  const opened = workWorld(options);
  worlds.push(opened);
  return opened;
};
const selfplay = (config: string, more: object = {}) =>
  ({ work_type: "selfplay", config_key: `${config}_2p`, payload: { games: 50 }, ...more }) as const;
const names = (w: WorkWorld) => w.said().map(({ eventType }) => eventType);
const stateOf = (w: WorkWorld, workId: string) => w.queue.show(workId)?.state;
const MINUTE = 60_000;

describe("the life of a job", () => {
  test("it is added, claimed, started and completed, and each step is said with it", async () => {
    const w = world();
    const { work_id } = await w.queue.add(selfplay("hex8", { urgency: "high", requested_by: "ann" }));
    const lease = (await w.claimOne())!;
    expect(lease).toMatchObject({
      work_id,
      node_id: "a",
      fence: 1,
      attempts: 1,
      payload: { games: 50 },
      urgency: "high",
    });
    await w.queue.start(lease, 4711);
    await w.queue.heartbeat(lease, { progress: 0.5, games: 25 });
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    expect(names(w)).toEqual([
      "WORK_QUEUED",
      "WORK_CLAIMED",
      "WORK_STARTED",
      "TASK_SPAWNED",
      "TASK_COMPLETED",
      "WORK_COMPLETED",
    ]);
    expect(w.said("WORK_QUEUED")[0]?.payload).toMatchObject({ work_id, priority: 75, requested_by: "ann" });
    expect(w.said("WORK_CLAIMED")[0]?.payload).toMatchObject({ work_id, node_id: "a", attempts: 1, fence: 1 });
    expect(w.said("WORK_COMPLETED")[0]?.payload).toMatchObject({
      work_id,
      config_key: "hex8_2p",
      artifact_hash: "ab".repeat(32),
      result: { counts: { games: 50 } },
    });
    expect(w.queue.show(work_id)).toMatchObject({
      state: "completed",
      evidence: { counts: { games: 50 } },
      progress: 0.5,
    });
    expect(w.queue.unfinished).toBe(0);
  });

  test("a beat carries a few numbers, bounded; the newest are kept, and the next holder begins without them", async () => {
    const w = world();
    const { work_id } = await w.queue.add(selfplay("hex8"));
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    expect(w.queue.show(work_id)?.metrics).toBeNull();
    await w.queue.heartbeat(lease, { metrics: { loss: 2.5, policy_loss: 1.5 } });
    await w.queue.heartbeat(lease, { progress: 0.5 });
    expect(w.queue.show(work_id)?.metrics).toEqual({ loss: 2.5, policy_loss: 1.5 });
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`m${i}`, i]));
    await w.queue.heartbeat(lease, { metrics: { ["x".repeat(65)]: 1, odd: Number.NaN, ...many } });
    expect(Object.keys(w.queue.show(work_id)!.metrics!)).toEqual(Array.from({ length: 16 }, (_, i) => `m${i}`).sort());
    await w.queue.release(lease, "it leaves");
    await w.claimOne();
    expect(w.queue.show(work_id)?.metrics).toBeNull();
  });

  test("what a job is given can be read for as long as the job is known", async () => {
    const w = world();
    const { work_id } = await w.queue.add(selfplay("hex8"));
    expect(w.queue.payload(work_id)).toEqual({ games: 50 });
    expect(w.queue.payload("w999")).toBeUndefined();
  });

  test("what was not committed was not said either", async () => {
    const w = world();
    await expect(
      w.queue.addAll([selfplay("hex8"), { ...selfplay("hex8"), depends_on: ["w99"] }]),
    ).rejects.toMatchObject({ code: "JOB_NOT_FOUND" });
    expect(w.said()).toEqual([]);
    expect(w.queue.list()).toEqual([]);
    expect(w.queue.unfinished).toBe(0);
  });

  test("a kind that nobody can do is refused, with the one that was meant", async () => {
    const w = world();
    // @ts-expect-error The kinds are a closed set: the compiler refuses it too.
    const adding = w.queue.add({ ...selfplay("hex8"), work_type: "selfplax" });
    await expect(adding).rejects.toMatchObject({
      code: "WORK_KIND_UNKNOWN",
      hint: expect.stringContaining("selfplay"),
    });
  });

  test.each([
    ["a payload beyond its bound", { payload: { text: "x".repeat(70_000) } }, "WORK_TOO_LARGE"],
    ["a config that is none", { config_key: "hex8" }, "WORK_INVALID"],
    ["a field that nobody knows", { prio: 3 }, "WORK_INVALID"],
    ["a payload that is no JSON", { payload: { run: () => 1 } }, "WORK_INVALID"],
    ["too many dependencies", { depends_on: Array.from({ length: 101 }, (_, i) => `w${i + 1}`) }, "WORK_INVALID"],
    ["a dependency that is not there", { depends_on: ["w7"] }, "JOB_NOT_FOUND"],
  ])("%s is refused", async (_what, wrong, code) => {
    const w = world();
    await expect(w.queue.add({ ...selfplay("hex8"), ...wrong } as never)).rejects.toMatchObject({ code });
  });

  test("a full queue refuses, and takes jobs again when some have ended", async () => {
    const w = world({ limits: { maxUnfinished: 3 } });
    await w.queue.addAll([selfplay("a"), selfplay("b"), selfplay("c")]);
    await expect(w.queue.add(selfplay("d"))).rejects.toMatchObject({ code: "WORK_QUEUE_FULL", retryable: true });
    await w.queue.complete((await w.claimOne())!, EVIDENCE);
    await w.queue.add(selfplay("d"));
    expect(w.open().unfinished).toBe(3);
  });

  test("a dedup key is one job until that has failed, and a lost answer finds it again", async () => {
    const w = world();
    const first = await w.queue.add(selfplay("hex8", { dedup_key: "k" }));
    const both = await w.queue.addAll([selfplay("hex8", { dedup_key: "k" }), selfplay("hex8", { dedup_key: "l" })]);
    expect(both[0]).toEqual({ work_id: first.work_id, duplicate: true });
    const racing = await Promise.all([1, 2, 3].map(() => w.queue.add(selfplay("hex8", { dedup_key: "m" }))));
    expect(new Set(racing.map(({ work_id }) => work_id)).size).toBe(1);
    expect(racing.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    await w.queue.cancel(first.work_id, { reason: "no" });
    expect(await w.queue.add(selfplay("hex8", { dedup_key: "k" }))).toMatchObject({ duplicate: false });
    expect(w.said("WORK_QUEUED")).toHaveLength(4);
  });
});

describe("evidence", () => {
  test.each([
    ["no outputs", { ...EVIDENCE, outputs: [] }],
    ["a count of nothing", { ...EVIDENCE, counts: { games: 0 } }],
    ["a count that is missing", { ...EVIDENCE, counts: {} }],
    ["a hash that is none", { ...EVIDENCE, outputs: [{ name: "x", sha256: "abc", bytes: 1 }] }],
    ["an empty file", { ...EVIDENCE, outputs: [{ name: "x", sha256: "ab".repeat(32), bytes: 0 }] }],
    ["more than fits", { ...EVIDENCE, summary: { text: "x".repeat(40_000) } }],
  ])("%s does not complete a job; its holder keeps it", async (_what, evidence) => {
    const w = world();
    await w.queue.add(selfplay("hex8"));
    const lease = (await w.claimOne())!;
    await expect(w.queue.complete(lease, evidence)).rejects.toMatchObject({ code: "WORK_EVIDENCE_LACKING" });
    expect(stateOf(w, lease.work_id)).toBe("claimed");
    await w.queue.complete(lease, EVIDENCE);
    expect(w.said("WORK_COMPLETED")).toHaveLength(1);
  });
});

test("what is told of a job follows from the event that told of its coming, whoever speaks", async () => {
  const w = world();
  const cause = await w.router.publish("PIPELINE_STAGE_ENTERED", {
    config_key: "hex8_2p",
    pipeline_stage: "selfplay",
    iteration: 1,
    attempts: 1,
  });
  await w.queue.add(selfplay("hex8"), cause);
  const lease = (await w.claimOne())!;
  await w.queue.start(lease);
  await w.queue.complete(lease, EVIDENCE);
  const all = w.router.history({ fromJournal: true, limit: 100 });
  const queued = all.find(({ eventType }) => eventType === "WORK_QUEUED")!;
  expect(all.filter(({ traceId }) => traceId !== cause.traceId).map(({ eventType }) => eventType)).toEqual([]);
  expect(queued.parentEventId).toBe(cause.eventId);
  for (const event of all)
    if (event.eventId !== cause.eventId && event.eventId !== queued.eventId)
      expect([event.eventType, event.parentEventId]).toEqual([event.eventType, queued.eventId]);
});

describe("a result that cannot be", () => {
  const GAMES = Number.MAX_SAFE_INTEGER;
  const asked = (work_type: string, parameters: object) => ({
    work_type,
    config_key: "hex8_2p",
    payload: { parameters },
  });
  test.each([
    ["more games than were asked for", asked("selfplay", { games: 20 }), { counts: { games: 21 } }],
    ["more games than anybody plays", asked("selfplay", {}), { counts: { games: GAMES } }],
    ["more rows than games have", asked("selfplay", { games: 1 }), { counts: { games: 1, rows: 100_001 } }],
    ["more checks than were asked for", asked("validation", { games: 20 }), { counts: { games: GAMES } }],
    ["more games than blocks have", asked("evaluation", { blocks: 5 }), { counts: { games: 21 } }],
    ["endless steps", asked("training", {}), { counts: { steps: GAMES } }],
    ["a loss beyond all", asked("training", {}), { counts: {}, summary: { loss: 1e300 } }],
    [
      "a file larger than any disk",
      asked("training", {}),
      { outputs: [{ ...EVIDENCE.outputs[0]!, bytes: Number.MAX_SAFE_INTEGER }], counts: {} },
    ],
  ])("%s is refused with a code of its own, and its holder keeps the job", async (_what, job, evidence) => {
    const w = world({ kinds: kindsWith([]) as never });
    await w.queue.add(job as never);
    const lease = (await w.claimOne())!;
    const refused = w.queue.complete(lease, { ...EVIDENCE, ...evidence });
    await expect(refused).rejects.toMatchObject({ code: "WORK_EVIDENCE_IMPLAUSIBLE" });
    expect(stateOf(w, lease.work_id)).toBe("claimed");
    const { games = 1, blocks = games } = job.payload.parameters as { games?: number; blocks?: number };
    await w.queue.complete(lease, { ...EVIDENCE, counts: { games: blocks, rows: 1_000 } });
    expect(stateOf(w, lease.work_id)).toBe("completed");
  });

  test("in a beat is left out: what is kept are numbers that can be true", async () => {
    const w = world();
    await w.queue.add(selfplay("hex8"));
    const lease = (await w.claimOne())!;
    await w.queue.heartbeat(lease, { metrics: { loss: 0.5, epoch: 1e300 } });
    expect(w.queue.show(lease.work_id)?.metrics).toEqual({ loss: 0.5 });
  });
});

describe("leases", () => {
  test("whoever does not hold the job is refused, whatever it says", async () => {
    const w = world({ lease: { silentMs: MINUTE } });
    await w.queue.add(selfplay("hex8"));
    const old = (await w.claimOne("a"))!;
    await w.queue.start(old);
    await w.pass(2 * MINUTE);
    await w.queue.reap();
    await w.pass(10 * MINUTE);
    const now = (await w.claimOne("b"))!;
    expect(now).toMatchObject({ work_id: old.work_id, fence: 2, attempts: 2 });
    const stale = { code: "STALE_LEASE" };
    for (const ref of [
      { ...now, fence: 1 },
      { ...now, node_id: "a" },
      { ...now, fence: 3 },
    ]) {
      await expect(w.queue.start(ref)).rejects.toMatchObject(stale);
      await expect(w.queue.heartbeat(ref, { progress: 1 })).rejects.toMatchObject(stale);
      await expect(w.queue.complete(ref, EVIDENCE)).rejects.toMatchObject(stale);
      await expect(w.queue.fail(ref, { class: "bad_input", error: "no" })).rejects.toMatchObject(stale);
      await expect(w.queue.release(ref, "no")).rejects.toMatchObject(stale);
    }
    await expect(w.queue.start(old)).rejects.toMatchObject(stale);
    await expect(w.queue.heartbeat(old, { progress: 1 })).rejects.toMatchObject(stale);
    await expect(w.queue.fail(old, { class: "bad_input", error: "no" })).rejects.toMatchObject(stale);
    await expect(w.queue.release(old, "no")).rejects.toMatchObject(stale);
    await w.queue.complete(now, EVIDENCE);
    await expect(w.queue.complete(old, EVIDENCE)).rejects.toMatchObject({
      ...stale,
      message: expect.stringContaining("node b was the first with its result"),
      details: { done_by: "b" },
    });
    expect(w.said("WORK_COMPLETED")).toMatchObject([{ payload: { node_id: "b" } }]);
  });

  test("completing twice is completing once: the answer to the first was lost", async () => {
    const w = world();
    await w.queue.add(selfplay("hex8"));
    const lease = (await w.claimOne())!;
    const both = await Promise.all([w.queue.complete(lease, EVIDENCE), w.queue.complete(lease, EVIDENCE)]);
    expect(both).toEqual([{ repeated: false }, { repeated: true }]);
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: true });
    expect(w.said("WORK_COMPLETED")).toHaveLength(1);
  });

  test("a beat keeps the lease but never lengthens the attempt", async () => {
    const w = world({ lease: { silentMs: MINUTE } });
    await w.queue.add(selfplay("hex8", { timeout_seconds: 300 }));
    const lease = (await w.claimOne())!;
    const { expires_at } = await w.queue.start(lease);
    for (let minute = 0; minute < 5; minute += 1) {
      expect((await w.queue.heartbeat(lease)).expires_at).toBe(expires_at);
      expect(await w.queue.reap()).toMatchObject({ silent: 0, expired: 0 });
      await w.pass(MINUTE * 0.9);
    }
    await w.queue.heartbeat(lease);
    await w.pass(MINUTE * 0.6);
    expect(await w.queue.reap()).toMatchObject({ silent: 0, expired: 1 });
    expect(w.said("WORK_TIMEOUT")[0]?.payload).toMatchObject({ will_retry: true, timeout_seconds: 300, attempts: 1 });
    expect(w.queue.show(lease.work_id)).toMatchObject({
      state: "delayed",
      failure: { error_code: "JOB_ATTEMPT_EXPIRED" },
    });
    await expect(w.queue.heartbeat(lease)).rejects.toMatchObject({ code: "STALE_LEASE" });
  });

  test("a holder that goes silent before it began costs no attempt; one that had begun costs one", async () => {
    const w = world({ lease: { silentMs: MINUTE } });
    const { work_id } = await w.queue.add(selfplay("hex8"));
    await w.claimOne();
    await w.pass(2 * MINUTE);
    expect(await w.queue.reap()).toMatchObject({ silent: 1 });
    expect(w.queue.show(work_id)).toMatchObject({ state: "pending", attempts: 0 });
    const lease = (await w.claimOne())!;
    expect(lease).toMatchObject({ attempts: 1, fence: 2 });
    await w.queue.start(lease);
    await w.pass(2 * MINUTE);
    expect(await w.queue.reap()).toMatchObject({ silent: 1 });
    expect(w.queue.show(work_id)).toMatchObject({ state: "delayed", attempts: 1 });
    expect(w.said("TASK_ORPHANED").map(({ payload }) => payload.task_id)).toEqual([`${work_id}.1`, `${work_id}.2`]);
    expect(w.said("WORK_RETRY")).toHaveLength(1);
  });

  test.each([3_600_000, -3_600_000])(
    "a wall clock that is set by %i ms ends no lease, and delays the end of none",
    async (ms) => {
      const w = world({ lease: { silentMs: MINUTE } });
      await w.queue.add(selfplay("hex8", { timeout_seconds: 300 }));
      const lease = (await w.claimOne())!;
      await w.queue.start(lease);
      w.clock.setWall(ms);
      expect(await w.queue.reap()).toMatchObject({ silent: 0, expired: 0 });
      expect((await w.queue.heartbeat(lease)).expires_at).toBe(w.clock.now() + 300_000);
      await w.pass(MINUTE * 0.9);
      expect(await w.queue.reap()).toMatchObject({ silent: 0, expired: 0 });
      await w.pass(MINUTE * 0.2);
      expect(await w.queue.reap()).toMatchObject({ silent: 1, expired: 0 });
    },
  );

  test("an attempt lasts as long as it may, whatever is done to the wall clock", async () => {
    const w = world({ lease: { silentMs: MINUTE } });
    await w.queue.add(selfplay("hex8", { timeout_seconds: 90 }));
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    w.clock.setWall(-3_600_000);
    await w.pass(50_000);
    await w.queue.heartbeat(lease);
    w.clock.setWall(2 * 3_600_000);
    await w.pass(39_000);
    expect(await w.queue.reap()).toMatchObject({ silent: 0, expired: 0 });
    await w.pass(2_000);
    expect(await w.queue.reap()).toMatchObject({ silent: 0, expired: 1 });
  });

  test("time in which the process stood still ends no lease and takes nothing of the attempt's time", async () => {
    const clock = virtualClock();
    const { listened, stop } = listeningTime(clock);
    onTestFinished(stop);
    // As the clock of a process has it: with fractions.
    const w = world({ lease: { silentMs: MINUTE }, listened: () => listened() * 1.000_001, clock });
    await w.queue.add(selfplay("hex8", { timeout_seconds: 120 }));
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    await w.pass(30_000);
    clock.standStill(10 * MINUTE);
    expect(await w.queue.reap()).toMatchObject({ silent: 0, expired: 0 });
    const { expires_at } = await w.queue.heartbeat(lease);
    expect(expires_at - clock.now()).toBeGreaterThan(85_000);
    await w.pass(MINUTE);
    expect(await w.queue.reap()).toMatchObject({ silent: 1 });
  });

  test("after a start of the process every holder has its whole silence, and what was left of its time", async () => {
    const w = world({ lease: { silentMs: MINUTE } });
    const { work_id } = await w.queue.add(selfplay("hex8", { timeout_seconds: 300 }));
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    await w.pass(10 * MINUTE);
    const next = w.open();
    expect(await next.reap()).toMatchObject({ silent: 0, expired: 0 });
    await w.pass(MINUTE * 0.9);
    expect(await next.reap()).toMatchObject({ silent: 0, expired: 0 });
    await next.heartbeat(lease);
    expect(await next.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    expect(next.show(work_id)).toMatchObject({ state: "completed", attempts: 1 });
  });

  test("a job whose time ran out while nobody was there to hear of its end still has a silence to tell it", async () => {
    const w = world({ lease: { silentMs: MINUTE } });
    const { work_id } = await w.queue.add(selfplay("hex8", { timeout_seconds: 70 }));
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    await w.pass(50_000);
    await w.queue.heartbeat(lease);
    await w.pass(10 * MINUTE);
    const next = w.open();
    expect(await next.reap()).toMatchObject({ silent: 0, expired: 0 });
    await w.pass(MINUTE + 1);
    expect(await next.reap()).toMatchObject({ expired: 1 });
    expect(next.show(work_id)).toMatchObject({ state: "delayed" });
  });

  test("what a stopped try saved comes to the next one, if it is in the store", async () => {
    const stored = new Set(["ab".repeat(32)]);
    const w = world({ isStored: async (sha256) => stored.has(sha256) });
    await w.queue.add(selfplay("hex8"));
    const first = (await w.claimOne("a"))!;
    await w.queue.release(first, "preempted", { sha256: "cd".repeat(32), bytes: 5, epoch: 1 });
    const second = (await w.claimOne("b"))!;
    expect(second).not.toHaveProperty("resume");
    await w.queue.release(second, "preempted", { sha256: "ab".repeat(32), bytes: 5, epoch: 2 });
    const saved = { sha256: "ab".repeat(32), bytes: 5, epoch: 2 };
    expect(w.queue.show(first.work_id)).toMatchObject({ saved: { ...saved, node_id: "b", fence: 2 } });
    expect(await w.claimOne("a")).toMatchObject({ resume: saved });
  });

  test("shutting down gives jobs back unspent, but not for ever", async () => {
    const w = world({ limits: { maxReturns: 2 } });
    const { work_id } = await w.queue.add(selfplay("hex8", { max_attempts: 2 }));
    const rounds: unknown[] = [];
    for (let round = 0; round < 4; round += 1) {
      const lease = await w.claimOne();
      if (lease === undefined) break;
      await w.queue.release(lease, "shutting down");
      rounds.push([stateOf(w, work_id), w.queue.show(work_id)?.attempts]);
    }
    expect(rounds).toEqual([
      ["pending", 0],
      ["pending", 0],
      ["pending", 1],
      ["failed", 2],
    ]);
    expect(w.queue.show(work_id)?.failure).toMatchObject({ error_code: "WORK_RETURNED_TOO_OFTEN" });
    expect(w.said("TASK_ABANDONED")).toHaveLength(4);
    expect(w.said("WORK_FAILED")).toHaveLength(1);
  });
});

describe("a result whose files are not in the store", () => {
  test("does not count and costs nothing; brought with its files it counts, once", async () => {
    const stored = new Set<string>();
    const w = world({ isStored: async (sha256) => stored.has(sha256) });
    const { work_id } = await w.queue.add(selfplay("hex8"));
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    const missing = { code: "RESULT_FILE_MISSING", retryable: true };
    await expect(w.queue.complete(lease, EVIDENCE)).rejects.toMatchObject(missing);
    expect(w.queue.show(work_id)).toMatchObject({ state: "running", attempts: 1 });
    expect(w.said("WORK_COMPLETED")).toEqual([]);
    stored.add(EVIDENCE.outputs[0]!.sha256);
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    // What was counted stays so, wherever its file went.
    stored.clear();
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: true });
    expect(w.said("WORK_COMPLETED")).toHaveLength(1);
  });

  test("is one of many: the others count", async () => {
    const w = world({ isStored: async (sha256) => sha256 === EVIDENCE.outputs[0]!.sha256 });
    await w.queue.addAll([selfplay("a"), selfplay("b")]);
    const [one, two] = await w.queue.claim({ node_id: "a", most: 2, offer: PLENTY });
    const ghost = { ...EVIDENCE, outputs: [{ name: "g", sha256: "cd".repeat(32), bytes: 9 }] };
    const answers = await w.queue.completeAll([
      { ref: one!, evidence: ghost },
      { ref: two!, evidence: EVIDENCE },
    ]);
    expect(answers).toMatchObject([{ ok: false, error: { code: "RESULT_FILE_MISSING" } }, { ok: true }]);
  });
});

describe("a result whose files are not what its job makes", () => {
  test("does not count, and the job stays its holder's; a sound one counts", async () => {
    const asked: unknown[] = [];
    let fault: string | undefined = "is no model";
    const judgeFile: JudgeFile = async ({ work_type, config_key }, { name }) => {
      asked.push([work_type, config_key, name]);
      return fault;
    };
    const w = world({ judgeFile });
    const { work_id } = await w.queue.add(selfplay("hex8"));
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    await expect(w.queue.complete(lease, EVIDENCE)).rejects.toMatchObject({
      code: "WORK_EVIDENCE_UNUSABLE",
      message: `the result cannot be used: its file ${EVIDENCE.outputs[0]!.name} is no model`,
    });
    expect(w.queue.show(work_id)).toMatchObject({ state: "running", attempts: 1 });
    expect(asked).toEqual([["selfplay", "hex8_2p", EVIDENCE.outputs[0]!.name]]);
    fault = undefined;
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
  });
});

describe("a claim that is said again", () => {
  const again = (w: WorkWorld, node_id: string, claim_id?: string, most = 1) =>
    w.queue.claim({ node_id, most, offer: PLENTY, ...defined({ claim_id }) });
  const ids = (leases: readonly { work_id: string }[]) => leases.map(({ work_id }) => work_id);

  test("gets what it got, and the holder counts as heard", async () => {
    const w = world({ lease: { silentMs: MINUTE } });
    await w.queue.addAll([selfplay("a"), selfplay("b"), selfplay("c")]);
    const first = await again(w, "a", "one", 2);
    await w.pass(MINUTE * 0.9);
    const second = await again(w, "a", "one", 2);
    expect(second).toEqual(first.map((lease) => ({ ...lease, beat_by: lease.beat_by + 54_000 })));
    await w.pass(MINUTE * 0.9);
    expect(await w.queue.reap()).toMatchObject({ silent: 0 });
    expect(w.said("WORK_CLAIMED")).toHaveLength(2);
    // Also from a process that started since.
    expect(ids(await w.open().claim({ node_id: "a", most: 2, offer: PLENTY, claim_id: "one" }))).toEqual(ids(first));
  });

  test("is another claim from another node, by another name, or without one", async () => {
    const w = world();
    await w.queue.addAll(["a", "b", "c", "d"].map((config) => selfplay(config)));
    const all = [
      await again(w, "a", "one"),
      await again(w, "b", "one"),
      await again(w, "a", "two"),
      await again(w, "a"),
    ];
    expect(new Set(all.flatMap(ids)).size).toBe(4);
  });

  test("gets nothing again that began, ended, or was taken away", async () => {
    const w = world({ lease: { silentMs: MINUTE } });
    await w.queue.addAll(["a", "b", "c", "d", "e"].map((config) => selfplay(config)));
    const [begun, done, back, kept] = await again(w, "a", "one", 4);
    await w.queue.start(begun!);
    await w.queue.complete(done!, EVIDENCE);
    await w.queue.release(back!, "stopping");
    expect(ids(await again(w, "a", "one", 4))).toEqual([kept!.work_id]);
    await w.pass(2 * MINUTE);
    await w.queue.reap();
    const fresh = await again(w, "a", "one", 1);
    expect(fresh).toMatchObject([{ node_id: "a" }]);
    expect(w.said("WORK_CLAIMED")).toHaveLength(5);
  });

  test("does not get what its node claimed since without that name", async () => {
    const w = world();
    await w.queue.add(selfplay("a"));
    const [named] = await again(w, "a", "one");
    await w.queue.release(named!, "stopping");
    expect(await again(w, "a")).toHaveLength(1);
    expect(await again(w, "a", "one")).toEqual([]);
  });
});

describe("a result that comes after its lease lapsed", () => {
  /** A job whose holder began and was not heard again. */
  const silent = async (more: object = {}, began = true) => {
    const w = world({ lease: { silentMs: MINUTE } });
    const { work_id } = await w.queue.add(selfplay("hex8", more));
    const lease = (await w.claimOne("a"))!;
    if (began) await w.queue.start(lease);
    await w.pass(2 * MINUTE);
    await w.queue.reap();
    return { w, work_id, lease };
  };
  const stale = { code: "STALE_LEASE" };

  test.each([
    ["delayed", true, 1],
    ["pending", false, 0],
  ] as const)("counts while the job is %s again, once, as the attempt that it was", async (state, began, attempts) => {
    const { w, work_id, lease } = await silent({}, began);
    expect(w.queue.show(work_id)).toMatchObject({ state, attempts });
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: true });
    expect(w.queue.show(work_id)).toMatchObject({ state: "completed", attempts: 1, retry_at: null, node_id: "a" });
    expect(w.queue.unfinished).toBe(0);
    await w.pass(10 * MINUTE);
    expect(await w.claimOne("b")).toBeUndefined();
    expect(w.said("WORK_COMPLETED")).toMatchObject([{ payload: { work_id, node_id: "a", attempts: 1 } }]);
    // Its task was told as lost, and that stays its only end.
    expect(w.said("TASK_ORPHANED")).toHaveLength(1);
    expect(w.said("TASK_COMPLETED")).toEqual([]);
  });

  test("counts after the backoff is over, while nobody has claimed the job", async () => {
    const { w, work_id, lease } = await silent();
    await w.pass(10 * MINUTE);
    await w.queue.add(selfplay("other"));
    expect(await w.queue.claim({ node_id: "b", most: 1, offer: PLENTY, kinds: ["training"] })).toEqual([]);
    expect(stateOf(w, work_id)).toBe("pending");
    await w.queue.complete(lease, EVIDENCE);
    expect(stateOf(w, work_id)).toBe("completed");
  });

  test("counts when the job had failed by that silence, and lets nothing else of it come back", async () => {
    const { w, work_id, lease } = await silent({ max_attempts: 1 });
    expect(stateOf(w, work_id)).toBe("failed");
    await w.queue.complete(lease, EVIDENCE);
    expect(w.queue.show(work_id)).toMatchObject({ state: "completed", attempts: 1, failure: null });
    expect(w.queue.unfinished).toBe(0);
    await expect(w.queue.retry(work_id, { reason: "again" })).rejects.toMatchObject({ code: "JOB_NOT_FAILED" });
  });

  test("counts when its node was taken for dead", async () => {
    const w = world({ limits: { maxReturns: 0 } });
    const ids = (await w.queue.addAll([selfplay("a", { max_attempts: 1 }), selfplay("b", { max_attempts: 2 })])).map(
      ({ work_id }) => work_id,
    );
    const leases = await w.queue.claim({ node_id: "a", most: 2, offer: PLENTY });
    await w.queue.evict("a", "the node is dead");
    expect(ids.map((id) => stateOf(w, id))).toEqual(["failed", "pending"]);
    const answers = await w.queue.completeAll(leases.map((ref) => ({ ref, evidence: EVIDENCE })));
    expect(answers.map(({ ok }) => ok)).toEqual([true, true]);
    expect(w.queue.list().map(({ state, attempts }) => [state, attempts])).toEqual([
      ["completed", 1],
      ["completed", 1],
    ]);
  });

  test("counts when the attempt took too long and waits for another, but not when too long was its end", async () => {
    const w = world();
    const [tried, spent] = await w.queue.addAll([
      selfplay("a", { timeout_seconds: 30 }),
      selfplay("b", { timeout_seconds: 30, max_attempts: 1 }),
    ]);
    const leases = await w.queue.claim({ node_id: "a", most: 2, offer: PLENTY });
    for (const lease of leases) await w.queue.start(lease);
    await w.pass(31_000);
    await w.queue.reap();
    const of = (job: { work_id: string } | undefined) => leases.find(({ work_id }) => work_id === job!.work_id)!;
    expect(await w.queue.complete(of(tried), EVIDENCE)).toEqual({ repeated: false });
    await expect(w.queue.complete(of(spent), EVIDENCE)).rejects.toMatchObject(stale);
    expect(stateOf(w, spent!.work_id)).toBe("failed");
  });

  test("lets jobs go on that waited for it", async () => {
    const { w, work_id, lease } = await silent();
    const next = await w.queue.add(selfplay("hex8", { depends_on: [work_id] }));
    await w.queue.complete(lease, EVIDENCE);
    expect(await w.claimOne("b")).toMatchObject({ work_id: next.work_id });
  });

  test("needs its evidence like any other, and leaves the job as it was without it", async () => {
    const { w, work_id, lease } = await silent();
    await expect(w.queue.complete(lease, { ...EVIDENCE, outputs: [] })).rejects.toMatchObject({
      code: "WORK_EVIDENCE_LACKING",
    });
    expect(w.queue.show(work_id)).toMatchObject({ state: "delayed", attempts: 1 });
  });

  test("counts for nobody but the last holder: not for another node, nor for an older lease", async () => {
    const { w, lease } = await silent();
    for (const ref of [
      { ...lease, node_id: "b" },
      { ...lease, fence: 0 },
      { ...lease, fence: 2 },
    ])
      await expect(w.queue.complete(ref, EVIDENCE)).rejects.toMatchObject(stale);
    // Nothing but a result or a sign of life: who is not heard ends nothing.
    await expect(w.queue.fail(lease, { class: "retryable", error: "x" })).rejects.toMatchObject(stale);
    await expect(w.queue.release(lease, "x")).rejects.toMatchObject(stale);
  });

  test("its holder has it again when it is heard, with what it had left, while nobody has claimed the job", async () => {
    const { w, work_id, lease } = await silent({ timeout_seconds: 300 });
    const { expires_at, stop } = await w.queue.heartbeat(lease, { progress: 0.5 });
    expect([expires_at - w.clock.now(), stop]).toEqual([300_000, null]);
    expect(w.queue.show(work_id)).toMatchObject({
      state: "running",
      attempts: 1,
      fence: 1,
      progress: 0.5,
      failure: null,
    });
    await w.pass(10 * MINUTE);
    await w.queue.claim({ node_id: "b", most: 1, offer: PLENTY, kinds: ["training"] });
    expect(stateOf(w, work_id)).toBe("running");
    expect(await w.queue.reap()).toMatchObject({ expired: 1 });
    await expect(w.queue.heartbeat(lease)).rejects.toMatchObject(stale);
    expect(w.said("TASK_SPAWNED")).toHaveLength(2);
  });

  test("one that shall stop does not have it again", async () => {
    const w = world({ lease: { silentMs: MINUTE } });
    const { work_id } = await w.queue.add(selfplay("hex8"));
    const lease = (await w.claimOne("a"))!;
    await w.queue.preempt(work_id, { reason: "room" });
    await w.pass(2 * MINUTE);
    await w.queue.reap();
    await expect(w.queue.heartbeat(lease)).rejects.toMatchObject(stale);
    expect(stateOf(w, work_id)).toBe("pending");
  });

  test("one whose silence was the end of its job works on, and its result counts", async () => {
    const { w, work_id, lease } = await silent({ max_attempts: 1 });
    expect(await w.queue.heartbeat(lease)).toMatchObject({ stop: null });
    expect(stateOf(w, work_id)).toBe("failed");
    await w.queue.complete(lease, EVIDENCE);
    expect(stateOf(w, work_id)).toBe("completed");
  });

  test("counts while somebody else has the job, which learns who was first", async () => {
    const { w, work_id, lease } = await silent();
    await w.pass(10 * MINUTE);
    const next = (await w.claimOne("b"))!;
    await w.queue.start(next);
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: true });
    // The books show the attempt that did it.
    expect(w.queue.show(work_id)).toMatchObject({ state: "completed", attempts: 1, node_id: "a", fence: 2 });
    const told = { ...stale, message: expect.stringContaining("node a was the first") };
    await expect(w.queue.heartbeat(next)).rejects.toMatchObject(told);
    await expect(w.queue.complete(next, EVIDENCE)).rejects.toMatchObject(told);
    expect(w.said("WORK_COMPLETED")).toMatchObject([{ payload: { work_id, node_id: "a", attempts: 1 } }]);
    expect(w.said("TASK_CANCELLED")).toMatchObject([{ payload: { task_id: `${work_id}.2`, node_id: "b" } }]);
  });

  test("counts after others had the job; who gave it back has said its last word about it", async () => {
    const { w, lease } = await silent();
    await w.pass(10 * MINUTE);
    const next = (await w.claimOne("b"))!;
    await w.queue.release(next, "stopping");
    await expect(w.queue.complete(next, EVIDENCE)).rejects.toMatchObject(stale);
    expect(stateOf(w, lease.work_id)).toBe("pending");
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    expect(await w.claimOne("c")).toBeUndefined();
  });

  test("counts when another claims in the same moment, whoever is first", async () => {
    const first = await silent();
    await first.w.pass(10 * MINUTE);
    const [claimed, late] = await Promise.allSettled([
      first.w.claimOne("b"),
      first.w.pass(0).then(() => first.w.queue.complete(first.lease, EVIDENCE)),
    ]);
    expect([claimed, late]).toMatchObject([{ value: { fence: 2 } }, { value: { repeated: false } }]);
    const second = await silent({}, false);
    const [done, none] = await Promise.all([second.w.queue.complete(second.lease, EVIDENCE), second.w.claimOne("b")]);
    expect([done, none]).toEqual([{ repeated: false }, undefined]);
  });

  test("is refused after a failure that its holder told itself", async () => {
    const w = world();
    const { work_id } = await w.queue.add(selfplay("hex8"));
    const lease = (await w.claimOne())!;
    await w.queue.fail(lease, { class: "retryable", error: "it broke" });
    await expect(w.queue.complete(lease, EVIDENCE)).rejects.toMatchObject(stale);
    expect(stateOf(w, work_id)).toBe("delayed");
  });

  test("is refused after a cancel, and stays so when the job is wanted again", async () => {
    const { w, work_id, lease } = await silent();
    await w.queue.cancel(work_id, { reason: "no need" });
    await expect(w.queue.complete(lease, EVIDENCE)).rejects.toMatchObject({ code: "JOB_CANCELLED" });
    await w.queue.retry(work_id, { reason: "yes, after all" });
    await expect(w.queue.complete(lease, EVIDENCE)).rejects.toMatchObject(stale);
    expect(w.queue.show(work_id)).toMatchObject({ state: "pending", attempts: 0 });
  });

  test("is refused after the deadline has ended the job", async () => {
    const { w, work_id, lease } = await silent({ deadline: 1_000_000_000_000 });
    const { deadline } = w.queue.show(work_id)!;
    await w.pass(deadline! - w.clock.now() + 1);
    await w.queue.reap();
    await expect(w.queue.complete(lease, EVIDENCE)).rejects.toMatchObject(stale);
    expect(w.queue.show(work_id)).toMatchObject({ state: "failed", failure: { error_code: "JOB_TOO_LATE" } });
  });

  test("is refused when another job of its dedup key took its place", async () => {
    const { w, work_id, lease } = await silent({ max_attempts: 1, dedup_key: "k" });
    const other = await w.queue.add(selfplay("hex8", { dedup_key: "k" }));
    expect(other.duplicate).toBe(false);
    await expect(w.queue.complete(lease, EVIDENCE)).rejects.toMatchObject(stale);
    expect(stateOf(w, work_id)).toBe("failed");
  });

  test("gives way to one of its dedup key that is added in the same moment, and so does a retry", async () => {
    const late = await silent({ max_attempts: 1, dedup_key: "k" });
    const [added, refused] = await Promise.allSettled([
      late.w.queue.add(selfplay("hex8", { dedup_key: "k" })),
      late.w.queue.complete(late.lease, EVIDENCE),
    ]);
    expect([added, refused]).toMatchObject([{ value: { duplicate: false } }, { reason: stale }]);
    const again = await silent({ max_attempts: 1, dedup_key: "k" });
    const [, duplicate] = await Promise.allSettled([
      again.w.queue.add(selfplay("hex8", { dedup_key: "k" })),
      again.w.queue.retry(again.work_id, { reason: "again" }),
    ]);
    expect(duplicate).toMatchObject({ reason: { code: "WORK_DUPLICATE" } });
  });
});

describe("failures", () => {
  test("a clock that is set back does not make the pause before the next try longer", async () => {
    const w = world();
    await w.queue.add(selfplay("hex8"));
    await w.queue.fail((await w.claimOne())!, { class: "resource", error: "no memory" });
    expect(await w.claimOne()).toBeUndefined();
    w.clock.setWall(-3_600_000);
    expect(await w.claimOne()).toMatchObject({ attempts: 2 });
  });

  const failing = async (failure: Parameters<WorkWorld["queue"]["fail"]>[1]) => {
    const w = world();
    const { work_id } = await w.queue.add(selfplay("hex8", { max_attempts: 2 }));
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    const after = await w.queue.fail(lease, failure);
    return { w, work_id, after };
  };

  test("a hiccup is tried again later, and in the end the job is a visible failure with its stderr", async () => {
    const { w, work_id, after } = await failing({ class: "retryable", error: "segfault", stderr_tail: "old" });
    expect(after.again).toBe(true);
    expect(stateOf(w, work_id)).toBe("delayed");
    expect(await w.claimOne()).toBeUndefined();
    await w.pass(5_000);
    const lease = (await w.claimOne())!;
    expect(lease.attempts).toBe(2);
    const stderr_tail = `${"noise\n".repeat(5_000)}the end`;
    const last = await w.queue.fail(lease, { class: "retryable", error: "segfault", error_code: "SIG11", stderr_tail });
    expect(last).toEqual({ again: false, retry_at: null });
    const { state, failure } = w.queue.show(work_id)!;
    expect(state).toBe("failed");
    expect(failure).toMatchObject({ error: "segfault", error_code: "SIG11" });
    expect(failure?.stderr_tail).toHaveLength(8_000);
    expect(failure?.stderr_tail?.endsWith("the end")).toBe(true);
    expect(w.said("WORK_FAILED")[0]?.payload).toMatchObject({ work_id, attempts: 2, error_code: "SIG11" });
    expect(names(w).filter((name) => name === "TASK_FAILED")).toHaveLength(1);
  });

  test("a shortage waits longer than a hiccup", async () => {
    const hiccup = await failing({ class: "retryable", error: "x" });
    const shortage = await failing({ class: "resource", error: "out of memory" });
    const wait = ({ w, after }: typeof hiccup) => (after.retry_at! - w.clock.now()) / 1_000;
    expect(wait(shortage)).toBeGreaterThan(3 * wait(hiccup));
  });

  test("a wrong input is never tried again", async () => {
    const { w, work_id, after } = await failing({ class: "bad_input", error: "no such board" });
    expect(after.again).toBe(false);
    expect(w.queue.show(work_id)).toMatchObject({ state: "failed", attempts: 1 });
    expect(w.said("WORK_RETRY")).toEqual([]);
  });

  test("a preempted attempt counts as none", async () => {
    const { w, work_id, after } = await failing({ class: "preempted", error: "made room" });
    expect(after.again).toBe(true);
    expect(w.queue.show(work_id)).toMatchObject({ state: "pending", attempts: 0 });
    expect(w.said("TASK_ABANDONED")).toHaveLength(1);
  });

  test("an operator may have it tried again, with all its attempts", async () => {
    const { w, work_id } = await failing({ class: "bad_input", error: "no such board" });
    await expect(w.queue.retry("w99", { reason: "" })).rejects.toMatchObject({ code: "JOB_NOT_FOUND" });
    expect(await w.queue.retry(work_id, { reason: "fixed", requested_by: "ann" })).toEqual({ state: "pending" });
    await expect(w.queue.retry(work_id, { reason: "" })).rejects.toMatchObject({ code: "JOB_NOT_FAILED" });
    expect(await w.claimOne()).toMatchObject({ work_id, attempts: 1, fence: 2 });
  });

  test("a deadline that passes ends the job, waiting or running", async () => {
    const w = world();
    const deadline = w.clock.now() / 1_000 + 60;
    await w.queue.addAll([selfplay("hex8", { deadline }), selfplay("hex8", { deadline })]);
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    expect(lease.expires_at).toBe(deadline * 1_000);
    await w.pass(61_000);
    expect(await w.queue.reap()).toMatchObject({ expired: 1, lapsed: 1 });
    expect(w.queue.list().map(({ state, failure }) => [state, failure?.error_code])).toEqual([
      ["failed", "JOB_TOO_LATE"],
      ["failed", "JOB_TOO_LATE"],
    ]);
    const error = "its deadline passed before it was done";
    const late = { error, error_code: "JOB_TOO_LATE", work_type: "selfplay", config_key: "hex8_2p" };
    expect(w.said("WORK_FAILED").map(({ payload }) => payload)).toEqual([
      { ...late, work_id: lease.work_id, attempts: 1, node_id: "a", duration_seconds: 61 },
      { ...late, work_id: w.queue.list()[1]!.work_id },
    ]);
    expect(w.said("TASK_FAILED")).toMatchObject([{ payload: { error, error_code: "JOB_TOO_LATE", retryable: false } }]);
    await expect(w.queue.retry(lease.work_id, { reason: "" })).rejects.toMatchObject({ code: "JOB_TOO_LATE" });
  });
});

describe("cancelling and making room", () => {
  test("a cancelled job tells its holder at the next beat, and takes no result any more", async () => {
    const w = world();
    await w.queue.add(selfplay("hex8"));
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    expect(await w.queue.cancel(lease.work_id, { reason: "changed plans", requested_by: "ann" })).toEqual({
      state: "cancelled",
    });
    expect((await w.queue.heartbeat(lease)).stop).toMatchObject({ kind: "cancelled", reason: "changed plans" });
    await expect(w.queue.complete(lease, EVIDENCE)).rejects.toMatchObject({ code: "JOB_CANCELLED" });
    expect(w.said("WORK_CANCELLED")[0]?.payload).toMatchObject({ node_id: "a", requested_by: "ann" });
    expect(w.said("TASK_CANCELLED")).toHaveLength(1);
    expect(await w.queue.cancel(lease.work_id, { reason: "again" })).toEqual({ state: "cancelled" });
    expect(w.said("WORK_CANCELLED")).toHaveLength(1);
  });

  test("a preempted job tells its holder, which may still finish, give back, or lose it after a while", async () => {
    const w = world({ lease: { silentMs: MINUTE, graceMs: 30_000 } });
    await w.queue.addAll([selfplay("a"), selfplay("b")]);
    const [one, two] = await w.queue.claim({ node_id: "a", most: 2, offer: PLENTY });
    await w.queue.start(one!);
    expect(await w.queue.preempt(one!.work_id, { reason: "a critical job", for: "w9" })).toEqual({ asked: true });
    expect(await w.queue.preempt(one!.work_id, { reason: "again" })).toEqual({ asked: false });
    await w.queue.preempt(two!.work_id, { reason: "a critical job" });
    expect((await w.queue.heartbeat(one!)).stop).toMatchObject({ kind: "preempted", reason: "a critical job" });
    await w.queue.complete(two!, EVIDENCE);
    await w.pass(31_000);
    expect(await w.queue.reap()).toMatchObject({ stopped: 1, silent: 0 });
    expect(w.queue.show(one!.work_id)).toMatchObject({ state: "pending", attempts: 0 });
    expect(w.said("JOB_PREEMPTED").map(({ payload }) => payload.preempting_work_id)).toEqual(["w9", undefined]);
    await expect(w.queue.preempt(one!.work_id, { reason: "" })).rejects.toMatchObject({ code: "JOB_NOT_HELD" });
  });

  test("what may not be stopped is not", async () => {
    const w = world();
    await w.queue.add({ work_type: "training", config_key: "hex8_2p" });
    const lease = (await w.claimOne())!;
    await expect(w.queue.preempt(lease.work_id, { reason: "" })).rejects.toMatchObject({ code: "JOB_NOT_PREEMPTIBLE" });
  });

  test("a lost node's jobs come back at once, a class more urgent, unspent", async () => {
    const w = world();
    await w.queue.addAll([selfplay("a"), selfplay("b", { urgency: "critical" }), selfplay("c")]);
    const [one, two] = await w.queue.claim({ node_id: "a", most: 2, offer: PLENTY });
    await w.queue.claim({ node_id: "b", most: 1, offer: PLENTY });
    expect((await w.queue.evict("a", "the node is gone")).moved.toSorted()).toEqual(
      [one!.work_id, two!.work_id].toSorted(),
    );
    expect(
      w.queue
        .list({ state: "pending" })
        .map(({ urgency, attempts }) => [urgency, attempts])
        .toSorted(),
    ).toEqual([
      ["critical", 0],
      ["high", 0],
    ]);
    await w.queue.claim({ node_id: "b", most: 3, offer: PLENTY });
    await expect(w.queue.heartbeat(one!)).rejects.toMatchObject({ code: "STALE_LEASE" });
  });
});

describe("dependencies", () => {
  test("a job waits until all that it depends on is completed", async () => {
    const w = world();
    const [a, b] = await w.queue.addAll([selfplay("a"), selfplay("b")]);
    const c = await w.queue.add(selfplay("c", { depends_on: [a!.work_id, b!.work_id] }));
    const leases = await w.queue.claim({ node_id: "a", most: 9, offer: PLENTY });
    expect(leases.map(({ work_id }) => work_id)).toEqual([a!.work_id, b!.work_id]);
    await w.queue.complete(leases[0]!, EVIDENCE);
    expect(stateOf(w, c.work_id)).toBe("blocked");
    expect(await w.claimOne()).toBeUndefined();
    await w.queue.complete(leases[1]!, EVIDENCE);
    expect(stateOf(w, c.work_id)).toBe("pending");
    expect(await w.claimOne()).toMatchObject({ work_id: c.work_id });
    const late = await w.queue.add(selfplay("d", { depends_on: [a!.work_id] }));
    expect(stateOf(w, late.work_id)).toBe("pending");
  });

  test("what depends on a failure fails with the reason, to the last of the chain", async () => {
    const w = world();
    const first = await w.queue.add(selfplay("a"));
    const second = await w.queue.add(selfplay("b", { depends_on: [first.work_id] }));
    const third = await w.queue.add(selfplay("c", { depends_on: [second.work_id] }));
    await w.queue.fail((await w.claimOne())!, { class: "bad_input", error: "wrong" });
    expect(w.queue.show(third.work_id)).toMatchObject({
      state: "failed",
      failure: { error: `job ${second.work_id}, which it waited for, failed`, error_code: "WORK_DEPENDENCY_FAILED" },
    });
    expect(w.said("WORK_FAILED")).toHaveLength(3);
    await expect(w.queue.add(selfplay("d", { depends_on: [first.work_id] }))).rejects.toMatchObject({
      code: "WORK_DEPENDENCY_FAILED",
    });
    await expect(w.queue.retry(third.work_id, { reason: "" })).rejects.toMatchObject({
      code: "WORK_DEPENDENCY_FAILED",
    });
    await w.queue.retry(first.work_id, { reason: "fixed" });
    expect(await w.queue.retry(second.work_id, { reason: "fixed" })).toEqual({ state: "blocked" });
  });

  test("a job that is added while the one it waits for completes does not wait for ever", async () => {
    const w = world();
    const first = await w.queue.add(selfplay("a"));
    const lease = (await w.claimOne())!;
    const [, second] = await Promise.all([
      w.queue.complete(lease, EVIDENCE),
      w.queue.add(selfplay("b", { depends_on: [first.work_id] })),
    ]);
    expect(stateOf(w, second.work_id)).toBe("pending");
    expect(await w.claimOne()).toMatchObject({ work_id: second.work_id });
  });
});

describe("who gets what", () => {
  test("a node gets only what it can do, and no more than it has room for", async () => {
    const w = world();
    const add = (needs: object, more: object = {}) => w.queue.add(selfplay("a", { needs, ...more }));
    const gpu = await add({ gpu: 1, gpu_memory_gb: 24 });
    const big = await add({ memory_gb: 64 });
    const tagged = await add({ tags: ["avx512"] });
    const mine = await add({ cpu: 4 }, { target_nodes: ["a"] });
    const notMine = await add({ cpu: 4 }, { excluded_nodes: ["a"] });
    const claim = async (node_id: string, offer: object, kinds?: string[]) =>
      (
        await w.queue.claim({
          node_id,
          most: 9,
          offer: { cpu: 8, gpu: 0, memory_gb: 16, gpu_memory_gb: 0, tags: [], ...offer },
          ...defined({ kinds }),
        })
      ).map(({ work_id }) => work_id);
    expect(await claim("a", {}, ["training"])).toEqual([]);
    expect(await claim("a", { cpu: 2 })).toEqual([]);
    expect(await claim("a", { gpu: 1, gpu_memory_gb: 16 })).toEqual([mine.work_id]);
    expect(await claim("c", { memory_gb: 64, tags: ["avx512"], cpu: 0 })).toEqual([big.work_id, tagged.work_id]);
    expect(await claim("b", { gpu: 1, gpu_memory_gb: 24 })).toEqual([gpu.work_id, notMine.work_id]);
  });

  test("what a claim takes is taken from what the node has", async () => {
    const w = world();
    await w.queue.addAll(Array.from({ length: 5 }, () => selfplay("a", { needs: { cpu: 3 } })));
    const leases = await w.queue.claim({ node_id: "a", most: 9, offer: { ...PLENTY, cpu: 8 } });
    expect(leases).toHaveLength(2);
  });

  test("a node that the policy holds back gets nothing, with the reason", async () => {
    const w = world({
      nodePolicy: (node) => (node === "bad" ? { accepts: false, reason: "cordoned" } : { accepts: true }),
    });
    await w.queue.add(selfplay("a"));
    await expect(w.claimOne("bad")).rejects.toMatchObject({
      code: "NODE_HELD_BACK",
      message: expect.stringContaining("cordoned"),
    });
    expect(await w.claimOne("good")).toBeDefined();
  });

  test("configs take turns, and inside one the most urgent and then the oldest goes first", async () => {
    const w = world();
    await w.queue.addAll(Array.from({ length: 6 }, () => selfplay("a")));
    await w.queue.addAll([selfplay("b"), selfplay("b", { urgency: "high" }), selfplay("b")]);
    const leases = await w.queue.claim({ node_id: "a", most: 6, offer: PLENTY });
    expect(leases.filter(({ config_key }) => config_key === "b_2p").map(({ urgency }) => urgency)).toEqual([
      "high",
      "normal",
      "normal",
    ]);
    expect(leases.filter(({ config_key }) => config_key === "a_2p").map(({ work_id }) => work_id)).toEqual([
      "w1",
      "w2",
      "w3",
    ]);
  });

  test("claims that run at the same time never get the same job", async () => {
    const w = world();
    await w.queue.addAll(Array.from({ length: 50 }, (_, i) => selfplay(`c${i % 3}`)));
    const claims = Array.from({ length: 10 }, (_, i) => w.queue.claim({ node_id: `n${i}`, most: 7, offer: PLENTY }));
    const ids = (await Promise.all(claims)).flat().map(({ work_id }) => work_id);
    expect(ids).toHaveLength(50);
    expect(new Set(ids).size).toBe(50);
  });
});

describe("memory", () => {
  test("finished jobs are forgotten in their time, numbers are never given twice", async () => {
    const w = world({ limits: { keepCompletedMs: MINUTE, keepFailedMs: 10 * MINUTE } });
    await w.queue.addAll([selfplay("a"), selfplay("a")]);
    const [done, wrong] = await w.queue.claim({ node_id: "a", most: 2, offer: PLENTY });
    await w.queue.complete(done!, EVIDENCE);
    await w.queue.fail(wrong!, { class: "bad_input", error: "x" });
    await w.pass(2 * MINUTE);
    expect(await w.queue.forget()).toEqual({ forgotten: 1 });
    expect(w.queue.list().map(({ work_id }) => work_id)).toEqual(["w2"]);
    await w.pass(20 * MINUTE);
    expect(await w.queue.forget()).toEqual({ forgotten: 0 });
    expect((await w.open().add(selfplay("a"))).work_id).toBe("w3");
    expect(await w.queue.forget()).toEqual({ forgotten: 1 });
    await expect(w.queue.complete(done!, EVIDENCE)).rejects.toMatchObject({ code: "JOB_NOT_FOUND" });
  });

  test("a completed job is kept for a day and a failed one for seven, to the moment", async () => {
    const w = world();
    await w.queue.addAll([selfplay("a"), selfplay("a"), selfplay("a")]);
    const [done, wrong] = await w.queue.claim({ node_id: "a", most: 2, offer: PLENTY });
    await w.queue.complete(done!, EVIDENCE);
    await w.queue.fail(wrong!, { class: "bad_input", error: "x" });
    const DAY = 1_440 * MINUTE;
    const forgotten = [];
    for (const ms of [DAY, 1, 6 * DAY - 1, 1]) {
      await w.pass(ms);
      forgotten.push((await w.queue.forget()).forgotten);
    }
    expect(forgotten).toEqual([0, 1, 0, 1]);
  });

  test("of too many finished jobs the oldest go first, completed ones before failures", async () => {
    const w = world({ limits: { maxFinished: 2 } });
    await w.queue.addAll(Array.from({ length: 5 }, () => selfplay("a")));
    const leases = await w.queue.claim({ node_id: "a", most: 4, offer: PLENTY });
    await w.queue.fail(leases[0]!, { class: "bad_input", error: "x" });
    for (const lease of leases.slice(1)) {
      await w.pass(10);
      await w.queue.complete(lease, EVIDENCE);
    }
    await w.queue.forget();
    expect(w.queue.list().map(({ work_id }) => work_id)).toEqual(["w1", "w4", "w5"]);
  });

  test("a process that starts anew finds everything as it was", async () => {
    const w = world();
    await w.queue.addAll([selfplay("a"), selfplay("b", { urgency: "low" })]);
    const lease = (await w.claimOne())!;
    const next = w.open();
    expect(next.unfinished).toBe(2);
    expect(await next.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    expect(await next.claim({ node_id: "b", most: 5, offer: PLENTY })).toHaveLength(1);
    expect((await next.add(selfplay("c"))).work_id).toBe("w3");
  });

  test("lanes that nobody uses are forgotten, and their jobs are found all the same when they come again", async () => {
    const w = world({ limits: { maxLanes: 4, keepCompletedMs: 0 } });
    for (const config of ["a", "b", "c"]) {
      await w.queue.add(selfplay(config));
      await w.queue.complete((await w.claimOne())!, EVIDENCE);
    }
    await w.pass(10);
    await w.queue.forget();
    expect(w.store.read("SELECT config_key FROM work_lanes")).toEqual([{ config_key: "c_2p" }]);
    for (const config of ["a", "d", "e"]) await w.queue.add(selfplay(config));
    await expect(w.queue.add(selfplay("f"))).rejects.toMatchObject({ code: "WORK_LANES_FULL" });
    expect(await w.queue.claim({ node_id: "a", most: 9, offer: PLENTY })).toHaveLength(3);
  });
});

describe("a disk that refuses", () => {
  test("nothing has happened, nothing was said, and everything goes on once it works again", async () => {
    const writer = memoryWriter(withWork);
    const clock = virtualClock();
    const w = workWorld({}, inThreadStore(writer, { clock }));
    await w.queue.addAll([selfplay("a"), selfplay("b")]);
    const lease = (await w.claimOne())!;
    writer.db.exec("PRAGMA query_only = 1");
    const trouble = { code: expect.stringMatching(/^STORE_/) };
    const answers = await Promise.allSettled([
      w.queue.complete(lease, EVIDENCE),
      // It leans on the first one, which is not on disk yet: it must not be told that it repeats anything.
      w.queue.complete(lease, EVIDENCE),
      w.queue.add(selfplay("c")),
      w.queue.claim({ node_id: "b", most: 1, offer: PLENTY }),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ status: "rejected", reason: trouble });
    writer.db.exec("PRAGMA query_only = 0");
    expect(w.queue.list().map(({ state }) => state)).toEqual(["claimed", "pending"]);
    expect(w.queue.unfinished).toBe(2);
    expect(w.said("WORK_COMPLETED")).toEqual([]);
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    expect(await w.claimOne("b")).toBeDefined();
    await w.close();
    writer.close();
  });
});

/** What is told when a lease ends without its holder, to the moment; and how much one look takes. */
import { describe, expect, onTestFinished, test } from "vitest";
import { EVIDENCE, PLENTY, workWorld } from "../../../test/unit/work/work-world.ts";

const MINUTE = 60_000;
const world = (options: Parameters<typeof workWorld>[0] = {}) => {
  const w = workWorld({ lease: { silentMs: MINUTE, graceMs: MINUTE / 2 }, ...options });
  onTestFinished(() => w.close());
  return w;
};
const job = (more: object = {}) => ({ work_type: "selfplay", config_key: "hex8_2p", ...more }) as const;
const NOTHING = {
  silent: 0,
  expired: 0,
  stopped: 0,
  stuck: 0,
  lapsed: 0,
  dependents: 0,
  stuckJobs: [],
  unrelieved: [],
};

/** One job in the hands of node a. */
async function held(
  w: ReturnType<typeof world>,
  { begun = true, ...more }: { readonly begun?: boolean; readonly [name: string]: unknown } = {},
) {
  const { work_id } = await w.queue.add(job(more));
  const lease = (await w.claimOne())!;
  if (begun) await w.queue.start(lease);
  const about = { task_id: lease.task_id, node_id: "a", work_id, work_type: "selfplay", config_key: "hex8_2p" };
  return { work_id, lease, about, since: w.clock.now() };
}

describe("a holder that falls silent", () => {
  test("is there up to the last moment of its silence, and gone after it, with when it was heard last", async () => {
    const w = world();
    const { about, since, work_id } = await held(w);
    await w.pass(MINUTE - 1);
    expect(await w.queue.reap()).toEqual(NOTHING);
    await w.pass(1);
    expect(await w.queue.reap()).toEqual({ ...NOTHING, silent: 1 });
    expect(await w.queue.reap()).toEqual(NOTHING);
    const reason = "no sign of life for 60 s";
    expect(w.said("TASK_ORPHANED").map(({ payload }) => payload)).toEqual([
      { ...about, reason, last_seen_at: since / 1_000, silent_seconds: 60 },
    ]);
    const [retry] = w.said("WORK_RETRY").map(({ payload }) => payload as { retry_at: number });
    expect(retry).toMatchObject({ work_id, error: reason, attempts: 1, max_attempts: 3, node_id: "a" });
    expect(w.queue.show(work_id)).toMatchObject({
      state: "delayed",
      failure: { error: reason, error_code: "JOB_HOLDER_SILENT" },
    });
    expect(retry!.retry_at).toBeGreaterThan(w.clock.now() / 1_000);
  });

  test("before it began gives the job back unspent, with what it had waited counted on", async () => {
    const w = world();
    await w.queue.add(job());
    await w.pass(10_000);
    const lease = (await w.claimOne())!;
    const since = w.clock.now();
    await w.pass(MINUTE);
    expect(await w.queue.reap()).toEqual({ ...NOTHING, silent: 1 });
    expect(w.said("TASK_ORPHANED")).toMatchObject([
      { payload: { task_id: lease.task_id, last_seen_at: since / 1_000, reason: "no sign of life for 60 s" } },
    ]);
    expect(w.queue.show(lease.work_id)).toMatchObject({ state: "pending", attempts: 0 });
    const [row] = w.store.read<{ ready_at: number }>("SELECT ready_at FROM work_jobs");
    expect(row!.ready_at).toBe(w.clock.now() - 10_000);
    expect(w.said("WORK_RETRY")).toEqual([]);
  });

  test("with its last attempt fails the job, and is told so", async () => {
    const w = world();
    const { about, work_id } = await held(w, { max_attempts: 1 });
    await w.pass(MINUTE);
    await w.queue.reap();
    const { task_id: _, ...item } = about;
    expect(w.said("WORK_FAILED").map(({ payload }) => payload)).toEqual([
      {
        ...item,
        error: "no sign of life for 60 s",
        error_code: "JOB_HOLDER_SILENT",
        attempts: 1,
        duration_seconds: 60,
      },
    ]);
    expect(w.queue.show(work_id)).toMatchObject({ state: "failed" });
  });
});

describe("an attempt that takes too long", () => {
  test("ends in its last moment, and every word about it says the same", async () => {
    const w = world();
    const { about, lease, work_id } = await held(w, { timeout_seconds: 30 });
    await w.pass(29_999);
    await w.queue.heartbeat(lease);
    expect(await w.queue.reap()).toEqual(NOTHING);
    await w.pass(1);
    expect(await w.queue.reap()).toEqual({ ...NOTHING, expired: 1 });
    const error = "the attempt took longer than 30 s";
    expect(w.said("TASK_FAILED").map(({ payload }) => payload)).toEqual([
      { ...about, error, error_code: "JOB_ATTEMPT_EXPIRED", retryable: true, duration_seconds: 30 },
    ]);
    const { task_id: _, ...item } = about;
    expect(w.said("WORK_TIMEOUT").map(({ payload }) => payload)).toEqual([
      { ...item, attempts: 1, timeout_seconds: 30, will_retry: true },
    ]);
    expect(w.said("WORK_RETRY")).toMatchObject([{ payload: { work_id, error, attempts: 1 } }]);
  });

  test("and was never begun is no failed task", async () => {
    const w = world();
    await held(w, { timeout_seconds: 30, begun: false });
    await w.pass(30_000);
    expect(await w.queue.reap()).toEqual({ ...NOTHING, expired: 1 });
    expect(w.said("TASK_FAILED")).toEqual([]);
    expect(w.said("WORK_TIMEOUT")).toHaveLength(1);
  });

  test("and was the last one is not tried again", async () => {
    const w = world();
    await held(w, { timeout_seconds: 30, max_attempts: 1 });
    await w.pass(30_000);
    await w.queue.reap();
    expect(w.said("WORK_TIMEOUT")).toMatchObject([{ payload: { will_retry: false } }]);
    expect(w.said("WORK_FAILED")).toMatchObject([{ payload: { error_code: "JOB_ATTEMPT_EXPIRED" } }]);
  });
});

test("a holder that was told to make room has its grace to the moment, and gives the job back unspent", async () => {
  const w = world();
  const { work_id, lease } = await held(w);
  await w.queue.preempt(work_id, { reason: "a critical job" });
  const asked = w.clock.now();
  expect(await w.queue.heartbeat(lease)).toMatchObject({
    stop: { kind: "preempted", reason: expect.stringContaining("a critical job"), by: asked + MINUTE / 2 },
  });
  await w.pass(MINUTE / 2 - 1);
  expect(await w.queue.reap()).toEqual(NOTHING);
  await w.pass(1);
  expect(await w.queue.reap()).toEqual({ ...NOTHING, stopped: 1 });
  expect(w.said("TASK_ORPHANED")).toMatchObject([
    { payload: { reason: expect.stringMatching(/^it did not stop in time: .*a critical job/) } },
  ]);
  expect(w.queue.show(work_id)).toMatchObject({ state: "pending", attempts: 0 });
});

test("a deadline ends a job in its own moment, also one that waits for others, and says so", async () => {
  const w = world();
  const deadline = (w.clock.now() + MINUTE) / 1_000;
  const first = await w.queue.add(job());
  const blocked = await w.queue.add(job({ deadline, depends_on: [first.work_id] }));
  await w.pass(MINUTE - 1);
  expect(await w.queue.reap()).toEqual(NOTHING);
  await w.pass(1);
  expect(await w.queue.reap()).toEqual({ ...NOTHING, lapsed: 1 });
  expect(w.queue.show(blocked.work_id)).toMatchObject({ state: "failed", failure: { error_code: "JOB_TOO_LATE" } });
  expect(w.queue.show(first.work_id)).toMatchObject({ state: "pending" });
  const [row] = w.store.read<{ finished_at: number }>("SELECT finished_at FROM work_jobs WHERE seq = 2");
  expect(row!.finished_at).toBe(w.clock.now());
});

test("what waited for a job that was cancelled fails with it, and says so", async () => {
  const w = world();
  const first = await w.queue.add(job());
  const { work_id } = await w.queue.add(job({ depends_on: [first.work_id] }));
  await w.queue.cancel(first.work_id, { reason: "not wanted" });
  await w.queue.reap();
  const error = `job ${first.work_id}, which it waited for, was cancelled`;
  expect(w.said("WORK_FAILED")).toMatchObject([{ payload: { work_id, error, error_code: "WORK_DEPENDENCY_FAILED" } }]);
  expect(w.queue.show(work_id)).toMatchObject({ state: "failed", failure: { error } });
});

test("a lease says until when it is good, and a job in hand what its node has begun", async () => {
  const w = world();
  await w.queue.add(job({ timeout_seconds: 300, payload: { games: 3 } }));
  await w.pass(5_000);
  const now = w.clock.now();
  const [lease] = await w.queue.claim({ node_id: "a", most: 1, offer: PLENTY, start: true });
  expect(lease).toMatchObject({ beat_by: now + MINUTE, expires_at: now + 300_000, payload: { games: 3 } });
  expect(w.said("WORK_CLAIMED")).toMatchObject([{ payload: { expires_at: (now + 300_000) / 1_000 } }]);
  expect(w.said("WORK_STARTED")).toMatchObject([{ payload: { attempts: 1, task_id: lease!.task_id } }]);
  await w.pass(1_000);
  await w.queue.complete(lease!, EVIDENCE);
  expect(w.said("WORK_COMPLETED")).toMatchObject([{ payload: { duration_seconds: 1, attempts: 1, node_id: "a" } }]);
});

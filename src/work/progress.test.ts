import { afterEach, describe, expect, test } from "vitest";
import { EVIDENCE, PLENTY, type WorkWorld, workWorld } from "../../test/unit/work/work-world.ts";
import { createClaimDesk } from "./claim-desk.ts";
import { jobDurations, nodePaces, quantile } from "./job/durations.ts";
import type { Progress } from "./leases/lease.ts";

const worlds: WorkWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const MINUTE = 60_000;
const selfplay = (config = "hex8") => ({ work_type: "selfplay", config_key: `${config}_2p` }) as const;

/** A world in which such jobs have taken so long. */
const world = async (tookMs: readonly number[], options: Parameters<typeof workWorld>[0] = {}) => {
  const w = workWorld({ lease: { silentMs: MINUTE }, ...options });
  worlds.push(w);
  for (const ms of tookMs) {
    await w.queue.add(selfplay());
    const lease = (await w.claimOne("early"))!;
    await w.queue.start(lease);
    for (let left = ms; left > 0; left -= MINUTE / 2) {
      await w.pass(Math.min(left, MINUTE / 2));
      await w.queue.heartbeat(lease);
    }
    await w.queue.complete(lease, EVIDENCE);
  }
  return w;
};
const LONG = [40_000, 40_000, 40_000];
const LIMIT_MS = 120_000;

/** Beats for so long; what it tells is made anew for each. */
const beatFor = async (
  w: WorkWorld,
  ms: number,
  lease: NonNullable<Awaited<ReturnType<WorkWorld["claimOne"]>>>,
  tell: (n: number) => Progress = () => ({ progress: 0.5 }),
) => {
  for (let n = 1; n * 10_000 <= ms; n += 1) {
    await w.pass(10_000);
    await w.queue.heartbeat(lease, tell(n));
    await w.queue.reap();
  }
};
const heldBy = async (w: WorkWorld, node: string) => {
  const { work_id } = await w.queue.add(selfplay());
  const lease = (await w.claimOne(node))!;
  await w.queue.start(lease);
  return { work_id, lease };
};
/** Somebody else who asks for work. */
const asks = (w: WorkWorld, node_id: string) =>
  w.queue.workers.asked({ node_id, most: 1, offer: PLENTY, kinds: ["selfplay"] });

describe("a holder that beats and makes no progress", () => {
  test("loses the job after some times as long as such jobs took, unspent, and another has it", async () => {
    const w = await world(LONG);
    const { work_id, lease } = await heldBy(w, "a");
    asks(w, "b");
    await beatFor(w, LIMIT_MS - 10_000, lease);
    expect(w.queue.show(work_id)).toMatchObject({ state: "running", node_id: "a" });
    await beatFor(w, 30_000, lease);
    expect(w.queue.show(work_id)).toMatchObject({ state: "pending", attempts: 0 });
    expect(w.said("TASK_ORPHANED")).toMatchObject([
      { payload: { task_id: `${work_id}.1`, reason: "no progress for 120 s" } },
    ]);
    expect(await w.claimOne("b")).toMatchObject({ work_id, fence: 2, attempts: 1 });
  });

  test("works on meanwhile, and its result is taken if it is the first; the other learns who was", async () => {
    const w = await world(LONG);
    const { work_id, lease } = await heldBy(w, "a");
    asks(w, "b");
    await beatFor(w, LIMIT_MS + 10_000, lease);
    const other = (await w.claimOne("b"))!;
    await w.queue.start(other);
    expect(await w.queue.heartbeat(lease)).toMatchObject({ stop: null });
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    await expect(w.queue.complete(other, EVIDENCE)).rejects.toMatchObject({
      code: "STALE_LEASE",
      message: expect.stringContaining("node a was the first"),
    });
    expect(w.said("WORK_COMPLETED").filter(({ payload }) => payload.work_id === work_id)).toMatchObject([
      { payload: { node_id: "a" } },
    ]);
  });

  test("is refused when the other was first", async () => {
    const w = await world(LONG);
    const { work_id, lease } = await heldBy(w, "a");
    asks(w, "b");
    await beatFor(w, LIMIT_MS + 10_000, lease);
    const other = (await w.claimOne("b"))!;
    await w.queue.complete(other, EVIDENCE);
    await expect(w.queue.heartbeat(lease)).rejects.toMatchObject({ code: "STALE_LEASE" });
    await expect(w.queue.complete(lease, EVIDENCE)).rejects.toMatchObject({ details: { done_by: "b" } });
    expect(w.queue.show(work_id)).toMatchObject({ state: "completed", node_id: "b" });
  });

  test("does not get it again while another could take it, and gets it rather than nobody", async () => {
    const w = await world(LONG);
    const { work_id, lease } = await heldBy(w, "a");
    asks(w, "b");
    await beatFor(w, LIMIT_MS + 10_000, lease);
    const behind = await w.queue.add(selfplay());
    asks(w, "b");
    // It is passed over, and what stands behind it is not.
    expect(await w.claimOne("a")).toMatchObject({ work_id: behind.work_id });
    expect(await w.claimOne("a")).toBeUndefined();
    await w.pass(2 * MINUTE);
    expect(await w.claimOne("a")).toMatchObject({ work_id, fence: 2 });
  });

  test("may stand still twice as long when it has the job after another stood still with it", async () => {
    const w = await world(LONG);
    const { work_id, lease } = await heldBy(w, "a");
    asks(w, "b");
    await beatFor(w, LIMIT_MS + 10_000, lease);
    const second = (await w.claimOne("b"))!;
    await w.queue.start(second);
    await beatFor(w, LIMIT_MS + 30_000, second);
    expect(w.queue.show(work_id)).toMatchObject({ state: "running", node_id: "b" });
    await beatFor(w, LIMIT_MS, second);
    expect(w.queue.show(work_id)).toMatchObject({ state: "pending" });
  });

  test("is told to stop when the time of its attempt is over", async () => {
    const w = await world(LONG);
    const { work_id, lease } = await heldBy(w, "a");
    asks(w, "b");
    await beatFor(w, LIMIT_MS + 10_000, lease);
    await w.pass(61 * MINUTE);
    await expect(w.queue.heartbeat(lease)).rejects.toMatchObject({ code: "STALE_LEASE" });
    expect(w.queue.show(work_id)).toMatchObject({ state: "pending" });
  });
});

describe("progress", () => {
  test.each([
    ["a share that grows", (n: number) => ({ progress: n / 1_000 })],
    ["games that are played", (n: number) => ({ progress: 0.5, games: n })],
    ["a figure that changes", (n: number) => ({ metrics: { loss: 1 / n } })],
  ])("is %s: the job stays where it is", async (_what, tell) => {
    const w = await world(LONG);
    const { work_id, lease } = await heldBy(w, "a");
    asks(w, "b");
    await beatFor(w, 5 * LIMIT_MS, lease, tell);
    expect(w.queue.show(work_id)).toMatchObject({ state: "running", node_id: "a" });
  });

  test("is not asked for below the floor", async () => {
    const quick = await world([1_000, 1_000, 1_000]);
    const short = await heldBy(quick, "a");
    asks(quick, "b");
    await beatFor(quick, 50_000, short.lease);
    expect(quick.queue.show(short.work_id)).toMatchObject({ state: "running" });
    await beatFor(quick, 20_000, short.lease);
    expect(quick.queue.show(short.work_id)).toMatchObject({ state: "pending" });
  });

  test("of a new config is judged by what its kind took elsewhere", async () => {
    const w = await world(LONG);
    await w.queue.add(selfplay("square8"));
    const lease = (await w.claimOne("a"))!;
    await w.queue.start(lease);
    asks(w, "b");
    await beatFor(w, LIMIT_MS + 10_000, lease);
    expect(w.queue.show(lease.work_id)).toMatchObject({ state: "pending" });
  });

  test("has its whole time anew after a start, and what such jobs took is still known", async () => {
    const w = await world(LONG);
    const { work_id, lease } = await heldBy(w, "a");
    await beatFor(w, LIMIT_MS - 20_000, lease);
    const kept = w.queue.newDurations();
    expect(kept).toMatchObject([["selfplay/hex8_2p", { took: LONG }]]);
    await w.driven(
      w.router.transact({ source: "test" }, ({ rows }) => {
        for (const [key, row] of kept) rows.put({ table: "work_durations" } as never, key, row as never);
      }),
    );
    const next = w.open();
    await next.claim({ node_id: "b", most: 1, offer: PLENTY });
    expect(next.idle(work_id)).toMatchObject({ ms: 0, limitMs: LIMIT_MS });
    for (let n = 0; n < 13; n += 1) {
      await w.pass(10_000);
      await next.heartbeat(lease);
      expect(next.show(work_id)).toMatchObject({ state: "running" });
      if (n < 11) expect(await next.reap()).toMatchObject({ stuck: 0 });
    }
    expect(await next.reap()).toMatchObject({ stuck: 1, stuckJobs: [{ work_id, node_id: "a" }] });
  });
});

describe("the first jobs of a kind, of which nobody knows how long they take", () => {
  const FIRST_MS = 10 * MINUTE;
  /** Beats for so long, while another worker asks for jobs. */
  const besides = async (w: WorkWorld, ms: number, lease: Parameters<typeof beatFor>[2]) => {
    for (let passed = 0; passed < ms; passed += 30_000) {
      asks(w, "b");
      await beatFor(w, 30_000, lease);
    }
  };

  test("are given to another after ten minutes without progress, and the first result counts", async () => {
    const w = await world([]);
    const { work_id, lease } = await heldBy(w, "a");
    await besides(w, FIRST_MS - MINUTE, lease);
    expect(w.queue.show(work_id)).toMatchObject({ state: "running", node_id: "a" });
    await besides(w, 2 * MINUTE, lease);
    expect(w.queue.show(work_id)).toMatchObject({
      state: "pending",
      attempts: 0,
      lapses: [{ node_id: "a", why: "stuck" }],
    });
    expect(await w.claimOne("b")).toMatchObject({ work_id, fence: 2 });
    expect(await w.queue.complete(lease, EVIDENCE)).toEqual({ repeated: false });
    expect(w.queue.show(work_id)).toMatchObject({ state: "completed", node_id: "a" });
  });

  test("stay with the only worker there is, which is named at every look", async () => {
    const w = await world([]);
    const { work_id, lease } = await heldBy(w, "a");
    await beatFor(w, FIRST_MS - 10_000, lease);
    expect(await w.queue.reap()).toMatchObject({ stuck: 0, unrelieved: [] });
    await beatFor(w, 20 * MINUTE, lease);
    expect(w.queue.show(work_id)).toMatchObject({ state: "running", node_id: "a" });
    expect(await w.queue.reap()).toMatchObject({
      stuck: 0,
      unrelieved: [{ work_id, node_id: "a", work_type: "selfplay" }],
    });
    asks(w, "b");
    expect(await w.queue.reap()).toMatchObject({ stuck: 1, unrelieved: [] });
  });

  test("stay where they are as long as they go on", async () => {
    const w = await world([]);
    const { work_id, lease } = await heldBy(w, "a");
    for (let n = 1; n <= 50; n += 1) {
      asks(w, "b");
      await beatFor(w, MINUTE, lease, () => ({ progress: n / 100 }));
    }
    expect(w.queue.show(work_id)).toMatchObject({ state: "running", node_id: "a" });
  });

  test("are judged no more strictly than the longest other kind", async () => {
    const slow = 5 * MINUTE;
    const w = await world([slow, slow, slow]);
    await w.queue.add({ work_type: "training", config_key: "hex8_2p" });
    const lease = (await w.claimOne("a"))!;
    await w.queue.start(lease);
    const beside = async (minutes: number) => {
      for (let n = 0; n < 2 * minutes; n += 1) {
        w.queue.workers.asked({ node_id: "b", most: 1, offer: PLENTY });
        await beatFor(w, MINUTE / 2, lease);
      }
    };
    await beside(14);
    expect(w.queue.show(lease.work_id)).toMatchObject({ state: "running" });
    await beside(2);
    expect(w.queue.show(lease.work_id)).toMatchObject({ state: "pending" });
  });
});

describe("nodes of different speed", () => {
  /** Each has done some jobs: ten seconds on the fast one, a minute on the slow one. */
  const fastAndSlow = async () => {
    const w = await world([]);
    const once = async (node: string, ms: number) => {
      await w.queue.add(selfplay());
      const [lease] = await w.queue.claim({ node_id: node, most: 1, offer: PLENTY, start: true });
      await w.pass(ms);
      await w.queue.complete(lease!, EVIDENCE);
    };
    for (let n = 0; n < 8; n += 1) await once("fast", 10_000);
    for (let n = 0; n < 3; n += 1) {
      w.queue.workers.asked({ node_id: "fast", most: 0, offer: PLENTY, kinds: [] });
      await once("slow", 60_000);
    }
    return w;
  };

  test("a slow one leaves to a fast one what that would be done with first, and takes its part of more", async () => {
    const w = await fastAndSlow();
    const ids = [(await w.queue.add(selfplay())).work_id];
    asks(w, "fast");
    expect(w.queue.expectedMs(ids[0]!, "fast")).toBe(10_000);
    expect(w.queue.expectedMs(ids[0]!, "slow")).toBe(60_000);
    expect(await w.claimOne("slow")).toBeUndefined();
    // As many as the fast one does in that time are its; beyond them it helps that both work.
    for (let n = 0; n < 4; n += 1) ids.push((await w.queue.add(selfplay())).work_id);
    asks(w, "fast");
    expect(await w.claimOne("slow")).toMatchObject({ work_id: ids[0] });
    expect(w.queue.show(ids[0]!)).toMatchObject({ node_id: "slow" });
  });

  test("nobody waits for a fast one that does not come, or is not there", async () => {
    const w = await fastAndSlow();
    const { work_id } = await w.queue.add(selfplay());
    asks(w, "fast");
    expect(await w.claimOne("slow")).toBeUndefined();
    await w.pass(31_000);
    asks(w, "fast");
    expect(await w.claimOne("slow")).toMatchObject({ work_id });
    await w.queue.add(selfplay());
    await w.pass(2 * MINUTE);
    expect(await w.claimOne("slow")).toBeDefined();
  });

  test("what is known of them outlives the process", async () => {
    const w = await fastAndSlow();
    const kept = w.queue.newPaces();
    expect(kept.map(([node]) => node).sort()).toEqual(["fast", "fast|selfplay", "slow", "slow|selfplay"]);
    await w.driven(
      w.router.transact({ source: "test" }, ({ rows }) => {
        for (const [key, row] of kept) rows.put(nodePaces, key, row);
        for (const [key, row] of w.queue.newDurations()) rows.put(jobDurations, key, row);
      }),
    );
    const { work_id } = await w.queue.add(selfplay());
    expect(w.open().expectedMs(work_id, "slow")).toBe(60_000);
  });
});

test("an open claim of a node that fell silent is not given the job that it lost: it is its own again when it is heard", async () => {
  const w = await world([]);
  const desk = createClaimDesk(w.queue, w.clock);
  const { work_id } = await w.queue.add(selfplay());
  const lease = (await w.claimOne("a"))!;
  await w.queue.start(lease);
  const asked = desk.claim({ node_id: "a", most: 1, offer: PLENTY }, 30 * MINUTE, new AbortController().signal);
  await w.pass(2 * MINUTE);
  await w.queue.reap();
  await w.pass(5 * MINUTE);
  expect(w.queue.show(work_id)).toMatchObject({ fence: 1, node_id: "a" });
  await w.queue.heartbeat(lease);
  expect(w.queue.show(work_id)).toMatchObject({ state: "running", attempts: 1, fence: 1 });
  desk.close();
  expect(await asked).toEqual([]);
});

describe("a holder of whom nothing comes", () => {
  /** Takes the job, if it is given one, and is not heard again until the lease has lapsed. */
  const fallSilent = async (w: WorkWorld, node: string, beside: readonly string[] = []) => {
    const lease = await w.claimOne(node);
    if (lease === undefined) return undefined;
    await w.queue.start(lease);
    await w.pass(2 * MINUTE);
    await w.queue.reap();
    await w.pass(10 * MINUTE);
    await w.queue.reap();
    for (const other of beside) asks(w, other);
    return lease.work_id;
  };

  test("lets another have the job after the second time, and has it again where nobody else is there", async () => {
    const w = await world(LONG);
    const { work_id } = await w.queue.add({ ...selfplay(), max_attempts: 9 });
    expect(await fallSilent(w, "a", ["b"])).toBe(work_id);
    expect(await fallSilent(w, "a", ["b"])).toBe(work_id);
    expect(await w.claimOne("a")).toBeUndefined();
    // The other one is gone as well: a job is better tried again than never.
    await w.pass(30 * MINUTE);
    expect(await w.claimOne("a")).toMatchObject({ work_id });
  });

  test("does not wait for another of whom nothing came either, nor for one that stood still over it", async () => {
    const w = await world(LONG);
    const { work_id } = await w.queue.add({ ...selfplay(), max_attempts: 9 });
    for (const node of ["a", "a", "b", "b"]) {
      if (node === "b") asks(w, "a");
      expect(await fallSilent(w, node, ["a", "b"])).toBe(work_id);
    }
    const lease = (await w.claimOne("a"))!;
    expect(lease).toMatchObject({ work_id });
    await w.queue.start(lease);
    asks(w, "b");
    await beatFor(w, LIMIT_MS + 10_000, lease);
    expect(w.queue.show(work_id)).toMatchObject({ state: "pending" });
    asks(w, "c");
    for (const node of ["a", "b"]) expect(await w.claimOne(node), node).toBeUndefined();
    // The third is gone.
    await w.pass(30 * MINUTE);
    for (const node of ["a", "b"]) asks(w, node);
    expect(await w.claimOne("b")).toMatchObject({ work_id });
  });
});

test("a quantile is one of the values", () => {
  expect(quantile([], 0.95)).toBeUndefined();
  expect(quantile([7], 0.95)).toBe(7);
  const twenty = Array.from({ length: 20 }, (_, n) => n + 1);
  expect([quantile(twenty, 0), quantile(twenty, 0.5), quantile(twenty, 0.95), quantile(twenty, 1)]).toEqual([
    1, 10, 19, 20,
  ]);
});

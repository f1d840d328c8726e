/**
 * A seeded world around the shipped queue: a coordinator that crashes in the moment of a commit and starts again, a disk
 * that answers late, a network that loses requests and answers, and workers that work, fail, shut down, die, freeze beyond
 * their lease to go on as if nothing had been, and beat for minutes without getting anywhere. One seed is one history.
 */
import { inThreadStore, memoryWriter } from "../../src/adapters/sqlite/in-thread-store.ts";
import type { SqliteWriter } from "../../src/adapters/sqlite/writer.ts";
import { builtinRows, createCatalog } from "../../src/events/index.ts";
import {
  type Clock,
  isOperatingError,
  listeningTime,
  OperatingError,
  pick,
  type Random,
  seededRandom,
  silentLog,
  virtualClock,
} from "../../src/kernel/index.ts";
import { EventRouter } from "../../src/router/index.ts";
import { type Lease, WorkQueue } from "../../src/work/index.ts";
import type { LeaseRef } from "../../src/work/job/job.ts";
import { defineKind } from "../../src/work/job/kinds.ts";
import { withWork } from "../unit/work/work-world.ts";

export type WorkPlant =
  | "none"
  | "fence-ignored"
  | "events-apart"
  | "lateness-untold"
  /** A holder that makes no progress keeps its job. */
  | "stuck-held"
  /** The one who was second is told that its result counts as well. */
  | "both-counted"
  /** Only the newest lease may bring a result. */
  | "first-refused";

export interface WorkWorldReport {
  readonly trace: readonly string[];
  readonly violations: readonly string[];
  readonly crashes: number;
  readonly refused: number;
  readonly completed: number;
  /** Of them those whose result came after the end of its lease. */
  readonly late: number;
  /** Jobs that were taken from a holder without progress, and those whose result came from a holder before the last. */
  readonly stuck: number;
  readonly overtaken: number;
}

const kinds = {
  selfplay: defineKind({ evidence: { outputs: 1, counts: ["games"] }, timeoutMs: 900_000, maxAttempts: 5 }),
};
type Queue = WorkQueue<keyof typeof kinds>;
const OFFER = { cpu: 4, gpu: 0, memory_gb: 16, gpu_memory_gb: 0, tags: [] };
const LOST = Symbol("lost");
const LEASE = { silentMs: 10_000, graceMs: 5_000, progressFloorMs: 15_000, progressFactor: 2 };
/** Beats of one that stands still come so often. */
const STILL_BEAT_MS = 3_000;
/** What the world allows beyond the limit: crashes, lost calls, and the time until the next look of the reaper. */
const STILL_SLACK_MS = 60_000;

interface Coordinator {
  readonly queue: Queue;
  alive: boolean;
}

function bootCoordinator(
  writer: SqliteWriter,
  clock: Clock,
  random: Random,
  crash: (mine: Coordinator, at: string) => boolean,
  plant: WorkPlant,
): Coordinator {
  let arrives = 0;
  const mine = { alive: true } as { alive: boolean; queue: Queue };
  const own: Clock = { ...clock, after: (ms, run) => clock.after(ms, () => (mine.alive ? run() : undefined)) };
  const store = inThreadStore(writer, {
    clock: own,
    carry: (apply) => {
      arrives = Math.max(arrives, clock.monotonic() + pick(random, 6));
      clock.after(arrives - clock.monotonic(), () => {
        if (!mine.alive) return;
        const luck = random.next();
        if (luck < 0.004 && crash(mine, "before commit")) return;
        const answer = apply();
        if (luck >= 0.004 && luck < 0.008 && crash(mine, "after commit")) return;
        clock.after(0, () => (mine.alive ? answer() : undefined));
      });
    },
  });
  const catalog = createCatalog(builtinRows);
  const router = new EventRouter({ catalog, store, clock: own, random, log: silentLog(), nodeId: "sim" });
  const { listened } = listeningTime(own);
  const limits = { maxReturns: 3 };
  const lease = plant === "stuck-held" ? { ...LEASE, progressFloorMs: 1e12 } : LEASE;
  mine.queue = new WorkQueue({ router, store, clock: own, listened, random, kinds, lease, limits });
  return mine;
}

export async function simulateWork(seed: number, plant: WorkPlant = "none"): Promise<WorkWorldReport> {
  const random = seededRandom(seed);
  const clock = virtualClock();
  const writer = memoryWriter(withWork);
  const trace: string[] = [];
  const violations: string[] = [];
  const say = (line: string) => void trace.push(`${clock.monotonic()} ${line}`);
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const target = 20 + pick(random, 25);
  /** Keys of jobs whose addition was acknowledged, and their work ids. */
  const added = new Map<string, string>();
  /** The leases to which the queue said "this is the completion", by job. */
  const accepted = new Map<string, number[]>();
  const holders = new Map<string, string>();
  /** The longest that any job took which was done. */
  let longestMs = 0;
  let crashes = 0;
  let refused = 0;
  let faulty = true;
  let over = false;

  const crash = (mine: Coordinator, at: string): boolean => {
    if (!faulty) return false;
    crashes += 1;
    mine.alive = false;
    say(`crash ${at}`);
    clock.after(50 + pick(random, 2_000), () => {
      coordinator = bootCoordinator(writer, clock, random, crash, plant);
      say("boot");
    });
    return true;
  };
  let coordinator = bootCoordinator(writer, clock, random, crash, plant);

  /** A call over the network: the request or the answer may be lost, and a dead coordinator never answers. */
  const call = async <T>(run: (queue: Queue) => Promise<T>): Promise<T | typeof LOST> => {
    await wait(pick(random, 10));
    if (faulty && random.next() < 0.03) {
      await wait(1_000);
      return LOST;
    }
    const answer = run(coordinator.queue);
    answer.catch(() => undefined);
    const result = await Promise.race([answer, wait(3_000).then((): typeof LOST => LOST)]);
    if (faulty && random.next() < 0.03) return LOST;
    return result;
  };

  /** Says it until it is answered; refusals are answers. */
  const insist = async <T>(run: (queue: Queue) => Promise<T>, until: () => boolean): Promise<T | undefined> => {
    while (!until()) {
      const answer = await call(run);
      if (answer !== LOST) return answer;
      await wait(200);
    }
    return undefined;
  };

  const producer = async () => {
    for (let n = 0; n < target; n += 1) {
      await wait(pick(random, 2_000));
      const dedup_key = `job-${n}`;
      const earlier = [...added.values()];
      const depends_on = random.next() < 0.2 && earlier.length > 0 ? [earlier[pick(random, earlier.length)]!] : [];
      // Some are of no use after a while, whether anybody has begun with them or not.
      const deadline = n % 7 === 6 ? { deadline: clock.now() / 1_000 + 5 + pick(random, 60) } : {};
      const config_key = `c${n % 3}_2p` as const;
      const timeout_seconds = n % 4 === 0 ? 120 : 900;
      const spec = { work_type: "selfplay", config_key, dedup_key, depends_on, timeout_seconds, ...deadline } as const;
      try {
        const done = await insist(
          (queue) => queue.add(spec),
          () => over,
        );
        if (done !== undefined) added.set(dedup_key, done.work_id);
      } catch (thrown) {
        if (!isOperatingError(thrown, "WORK_DEPENDENCY_FAILED")) throw thrown;
        n -= 1;
      }
    }
  };

  const reaper = async () => {
    while (!over) {
      await wait(2_000);
      await call((queue) => queue.reap());
      // What job_reaper keeps: it outlives the process.
      for (const [key, row] of coordinator.queue.newDurations())
        writer.db
          .prepare("INSERT OR REPLACE INTO state_rows VALUES ('work_durations', ?, ?, 1)")
          .run(key, JSON.stringify(row));
    }
  };

  /** Beats and gets nowhere, for a while or until it is refused. */
  const standStill = async (node: string, lease: Lease): Promise<void> => {
    const mayBeJudged = accepted.size >= 5;
    const max = 5 + pick(random, 200);
    let answered = 0;
    for (let n = 0; n < max && !over; n += 1) {
      await wait(STILL_BEAT_MS);
      const beat = await call((queue) => queue.heartbeat(lease, { progress: 0.5 }));
      if (beat !== LOST) answered += 1;
      const { fence, state, earlier } = currentLease(writer, lease.work_id);
      const before = (JSON.parse(earlier ?? "[]") as { why: string }[]).filter(({ why }) => why === "stuck").length;
      const limitMs = LEASE.progressFactor * Math.max(LEASE.progressFloorMs, longestMs) * 2 ** before;
      const isOver = answered * STILL_BEAT_MS > limitMs + STILL_SLACK_MS;
      if (mayBeJudged && isOver && fence === lease.fence && state === "running") {
        violations.push(`${lease.work_id} stands still on ${node} and is never given to another`);
        return;
      }
    }
  };

  const evidence = { outputs: [{ name: "g", sha256: "cd".repeat(32), bytes: 10 }], counts: { games: 5 } };
  const complete = async (queue: Queue, lease: Lease, ref: LeaseRef): Promise<{ repeated: boolean }> => {
    const { fence, state } = currentLease(writer, lease.work_id);
    if (plant === "first-refused" && fence !== lease.fence && state !== "completed")
      throw OperatingError.conflict("STALE_LEASE", "somebody else has it");
    const answer = queue.complete(ref, evidence);
    if (plant !== "both-counted") return answer;
    return answer.catch((thrown: unknown) => {
      if (currentLease(writer, lease.work_id).state === "completed") return { repeated: false };
      throw thrown;
    });
  };

  const work = async (node: string, lease: Lease): Promise<"gone" | "going on"> => {
    const held = `${lease.work_id}/${lease.fence}`;
    if (holders.has(held)) violations.push(`${held} was handed to ${holders.get(held)} and to ${node}`);
    holders.set(held, node);
    const ref = plant === "fence-ignored" ? () => ({ ...lease, ...currentLease(writer, lease.work_id) }) : () => lease;
    const claimedAt = clock.monotonic();
    let finished = false;
    try {
      await insist(
        (queue) => queue.start(ref()),
        () => over,
      );
      if (faulty && random.next() < 0.08) await standStill(node, lease);
      for (let beats = pick(random, 5); beats > 0; beats -= 1) {
        await wait(1_000 + pick(random, 4_000));
        const luck = random.next();
        if (faulty && luck < 0.04) return "gone";
        if (faulty && luck < 0.08) await wait(5_000 + pick(random, 40_000));
        const beat = await call((queue) => queue.heartbeat(ref(), { progress: 1 / (beats + 1) }));
        if (beat !== LOST && beat.stop !== null) {
          if (beat.stop.kind === "preempted")
            await insist(
              (queue) => queue.fail(ref(), { class: "preempted", error: "asked" }),
              () => over,
            );
          return "going on";
        }
      }
      const luck = random.next();
      if (luck < 0.1)
        await insist(
          (queue) => queue.fail(ref(), { class: "retryable", error: "bad luck" }),
          () => over,
        );
      else if (luck < 0.15)
        await insist(
          (queue) => queue.release(ref(), "shutting down"),
          () => over,
        );
      else {
        finished = true;
        // It is done, and nobody can be told for a while.
        if (faulty && random.next() < 0.1) await wait(5_000 + pick(random, 40_000));
        let answered = false;
        const done = await insist(
          async (queue) => {
            const answer = await complete(queue, lease, ref());
            // What the queue has said counts, whether the answer arrives or not.
            longestMs = Math.max(longestMs, clock.monotonic() - claimedAt);
            if (!answer.repeated && !answered)
              accepted.set(lease.work_id, [...(accepted.get(lease.work_id) ?? []), lease.fence]);
            answered = true;
            return answer;
          },
          () => over,
        );
        if (done !== undefined) say(`${node} completed ${lease.work_id}`);
      }
    } catch (thrown) {
      if (!isOperatingError(thrown)) throw thrown;
      refused += 1;
      const now = currentLease(writer, lease.work_id);
      // The first result is the job's, unless so many had it since that nobody remembers this one.
      if (finished && now.fence - lease.fence < 4 && !["completed", "failed", "cancelled"].includes(now.state))
        violations.push(`${held} was done, and thrown away while its job is ${now.state}`);
      say(`${node} is refused ${lease.work_id}: ${thrown.code}`);
    }
    return "going on";
  };

  const worker = async (name: string) => {
    for (let life = 1; !over; life += 1) {
      const node = `${name}.${life}`;
      let gone = false;
      while (!over && !gone) {
        const leases = await call((queue) =>
          queue.claim({ node_id: node, most: 1 + pick(random, 2), offer: OFFER }),
        ).catch(() => LOST);
        if (leases === LOST || (leases as Lease[]).length === 0) {
          await wait(500 + pick(random, 1_000));
          continue;
        }
        const ends = await Promise.all((leases as Lease[]).map((lease) => work(node, lease)));
        gone = ends.includes("gone");
      }
      if (gone) say(`${node} is gone`);
      await wait(pick(random, 3_000));
    }
  };

  /** The machine sleeps, and somebody sets its clock. */
  const disturber = async () => {
    while (faulty && !over) {
      await wait(10_000 + pick(random, 30_000));
      if (random.next() < 0.5) clock.standStill(pick(random, 60_000));
      else clock.setWall(pick(random, 7_200_000) - 3_600_000);
    }
  };

  /** Somebody who cancels, preempts and evicts now and then. */
  const meddler = async () => {
    while (faulty && !over) {
      await wait(5_000 + pick(random, 10_000));
      const ids = [...added.values()];
      const id = ids[pick(random, Math.max(1, ids.length))];
      if (id === undefined) continue;
      const luck = random.next();
      const order = (queue: Queue): Promise<unknown> => {
        if (luck < 0.3) return queue.cancel(id, { reason: "meddling" });
        if (luck < 0.7) return queue.preempt(id, { reason: "meddling" });
        return queue.evict(queue.held()[0]?.node_id ?? "nobody", "meddling");
      };
      await call(order).catch((thrown: unknown) => {
        if (!isOperatingError(thrown)) throw thrown;
      });
    }
  };

  const actors = [producer(), reaper(), meddler(), disturber(), ...["a", "b", "c", "d"].map(worker)];
  for (const actor of actors) actor.catch((thrown: unknown) => violations.push(`an actor failed: ${String(thrown)}`));
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  for (let steps = 0; steps < 40_000; steps += 1) {
    await turn();
    if (!clock.step()) break;
    if (added.size === target && clock.monotonic() > 120_000) faulty = false;
    if (steps % 50 === 0 && added.size === target && unfinished(writer) === 0) break;
  }
  over = true;
  if (plant === "lateness-untold")
    writer.db.exec(
      "DELETE FROM events WHERE event_type = 'WORK_FAILED' AND payload ->> 'error_code' = 'JOB_TOO_LATE' AND payload ->> 'node_id' IS NULL",
    );
  if (plant === "events-apart")
    writer.db.exec("DELETE FROM events WHERE event_type = 'WORK_COMPLETED' AND seq % 3 = 0");
  const told = (sql: string) => (writer.db.prepare(sql).get() as { n: number }).n;
  const stuck = told(
    "SELECT count(*) AS n FROM events WHERE event_type = 'TASK_ORPHANED' AND payload ->> 'reason' LIKE 'no progress%'",
  );
  const overtaken = told(
    "SELECT count(*) AS n FROM work_jobs WHERE state = 'completed' AND earlier LIKE '%\"won\":true%'",
  );
  const late = check(writer, added, accepted, target, violations);
  coordinator.alive = false;
  writer.close();
  return { trace, violations, crashes, refused, completed: accepted.size, late, stuck, overtaken };
}

/** What the holder of a job would show: with it anybody passes for it. */
const currentLease = (
  writer: SqliteWriter,
  workId: string,
): { fence: number; node_id: string; state: string; earlier: string | null } =>
  writer.db
    .prepare("SELECT fence, node_id, state, earlier FROM work_jobs WHERE seq = ?")
    .get(Number(workId.slice(1))) as never;

const unfinished = (writer: SqliteWriter): number =>
  (
    writer.db
      .prepare("SELECT count(*) AS n FROM work_jobs WHERE state NOT IN ('completed', 'failed', 'cancelled')")
      .get() as {
      n: number;
    }
  ).n;

/** The oracle: judged from the rows and the journal alone, beside what the callers were told. How many were done late. */
function check(
  writer: SqliteWriter,
  added: ReadonlyMap<string, string>,
  accepted: ReadonlyMap<string, readonly number[]>,
  target: number,
  violations: string[],
): number {
  let late = 0;
  const all = <T>(sql: string) => writer.db.prepare(sql).all() as T[];
  const jobs = all<{
    seq: number;
    state: string;
    attempts: number;
    max_attempts: number;
    fence: number;
    dedup_key: string;
    earlier: string | null;
  }>("SELECT * FROM work_jobs");
  const kept = all<{ lane: number; state: string; jobs: number }>(
    "SELECT lane, state, jobs FROM work_counts WHERE jobs <> 0",
  );
  const counted = all<{ lane: number; state: string; jobs: number }>(
    "SELECT lane, state, count(*) AS jobs FROM work_jobs GROUP BY lane, state ORDER BY lane, state",
  );
  if (JSON.stringify(kept) !== JSON.stringify(counted))
    violations.push(`kept counts ${JSON.stringify(kept)} are not those of the jobs ${JSON.stringify(counted)}`);
  const told = all<{ event_type: string; order_key: string; n: number }>(
    "SELECT event_type, order_key, count(*) AS n FROM events GROUP BY event_type, order_key",
  );
  const count = (type: string, key: string) => told.find((e) => e.event_type === type && e.order_key === key)?.n ?? 0;
  if (added.size !== target) violations.push(`${target - added.size} additions were never acknowledged`);
  const live = new Map(
    jobs.filter(({ state }) => state !== "failed" && state !== "cancelled").map((job) => [job.dedup_key, job]),
  );
  if (live.size !== jobs.filter(({ state }) => state !== "failed" && state !== "cancelled").length)
    violations.push("one key has two jobs");
  for (const [key, id] of added)
    if (!jobs.some(({ seq }) => `w${seq}` === id)) violations.push(`${key} was acknowledged as ${id} and is not there`);
  for (const job of jobs) {
    const id = `w${job.seq}`;
    if (!["completed", "failed", "cancelled"].includes(job.state)) violations.push(`${id} stays ${job.state}`);
    if (job.attempts > job.max_attempts) violations.push(`${id} had ${job.attempts} of ${job.max_attempts} attempts`);
    const done = job.state === "completed" ? 1 : 0;
    if (count("WORK_COMPLETED", id) !== done)
      violations.push(`${id} is ${job.state}, and completed ${count("WORK_COMPLETED", id)} times`);
    // One that failed is told so once; it may have been done after all, when its holder was only silent.
    const failures = count("WORK_FAILED", id);
    if (failures > 1 || (job.state === "failed" && failures === 0))
      violations.push(`${id} is ${job.state}, and failed ${failures} times`);
    const winners = accepted.get(id) ?? [];
    if (winners.length > done)
      violations.push(`${id} is ${job.state}, and ${winners.length} holders were told that it is theirs`);
    const earlier = JSON.parse(job.earlier ?? "[]") as { fence: number; won?: boolean }[];
    const winner = earlier.find(({ won }) => won)?.fence ?? job.fence;
    if (winners.some((fence) => fence !== winner))
      violations.push(`${id} was completed by lease ${winners.join()}, and ${winner} stands in the books`);
    if (done === 1 && count("TASK_ORPHANED", `${id}.${job.fence}`) === 1) late += 1;
    if (count("WORK_CLAIMED", id) !== job.fence)
      violations.push(`${id} was claimed ${job.fence} times, told ${count("WORK_CLAIMED", id)} times`);
    for (let fence = 1; fence <= job.fence; fence += 1) {
      const task = `${id}.${fence}`;
      const ended = ["COMPLETED", "FAILED", "ORPHANED", "CANCELLED", "ABANDONED"].reduce(
        (sum, end) => sum + count(`TASK_${end}`, task),
        0,
      );
      const spawned = count("TASK_SPAWNED", task);
      if (ended < spawned || ended - count("TASK_ORPHANED", task) > 1)
        violations.push(`${task} began ${spawned} times and ended ${ended} times`);
    }
  }
  return late;
}

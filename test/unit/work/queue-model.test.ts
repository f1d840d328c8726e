/**
 * The queue against a small reference model: random calls by holders old and new, time that passes, and crashes in the
 * moment of a commit, before it or after it. After each call every job must be as the model says; at the end the journal
 * must tell each life once and whole.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { inThreadStore, memoryWriter } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import {
  isOperatingError,
  type OperatingError,
  seededRandom,
  silentLog,
  virtualClock,
} from "../../../src/kernel/index.ts";
import { EventRouter } from "../../../src/router/index.ts";
import { WorkQueue } from "../../../src/work/index.ts";
import { rounds } from "../../support/thorough.ts";
import { type LeaseWords, ReferenceModel } from "./reference-model.ts";
import { EVIDENCE, type Kind, kinds, PLENTY, withWork } from "./work-world.ts";

// What stands still is the simulation's part: there holders tell how far they are.
const LIMITS = { maxReturns: 2, silentMs: 60_000, graceMs: 20_000, progressFloorMs: 1e12 };
const NODES = ["a", "b", "c"];
type Crash = "none" | "before" | "after";
const CRASHED = Symbol("crashed");

const crash = fc.constantFrom<Crash>("none", "none", "none", "none", "none", "none", "before", "after");
const pickOne = fc.nat({ max: 1_000 });
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("add" as const),
      kind: fc.constantFrom<Kind>("selfplay", "training", "check"),
      config: fc.constantFrom("x_2p" as const, "y_2p" as const, "z_3p" as const),
      urgency: fc.constantFrom("low" as const, "normal" as const, "critical" as const),
      dependsOn: fc.array(pickOne, { maxLength: 2 }),
      dedup: fc.option(fc.constantFrom("k1", "k2"), { freq: 4, nil: null }),
      maxAttempts: fc.integer({ min: 1, max: 3 }),
      deadlineMs: fc.option(fc.integer({ min: 10_000, max: 900_000 }), { freq: 4, nil: null }),
      crash,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("claim" as const),
      node: fc.constantFrom(...NODES),
      most: fc.integer({ min: 1, max: 4 }),
      start: fc.nat(3).map((draw) => draw === 0),
      crash,
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "start" as const,
        "beat" as const,
        "complete" as const,
        "complete" as const,
        "release" as const,
      ),
      lease: pickOne,
      ended: fc.constant(false),
      crash,
    }),
  },
  // A result of a lease that has ended: some of them count; and a word of its holder, that may bring it back.
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("complete" as const, "complete" as const, "beat" as const, "start" as const),
      lease: pickOne,
      ended: fc.constant(true),
      crash,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("fail" as const),
      lease: pickOne,
      class: fc.constantFrom("retryable" as const, "resource" as const, "preempted" as const, "bad_input" as const),
      crash,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("cancel" as const, "retry" as const, "preempt" as const),
      job: pickOne,
      crash,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("evict" as const), node: fc.constantFrom(...NODES), crash }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1_000, max: 400_000 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("reap" as const), crash }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

class Run {
  readonly clock = virtualClock();
  readonly writer = memoryWriter(withWork);
  readonly model = new ReferenceModel(LIMITS);
  /** Every lease that was ever handed out, the lost answers included. */
  readonly leases: LeaseWords[] = [];
  queue: WorkQueue<Kind>;
  crashes = 0;
  /** The process started anew in this step. */
  restarted = false;
  /** Results that came after the end of their lease and counted, by the state the job was in. */
  readonly late: string[] = [];
  #seed = 0;
  #dies: Crash = "none";

  constructor() {
    this.queue = this.#boot();
  }

  get now(): number {
    return this.clock.now();
  }

  #boot(): WorkQueue<Kind> {
    this.#seed += 1;
    const life = this.#seed;
    const { clock } = this;
    const store = inThreadStore(this.writer, {
      clock,
      carry: (apply) => {
        if (life !== this.#seed) return;
        const dies = this.#dies;
        this.#dies = "none";
        if (dies === "before") return;
        const answer = apply();
        if (dies === "none") answer();
      },
    });
    const random = seededRandom(this.#seed);
    const catalog = createCatalog(builtinRows);
    const router = new EventRouter({ catalog, store, clock, random, log: silentLog(), nodeId: "n" });
    const limits = { maxReturns: LIMITS.maxReturns };
    return new WorkQueue<Kind>({ router, store, clock, random, kinds, limits, lease: LIMITS });
  }

  /** The answer, the refusal, or nothing, because the process died in the moment of the commit. */
  async call<T>(dies: Crash, run: () => Promise<T>): Promise<T | OperatingError | typeof CRASHED> {
    this.#dies = dies;
    let outcome: T | OperatingError | typeof CRASHED = CRASHED;
    const settled = run().then(
      (value) => {
        outcome = value;
      },
      (thrown: unknown) => {
        if (!isOperatingError(thrown)) throw thrown;
        outcome = thrown;
      },
    );
    if (dies === "none") await settled;
    else for (let n = 0; n < 6; n += 1) await turn();
    // Whatever was not answered died; a call that had nothing to commit has survived its own crash.
    this.#dies = "none";
    if (outcome === CRASHED) {
      this.crashes += 1;
      this.queue = this.#boot();
      this.restarted = true;
    }
    return outcome;
  }

  row(id: string): { state: string; node_id: string | null; fence: number; not_before: number | null } {
    return this.writer.db.prepare("SELECT * FROM work_jobs WHERE seq = ?").get(Number(id.slice(1))) as never;
  }

  /** Backoffs are random within their rule: the model takes the queue's word for when they end. */
  learnBackoffs(): void {
    for (const job of this.model.jobs.values()) {
      if (job.state !== "delayed") continue;
      const at = this.row(job.id).not_before;
      if (at !== job.retryAt) expect(at! - this.now).toBeGreaterThanOrEqual(3_000);
      job.retryAt = at;
    }
  }

  compare(): void {
    const stored = this.writer.db.prepare("SELECT * FROM work_jobs ORDER BY seq").all() as {
      seq: number;
      state: string;
      attempts: number;
      returns: number;
      fence: number;
    }[];
    const expected = [...this.model.jobs.values()].map(({ id, state, attempts, returns, fence }) => ({
      id,
      state,
      attempts,
      returns,
      fence,
    }));
    const found = stored.map(({ seq, state, attempts, returns, fence }) => ({
      id: `w${seq}`,
      state,
      attempts,
      returns,
      fence,
    }));
    expect(found).toEqual(expected);
    expect(this.queue.unfinished).toBe(this.model.unfinished);
  }
}

const isRefusal = (value: unknown): value is OperatingError => isOperatingError(value);

/** The call may have been committed: if it crashed after the commit, or was answered. */
const counts = (outcome: unknown, dies: Crash) => (outcome === CRASHED ? dies === "after" : !isRefusal(outcome));

async function take(run: Run, s: Step): Promise<void> {
  const { model } = run;
  const ids = [...model.jobs.keys()];
  /** An answer that needs the disk may be lost with a crash; one that comes must be this. */
  const answers = (outcome: unknown) => {
    const lost = outcome === CRASHED && "crash" in s && s.crash !== "none";
    return {
      toMatchObject: (expected: object) => (lost ? undefined : expect(outcome).toMatchObject(expected)),
      toEqual: (expected: object) => (lost ? undefined : expect(outcome).toEqual(expected)),
    };
  };
  /** What follows a failure in the same call; a crash at the first commit leaves it undone. */
  const cascade = (outcome: unknown, id: string) => {
    const ended = ["failed", "cancelled"].includes(model.job(id).state);
    if (outcome !== CRASHED && ended && model.hasBlocked()) model.reap(run.now);
  };
  switch (s.do) {
    case "pass":
      run.clock.after(s.ms, () => undefined);
      run.clock.step();
      return;
    case "add": {
      const dependsOn = [...new Set(s.dependsOn.flatMap((n) => ids[n % Math.max(1, ids.length)] ?? []))];
      const deadline = s.deadlineMs === null ? null : run.now + s.deadlineMs;
      const known = s.dedup === null ? undefined : model.byKey(s.dedup);
      const broken = known === undefined && model.brokenDependency(dependsOn);
      const outcome = await run.call(s.crash, () =>
        run.queue.add({
          work_type: s.kind,
          config_key: s.config,
          urgency: s.urgency,
          depends_on: dependsOn,
          dedup_key: s.dedup,
          max_attempts: s.maxAttempts,
          deadline: deadline === null ? null : deadline / 1_000,
        }),
      );
      if (broken) return answers(outcome).toMatchObject({ code: "WORK_DEPENDENCY_FAILED" });
      if (known !== undefined) return answers(outcome).toEqual({ work_id: known.id, duplicate: true });
      if (!counts(outcome, s.crash)) return expect(outcome).toBe(CRASHED);
      const seq = run.writer.db.prepare("SELECT max(seq) AS seq FROM work_jobs").get() as { seq: number };
      model.add({
        id: `w${seq.seq}`,
        config: s.config,
        dependsOn,
        dedup: s.dedup,
        maxAttempts: s.maxAttempts,
        timeoutMs: kinds[s.kind].timeoutMs,
        deadline,
        preemptible: kinds[s.kind].preemptible,
      });
      return;
    }
    case "claim": {
      const due = model.due(run.now);
      const outcome = await run.call(s.crash, () =>
        run.queue.claim({ node_id: s.node, most: s.most, offer: PLENTY, start: s.start }),
      );
      if (isRefusal(outcome)) throw outcome;
      if (outcome === CRASHED && s.crash === "before") return;
      model.promote(run.now);
      // The first commit of this call let backoffs end, and the crash came with that one.
      if (outcome === CRASHED && due) return;
      const claimed = ids.filter(
        (id) => model.job(id).state === "pending" && run.row(id).state === (s.start ? "running" : "claimed"),
      );
      expect(claimed).toHaveLength(Math.min(s.most, model.pending()));
      for (const id of claimed) {
        model.claim(id, s.node, run.now);
        if (s.start) {
          model.start(id, run.now);
          model.job(id).unheard = true;
        }
        run.leases.push({ work_id: id, node_id: s.node, fence: model.job(id).fence });
      }
      if (outcome !== CRASHED) expect(outcome.map(({ work_id }) => work_id).toSorted()).toEqual(claimed.toSorted());
      return;
    }
    case "start":
    case "beat":
    case "complete":
    case "release":
    case "fail": {
      // Mostly the young ones, which still stand; now and then any old one.
      const young = s.lease % 4 === 0 ? run.leases : run.leases.slice(-3);
      const among = "ended" in s && s.ended ? run.leases.filter((one) => model.verdict(one) !== "held") : young;
      const ref = among[s.lease % Math.max(1, among.length)];
      if (ref === undefined) return;
      const verdict = model.verdict(ref);
      const failure = "class" in s ? s.class : "retryable";
      const job = model.job(ref.work_id);
      const overtakes = s.do === "complete" && model.overtakes(ref, run.now) !== undefined;
      const late = overtakes || (s.do === "complete" && model.takesLate(ref));
      const revives = (s.do === "start" || s.do === "beat") && model.revives(ref);
      const worksOn =
        s.do === "beat" &&
        ((job.state === "failed" && job.mayGoOn && model.takesLate(ref)) || model.worksOn(ref, run.now));
      const { winner } = job;
      const repeated = s.do === "complete" && winner?.fence === ref.fence && winner.node === ref.node_id;
      const outcome = await run.call<unknown>(s.crash, () => {
        if (s.do === "start") return run.queue.start(ref);
        if (s.do === "beat") return run.queue.heartbeat(ref, { progress: 0.5 });
        if (s.do === "complete") return run.queue.complete(ref, EVIDENCE);
        if (s.do === "release") return run.queue.release(ref, "stopping");
        return run.queue.fail(ref, { class: failure, error: "it broke" });
      });
      if (repeated) return answers(outcome).toEqual({ repeated: true });
      if (verdict === "JOB_CANCELLED" && s.do === "beat")
        return answers(outcome).toMatchObject({ stop: { kind: "cancelled" } });
      if (worksOn) return answers(outcome).toMatchObject({ stop: null });
      if (verdict !== "held" && !late && !revives) return answers(outcome).toMatchObject({ code: verdict });
      if (isRefusal(outcome)) throw outcome;
      if (!counts(outcome, s.crash)) return;
      if (late) run.late.push(job.state);
      if (revives) model.revive(ref.work_id, run.now);
      if (s.do === "start") model.start(ref.work_id, run.now);
      else if (s.do === "beat") model.beat(ref.work_id, run.now);
      else if (s.do === "complete") model.complete(ref, run.now);
      else if (s.do === "release" || failure === "preempted") model.giveBack(ref.work_id);
      else model.spend(ref.work_id, failure === "bad_input");
      if (s.do === "fail" || s.do === "release") cascade(outcome, ref.work_id);
      return;
    }
    case "cancel": {
      const id = ids[s.job % Math.max(1, ids.length)];
      if (id === undefined) return;
      const { state } = model.job(id);
      const outcome = await run.call(s.crash, () => run.queue.cancel(id, { reason: "no need" }));
      if (state === "completed" || state === "failed") return answers(outcome).toMatchObject({ code: "JOB_FINISHED" });
      if (state === "cancelled") return answers(outcome).toEqual({ state: "cancelled" });
      if (!counts(outcome, s.crash)) return;
      model.job(id).state = "cancelled";
      cascade(outcome, id);
      return;
    }
    case "retry": {
      const id = ids[s.job % Math.max(1, ids.length)];
      if (id === undefined) return;
      const job = model.job(id);
      const outcome = await run.call(s.crash, () => run.queue.retry(id, { reason: "again" }));
      if (job.state !== "failed" && job.state !== "cancelled")
        return answers(outcome).toMatchObject({ code: "JOB_NOT_FAILED" });
      if (job.deadline !== null && job.deadline <= run.now)
        return answers(outcome).toMatchObject({ code: "JOB_TOO_LATE" });
      if (job.dedup !== null && model.byKey(job.dedup) !== undefined)
        return answers(outcome).toMatchObject({ code: "WORK_DUPLICATE" });
      if (model.brokenDependency(job.dependsOn))
        return answers(outcome).toMatchObject({ code: "WORK_DEPENDENCY_FAILED" });
      if (isRefusal(outcome)) throw outcome;
      if (counts(outcome, s.crash)) model.retry(id);
      return;
    }
    case "preempt": {
      const id = ids[s.job % Math.max(1, ids.length)];
      if (id === undefined) return;
      const job = model.job(id);
      const outcome = await run.call(s.crash, () => run.queue.preempt(id, { reason: "room" }));
      if (job.state !== "claimed" && job.state !== "running")
        return answers(outcome).toMatchObject({ code: "JOB_NOT_HELD" });
      if (!job.preemptible) return answers(outcome).toMatchObject({ code: "JOB_NOT_PREEMPTIBLE" });
      if (job.stopBy !== null) return answers(outcome).toEqual({ asked: false });
      if (!counts(outcome, s.crash)) return;
      job.stopBy = run.now + LIMITS.graceMs;
      model.write(job);
      return;
    }
    case "evict": {
      const held = ids.filter(
        (id) => model.job(id).node === s.node && ["claimed", "running"].includes(model.job(id).state),
      );
      const outcome = await run.call(s.crash, () => run.queue.evict(s.node, "lost"));
      if (!counts(outcome, s.crash)) return;
      for (const id of held) model.lapse(id, "give back");
      const ended = held.some((id) => model.job(id).state === "failed");
      if (outcome !== CRASHED && ended && model.hasBlocked()) model.reap(run.now);
      return;
    }
    case "reap": {
      const outcome = await run.call(s.crash, () => run.queue.reap());
      if (outcome === CRASHED && s.crash === "before") return;
      // A crash may come between two passes: whoever comes next goes on where it stopped.
      if (outcome === CRASHED) await run.queue.reap();
      model.reap(run.now);
      return;
    }
  }
}

/** Each life, told once and whole. */
function checkBooks(run: Run): void {
  const told = run.writer.db.prepare("SELECT event_type, order_key, payload FROM events ORDER BY seq").all() as {
    event_type: string;
    order_key: string;
    payload: string;
  }[];
  const count = (type: string, key: string) => told.filter((e) => e.event_type === type && e.order_key === key).length;
  for (const job of run.model.jobs.values()) {
    expect(count("WORK_CLAIMED", job.id), `${job.id}: claims told`).toBe(job.fence);
    expect(count("WORK_COMPLETED", job.id), `${job.id}: completions told`).toBe(job.state === "completed" ? 1 : 0);
    const fences = told
      .filter((e) => e.event_type === "WORK_CLAIMED" && e.order_key === job.id)
      .map(({ payload }) => (JSON.parse(payload) as { fence: number }).fence);
    expect(fences).toEqual(Array.from({ length: job.fence }, (_, i) => i + 1));
    // Every attempt that began as a task ended as one, but for the one that runs.
    for (let fence = 1; fence <= job.fence; fence += 1) {
      const task = `${job.id}.${fence}`;
      const ends = ["COMPLETED", "FAILED", "ORPHANED", "CANCELLED", "ABANDONED"].map((end) =>
        count(`TASK_${end}`, task),
      );
      const ended = ends.reduce((sum, n) => sum + n, 0);
      const spawned = count("TASK_SPAWNED", task);
      const runs = job.state === "running" && fence === job.fence;
      // One whose holder is heard again begins again, and ends again; lost it may be before it began.
      expect(ended, `${task} ended`).toBeGreaterThanOrEqual(runs ? spawned - 1 : spawned);
      expect(ended - count("TASK_ORPHANED", task), `${task} ended for good`).toBeLessThanOrEqual(1);
    }
  }
  expect(run.writer.db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
}

/** `RUNS=3000 SEED=7` widens it. */
test("the queue does what the model says, whatever is called and whenever it crashes", async () => {
  let crashes = 0;
  let completed = 0;
  let refused = 0;
  const late = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 90, size: "max" }), async (steps) => {
      const run = new Run();
      try {
        for (const one of steps) {
          run.restarted = false;
          await take(run, one);
          if (run.restarted) run.model.restart(run.now);
          run.learnBackoffs();
          run.compare();
        }
        checkBooks(run);
        crashes += run.crashes;
        completed += [...run.model.jobs.values()].filter(({ state }) => state === "completed").length;
        for (const state of run.late) late.add(state);
        refused += run.leases.filter((ref) => run.model.verdict(ref) === "STALE_LEASE").length;
      } finally {
        run.writer.close();
      }
    }),
    {
      numRuns: Number(process.env.RUNS ?? rounds(120, 2_000)),
      seed: Number(process.env.SEED ?? 20_261),
      interruptAfterTimeLimit: 600_000,
    },
  );
  expect(crashes).toBeGreaterThan(50);
  expect(completed).toBeGreaterThan(100);
  expect(refused).toBeGreaterThan(100);
  expect([...late]).toEqual(expect.arrayContaining(["claimed", "delayed", "failed", "pending"]));
});

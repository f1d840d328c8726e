/**
 * The work queue on a real disk (synchronous FULL): adding, claiming and completing jobs with their events, beside the same
 * statements written by hand into the same tables at the same batching; one awaited cycle; and claims out of a long queue.
 */
import { join } from "node:path";
import { threadedStore } from "../../src/adapters/sqlite/threaded-store.ts";
import { builtinRows, createCatalog } from "../../src/events/index.ts";
import { silentLog, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { EventRouter } from "../../src/router/index.ts";
import { type Lease, WorkQueue } from "../../src/work/index.ts";
import { defineKind } from "../../src/work/job/kinds.ts";
import { byHand } from "./queue-by-hand.ts";
import { inFolder } from "./support/folder.ts";
import { defineBench, sized } from "./support/frame.ts";
import { atLeast, atMost, type Contender, compare, cpuUs } from "./support/measure.ts";
import type { Section } from "./support/table.ts";

export const about = "the work queue: add, claim and complete with their events, beside the same by hand";

/** Jobs in one call. */
const BATCH = 100;
/** Callers that each wait for their own batch: while one is written, the next is decided. */
const CALLERS = 4;
/** Their calls may meet at the writer and share a flush: so many jobs to a flush is the other measure by hand. */
const MET = BATCH * CALLERS;
const CONFIGS = 12;
const EVERYTHING = { cpu: 1_000_000, gpu: 1_000_000, memory_gb: 1_000_000, gpu_memory_gb: 1_000, tags: [] };
const EVIDENCE = { outputs: [{ name: "games", sha256: "a".repeat(64), bytes: 4_096 }], counts: { games: 50 } };

const specOf = (n: number) => ({
  work_type: "selfplay" as const,
  config_key: `hex${n % CONFIGS}_2p` as const,
  payload: { games: 50, seed: n },
  needs: { cpu: 1 },
});
const specs = (from: number, count: number) => Array.from({ length: count }, (_, i) => specOf(from + i));

async function openQueue(folder: string) {
  const clock = systemClock();
  const modulesUrl = new URL("./queue-modules.ts", import.meta.url).href;
  const store = await threadedStore({ path: join(folder, "coordination.db"), modulesUrl, clock });
  const random = systemRandom();
  const catalog = createCatalog(builtinRows);
  const router = new EventRouter({ catalog, store, clock, random, log: silentLog(), nodeId: "bench" });
  const kinds = { selfplay: defineKind({ evidence: { outputs: 1, counts: ["games"] } }) };
  const queue = new WorkQueue({ router, store, clock, random, kinds });
  return {
    queue,
    async close() {
      await router.stop();
      await store.close();
    },
  };
}

type Queue = Awaited<ReturnType<typeof openQueue>>["queue"];

async function cycle(queue: Queue, from: number, count: number): Promise<void> {
  await queue.addAll(specs(from, count));
  const leases: Lease[] = await queue.claim({ node_id: "node-17", most: count, offer: EVERYTHING });
  const answers = await queue.completeAll(leases.map((ref) => ({ ref, evidence: EVIDENCE })));
  if (answers.length !== count || answers.some(({ ok }) => !ok)) throw new Error("not every job was completed");
}

async function batched(jobs: number, rounds: number): Promise<Section[]> {
  return inFolder(async (folder) => {
    const { queue, close } = await openQueue(folder);
    const hand = byHand(join(folder, "hand.db"), CONFIGS);
    let prepared = hand.rows(0);
    const prepare = (times: number) => {
      prepared = hand.rows(times);
    };
    const ours = `queue, ${CALLERS} callers with batches of ${BATCH}`;
    const theirs = `by hand, batches of ${BATCH}`;
    const contenders: Contender[] = [
      {
        name: ours,
        async run(times) {
          let next = 0;
          const caller = async () => {
            while (next < times) {
              const from = next;
              next += BATCH;
              await cycle(queue, from, BATCH);
            }
          };
          await Promise.all(Array.from({ length: CALLERS }, caller));
        },
      },
      { name: theirs, prepare, run: () => hand.runAll(prepared, BATCH) },
      { name: `by hand, batches of ${MET}`, prepare, run: () => hand.runAll(prepared, MET) },
    ];
    const many = await compare(contenders, jobs, rounds);
    const computed = await compare(contenders.slice(0, 2), jobs, Math.ceil(rounds / 3), cpuUs);
    const single: Contender[] = [
      {
        name: "queue, one awaited add, claim and complete",
        async run(times) {
          for (let n = 0; n < times; n += 1) await cycle(queue, n, 1);
        },
      },
      {
        name: "by hand, three commits",
        prepare,
        run: () => hand.runAll(prepared, 1),
      },
    ];
    const one = await compare(single, Math.max(20, Math.round(jobs / 100)), rounds);
    hand.close();
    await close();
    return [
      {
        title: "add + claim + complete with their events, batched",
        measured: many.contenders,
        goals: [
          atLeast("jobs a second, share of those by hand", many.costRatio(theirs, ours), 0.6),
          atLeast("jobs a second", many.contenders[0]!.perSecond, 5_000),
        ],
        notes: {
          [`share of those by hand in batches of ${MET}`]: many.costRatio(`by hand, batches of ${MET}`, ours),
          "computing for a job, in all threads, microseconds": computed.contenders[0]!.costUs,
          "computing for a job by hand, microseconds": computed.contenders[1]!.costUs,
        },
      },
      { title: "add + claim + complete, awaited one by one", measured: one.contenders, goals: [], notes: {} },
    ];
  });
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;

async function longQueue(queued: number, claims: number): Promise<Section> {
  return inFolder(async (folder) => {
    const { queue, close } = await openQueue(folder);
    for (let from = 0; from < queued; from += 1_000) await queue.addAll(specs(from, Math.min(1_000, queued - from)));
    const tookMs: number[] = [];
    for (let n = 0; n < claims; n += 1) {
      const begun = performance.now();
      const [lease] = await queue.claim({ node_id: "node-17", most: 1, offer: EVERYTHING });
      tookMs.push(performance.now() - begun);
      if (lease === undefined) throw new Error("nothing to claim");
    }
    await close();
    const sorted = tookMs.toSorted((a, b) => a - b);
    return {
      title: `one claim out of ${queued.toLocaleString("en-US")} queued jobs, committed`,
      measured: [],
      goals: [atMost("p99, milliseconds", percentile(sorted, 0.99), 50)],
      notes: { "p50, milliseconds": percentile(sorted, 0.5), "p90, milliseconds": percentile(sorted, 0.9) },
    };
  });
}

const bench = defineBench("queue", [
  (size) => batched(sized(size, 10_000, 2_000, 400), sized(size, 9, 5, 1)),
  (size) => longQueue(sized(size, 100_000, 20_000, 1_000), sized(size, 2_000, 300, 20)),
]);
export const run = bench.run;
export const tiny = bench.tiny;
export const print = bench.print;

if (import.meta.main) await bench.main();

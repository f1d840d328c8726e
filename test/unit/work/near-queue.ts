/** A real queue over SQLite in memory, on the system's clock, and the worker's port to it without a network between them. */
import { memoryStore } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { isOperatingError, OperatingError, seededRandom, silentLog, systemClock } from "../../../src/kernel/index.ts";
import { EventRouter } from "../../../src/router/index.ts";
import { type Answer, WorkQueue } from "../../../src/work/index.ts";
import type { LeasePolicy } from "../../../src/work/settings.ts";
import type { QueuePort } from "../../../src/work/worker/index.ts";
import type { Reply } from "../../../src/work/worker/ports.ts";
import { kinds, withWork } from "./work-world.ts";

const plain = <T>(answer: Answer<T>): Reply<T> =>
  answer.ok ? answer : { ok: false, error: { code: answer.error.code, message: answer.error.message } };

const replyOf = async <T>(run: () => Promise<T>): Promise<Reply<T>> => {
  try {
    return { ok: true, value: await run() };
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    return { ok: false, error: { code: thrown.code, message: thrown.message } };
  }
};

/** What the network does to a call: nothing, lose the question, or lose the answer. */
export type Weather = "fine" | "no question" | "no answer";

export function nearQueue(lease: Partial<LeasePolicy> = {}) {
  const clock = systemClock();
  const store = memoryStore(withWork, clock);
  const router = new EventRouter({
    catalog: createCatalog(builtinRows),
    store,
    clock,
    random: seededRandom(1),
    log: silentLog(),
    nodeId: "n1",
  });
  const queue = new WorkQueue({ router, store, clock, random: seededRandom(2), kinds, lease });
  const state = { weather: (_call: keyof QueuePort): Weather => "fine", begins: true };
  const said: string[] = [];
  const through = async <T>(call: keyof QueuePort, run: () => Promise<T>): Promise<T> => {
    const gone = () => OperatingError.unavailable("UNREACHABLE", "the network is cut");
    const weather = state.weather(call);
    if (weather === "no question") throw gone();
    said.push(call);
    const answer = await run();
    if (weather === "no answer") throw gone();
    return answer;
  };
  const port = (nodeId: string): QueuePort => ({
    claim: ({ claimId, most, offer, kinds: wanted }) =>
      through("claim", async () => ({
        began: state.begins,
        leases: await queue.claim({
          node_id: nodeId,
          claim_id: claimId,
          most,
          offer,
          kinds: wanted,
          start: state.begins,
        }),
      })),
    start: (all) => through("start", () => Promise.all(all.map(({ ref }) => replyOf(() => queue.start(ref))))),
    beat: (beats) => through("beat", async () => (await queue.heartbeatAll(beats)).map(plain)),
    complete: (all) => through("complete", async () => (await queue.completeAll(all)).map(plain)),
    fail: (all) =>
      through("fail", () => Promise.all(all.map(({ ref, failure }) => replyOf(() => queue.fail(ref, failure))))),
    release: (all) =>
      through("release", () =>
        Promise.all(all.map(({ ref, reason, saved }) => replyOf(() => queue.release(ref, reason, saved)))),
      ),
  });
  return {
    queue,
    port,
    /** Calls that reached the queue. */
    said,
    state,
    async close() {
      await router.stop();
      await store.close();
    },
  };
}
export type NearQueue = ReturnType<typeof nearQueue>;

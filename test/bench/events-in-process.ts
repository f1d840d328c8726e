/**
 * A full publish of an event that stays in the process, beside the same steps written by hand (this file) and beside
 * `emittery`, which validates, numbers, hashes, deduplicates, remembers and limits nothing.
 */
import { hash, randomUUID } from "node:crypto";
import Emittery from "emittery";
import { z } from "zod";
import { memoryStore } from "../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../src/app/store-modules.ts";
import { createCatalog, defineEvents } from "../../src/events/index.ts";
import { silentLog, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { EventRouter } from "../../src/router/index.ts";
import { atLeast, atMost, type Contender, compare, cpuUs } from "./support/measure.ts";
import type { Section } from "./support/table.ts";

const shape = {
  config_key: z.string(),
  node_id: z.string(),
  games: z.number(),
  win_rate: z.number(),
  finished: z.boolean(),
};
type Progress = z.infer<z.ZodObject<typeof shape>>;

export const rows = defineEvents("bench", {
  SELFPLAY_TICK: { about: "Some games were played.", class: "process", orderKey: "config_key", payload: shape },
});

export const payloadOf = (n: number): Progress => ({
  config_key: "hex8_2p",
  node_id: "node-17",
  games: n,
  win_rate: 0.5 + (n % 10) / 100,
  finished: (n & 1) === 0,
});

export function inProcessRouter() {
  const clock = systemClock();
  const store = memoryStore(storeModules, clock);
  return new EventRouter({
    catalog: createCatalog(rows),
    store,
    clock,
    random: systemRandom(),
    log: silentLog(),
    nodeId: "bench",
  });
}

interface HandEvent {
  readonly type: string;
  readonly id: string;
  readonly timestamp: number;
  readonly hash: string;
  readonly payload: Progress;
}

/** What one would write for this one event: validate, id, hash, dedup, history, handlers with a time limit. */
function publisherByHand(handlers: readonly ((event: HandEvent) => void | Promise<void>)[], timeoutMs: number) {
  const schema = z.looseObject(shape);
  const windowMs = 60_000;
  let young = new Map<string, number>();
  let old = new Map<string, number>();
  let turnedAt = 0;
  const history: HandEvent[] = [];
  let next = 0;
  // All limits are of one length: the running ones expire in the order they began, so one timer watches the oldest.
  let limits: { at: number; expire: (() => void) | undefined }[] = [];
  let watching = false;
  const watch = () => {
    const now = performance.now();
    limits = limits.filter(({ at, expire }) => {
      if (expire !== undefined && at <= now) expire();
      return expire !== undefined && at > now;
    });
    watching = limits.length > 0;
    if (watching) setTimeout(watch, limits[0]!.at - now).unref();
  };
  const limited = (running: Promise<void>) =>
    new Promise<void>((resolve, reject) => {
      const limit: (typeof limits)[number] = {
        at: performance.now() + timeoutMs,
        expire: () => reject(new Error("time limit")),
      };
      limits.push(limit);
      if (limits.length > 4_096) limits = limits.filter(({ expire }) => expire !== undefined);
      if (!watching) setTimeout(watch, timeoutMs).unref();
      watching = true;
      const end = () => {
        limit.expire = undefined;
        resolve();
      };
      running.then(end, end);
    });

  return async (payload: unknown): Promise<HandEvent> => {
    const parsed = schema.safeParse(payload);
    if (!parsed.success) throw parsed.error;
    const sorted: Record<string, unknown> = {};
    for (const key of Object.keys(parsed.data).sort()) sorted[key] = parsed.data[key];
    const text = JSON.stringify(sorted);
    if (text.length > 1_048_576) throw new Error("too large");
    const now = Date.now();
    const event: HandEvent = {
      type: "SELFPLAY_TICK",
      id: randomUUID(),
      timestamp: now / 1_000,
      hash: hash("sha256", `SELFPLAY_TICK:${text}`, "hex"),
      payload: parsed.data,
    };
    const seenAt = young.get(event.id) ?? old.get(event.id);
    if (seenAt !== undefined && now - seenAt < windowMs) return event;
    if (now - turnedAt >= windowMs || young.size >= 5_000) {
      old = young;
      young = new Map();
      turnedAt = now;
    }
    young.set(event.id, now);
    history[next] = event;
    next = (next + 1) % 1_000;
    for (const handler of handlers) {
      try {
        const running = handler(event);
        if (running instanceof Promise) void limited(running);
      } catch (thrown) {
        console.error(thrown);
      }
    }
    return event;
  };
}

interface Case {
  readonly handlers: 1 | 5;
  readonly kind: "sync" | "async";
}

/** Publishes one after the other and lets every handler end. `count` proves that all of them ran. */
const contender = (
  name: string,
  handlers: number,
  counted: () => number,
  publish: (payload: Progress) => Promise<unknown>,
): Contender => ({
  name,
  async run(times) {
    const before = counted();
    for (let n = 0; n < times; n += 1) await publish(payloadOf(n));
    await new Promise((resolve) => setImmediate(resolve));
    const heard = counted() - before;
    if (heard !== times * handlers) throw new Error(`${name}: ${heard} of ${times * handlers} handlers ran`);
  },
});

async function oneCase({ handlers, kind }: Case, times: number, rounds: number): Promise<Section> {
  let games = 0;
  const handlersFor = <E>() =>
    Array.from({ length: handlers }, () =>
      kind === "sync"
        ? (_event: E): void => {
            games += 1;
          }
        : async (_event: E): Promise<void> => {
            await undefined;
            games += 1;
          },
    );
  const router = inProcessRouter();
  for (const handler of handlersFor()) router.subscribe("SELFPLAY_TICK", handler);
  const byHand = publisherByHand(handlersFor(), 600_000);
  const emitter = new Emittery<{ SELFPLAY_TICK: Progress }>();
  for (const handler of handlersFor()) emitter.on("SELFPLAY_TICK", handler);

  const counted = () => games;
  const result = await compare(
    [
      contender("router", handlers, counted, (payload) => router.publish("SELFPLAY_TICK", payload)),
      contender("by hand", handlers, counted, byHand),
      contender("emittery", handlers, counted, (payload) => emitter.emit("SELFPLAY_TICK", payload)),
    ],
    times,
    rounds,
    cpuUs,
  );
  await router.stop();
  await router.store.close();
  const goals = [atMost("cost, times that of the same steps by hand", result.costRatio("router", "by hand"), 1.5)];
  const rate = result.costRatio("emittery", "router");
  if (handlers === 5 && kind === "async") goals.push(atLeast("rate, share of emittery's", rate, 0.35));
  const plural = handlers === 1 ? "handler" : "handlers";
  return {
    title: `publish in the process, ${handlers} ${kind} ${plural}`,
    measured: result.contenders,
    goals,
    notes: handlers === 5 && kind === "async" ? {} : { "rate, share of emittery's": rate },
  };
}

export async function publishInProcess(times: number, rounds: number): Promise<Section[]> {
  const sections: Section[] = [];
  for (const kind of ["sync", "async"] as const)
    for (const handlers of [1, 5] as const) sections.push(await oneCase({ handlers, kind }, times, rounds));
  return sections;
}

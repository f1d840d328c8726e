/** A work queue over SQLite in memory, with a clock that only the test moves: real parts, virtual time. */
import { memoryStore } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { DaemonManager } from "../../../src/daemons/index.ts";
import { createUnitRuntime, type UnitRuntime } from "../../../src/daemons/unit/runtime.ts";
import type { Part, Unit } from "../../../src/daemons/unit/shape.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { defined, seededRandom, silentLog, type VirtualClock, virtualClock } from "../../../src/kernel/index.ts";
import { settingDefaults } from "../../../src/kernel/settings/index.ts";
import { EventRouter, type Store, type StoreModule } from "../../../src/router/index.ts";
import { WorkQueue, workSettings } from "../../../src/work/index.ts";
import { defineKind, type WorkKinds } from "../../../src/work/job/kinds.ts";
import type { WorkQueueOptions } from "../../../src/work/queue/open-queue.ts";
import { workModule } from "../../../src/work/tables.ts";
import { driver } from "../../support/virtual-time.ts";

export const withWork: readonly StoreModule[] = [
  ...storeModules.filter(({ name }) => name !== workModule.name),
  workModule,
];

export const kinds = {
  selfplay: defineKind({ evidence: { outputs: 1, counts: ["games"] } }),
  training: defineKind({ evidence: { outputs: 1, counts: ["samples"] }, cost: 4, preemptible: false }),
  export: defineKind({ evidence: { outputs: 1, counts: ["rows"] } }),
  check: defineKind({ evidence: { outputs: 0, counts: [] }, timeoutMs: 10_000 }),
} satisfies WorkKinds;
export type Kind = keyof typeof kinds;

/** More than any job needs. */
export const PLENTY = { cpu: 1_000, gpu: 1_000, memory_gb: 100_000, gpu_memory_gb: 100, tags: [] as string[] };
export const EVIDENCE = {
  outputs: [{ name: "games.bin", sha256: "ab".repeat(32), bytes: 4_096 }],
  counts: { games: 50, samples: 1_000 },
};

export function workWorld(options: Partial<WorkQueueOptions<Kind>> = {}, given?: Store) {
  const clock = (options.clock as VirtualClock | undefined) ?? virtualClock();
  const store = given ?? memoryStore(withWork, clock);
  const catalog = createCatalog(builtinRows);
  const log = silentLog();
  const router = new EventRouter({ catalog, store, clock, random: seededRandom(1), log, nodeId: "n1" });
  const open = () => new WorkQueue<Kind>({ router, store, clock, random: seededRandom(2), kinds, ...options });
  const queue = open();
  const runtimes: UnitRuntime[] = [];
  const managers: DaemonManager[] = [];
  const driven = driver(clock);
  return {
    clock,
    store,
    router,
    queue,
    /** As the units of the room take it. */
    services: { queue: queue, settings: settingDefaults(workSettings) },
    /** The queue as a process that starts now would find it. */
    open,
    driven,
    pass: (ms: number) => driven(new Promise<void>((resolve) => void clock.after(ms, resolve))),
    /** Of the runtime that was started last. */
    manager: () => managers.at(-1)!,
    async runtime(units: readonly Unit[], parts: readonly Part[] = []): Promise<UnitRuntime> {
      const registry = { catalog, units, parts, ingress: [], excused: {}, delegations: [] };
      const manager = new DaemonManager({ clock, random: seededRandom(3), log, nodeId: "n1", pid: 1 });
      managers.push(manager);
      const runtime = createUnitRuntime({ registry, router: router as unknown as EventRouter, clock, log, manager });
      runtimes.push(runtime);
      await driven(runtime.start());
      return runtime;
    },
    /** What was said, oldest first. */
    said: (eventType?: string) =>
      router
        .history({ fromJournal: true, limit: 10_000, ...defined({ eventType }) })
        .map((event) => ({ eventType: event.eventType, payload: event.payload })),
    /** One job claimed by a node. */
    async claimOne(node_id = "a") {
      const [lease] = await queue.claim({ node_id, most: 1, offer: PLENTY });
      return lease;
    },
    async close() {
      for (const runtime of runtimes) await driven(runtime.stop());
      await driven(router.stop());
      await store.close();
    },
  };
}
export type WorkWorld = ReturnType<typeof workWorld>;

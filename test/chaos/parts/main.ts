/** The main process of the chaos run: counts work in rows and answers it; dies at a named point when told to. */
import { bootstrapCoordination } from "../../../src/app/bootstrap.ts";
import { readSettings } from "../../../src/app/settings.ts";
import { defineTable, type Operation, type Store } from "../../../src/router/index.ts";
import { chaosEvents } from "./events.ts";

const [dataDir = "", crashAt = "never", after = "0"] = process.argv.slice(2);

const die = () => process.kill(process.pid, "SIGKILL");

/** Kills this process around the n-th commit that fits the point. */
function dyingStore(store: Store): Store {
  let left = Number(after);
  const fits = (operations: readonly Operation[]) => {
    const names = operations.map(({ op }) => op);
    if (crashAt === "after-handler-before-ack") return names.includes("journal.ack") && names.includes("state.apply");
    return crashAt !== "never" && names.includes("journal.append");
  };
  return {
    read: store.read,
    scan: store.scan,
    onFault: store.onFault,
    close: store.close,
    get fault() {
      return store.fault;
    },
    async commit(operations) {
      const counts = fits(operations);
      if (counts && left <= 0 && crashAt !== "after-commit-before-reply") die();
      const results = await store.commit(operations);
      if (counts && left <= 0) die();
      if (counts) left -= 1;
      return results;
    },
  };
}

const { router, shutdown } = await bootstrapCoordination({
  settings: readSettings(process.env, dataDir, { dataDir, port: 0, logLevel: "ERROR" }),
  events: chaosEvents,
  wrapStore: dyingStore,
});

const effects = defineTable<{ n: number }>("effects");
const totals = defineTable<{ n: number }>("totals");
const lastSeen = defineTable<{ seq: number }>("last_seen");

for (const consumer of ["inside-1", "inside-2"])
  await router.consume({
    consumer,
    start: "earliest",
    handlers: {
      CHAOS_WORK: async (event, { rows, emit }) => {
        const { key } = event.payload as { key: string };
        const at = `${consumer}/${event.eventId}`;
        rows.put(effects, at, { n: (rows.get(effects, at)?.n ?? 0) + 1 });
        rows.put(totals, consumer, { n: (rows.get(totals, consumer)?.n ?? 0) + 1 });
        const last = rows.get(lastSeen, `${consumer}/${key}`)?.seq ?? 0;
        if (last >= event.seq!) rows.put(totals, "out-of-order", { n: (rows.get(totals, "out-of-order")?.n ?? 0) + 1 });
        rows.put(lastSeen, `${consumer}/${key}`, { seq: event.seq! });
        if (consumer === "inside-1") emit("CHAOS_ECHO", { of: event.eventId, by: consumer });
        await Promise.resolve();
      },
    },
  });

process.once("SIGTERM", () => void shutdown().then(() => process.exit(0)));
process.stdout.write("ready\n");

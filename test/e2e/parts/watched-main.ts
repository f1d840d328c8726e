/**
 * A main process with a watched main loop, for tests: `node watched-main.ts <folder> <how> [silent]`. It publishes before, while and
 * after something blocks its main loop for some seconds, and says when the alarm is in the journal and all is delivered.
 */
import { execFileSync } from "node:child_process";
import { writeSync } from "node:fs";
import { join } from "node:path";
import { threadedStore } from "../../../src/adapters/sqlite/threaded-store.ts";
import { onlyDeclared } from "../../../src/app/only-declared.ts";
import { declaredServices, liveRegistry } from "../../../src/app/registry.ts";
import { createUnitRuntime, DaemonManager, supervisionStore, watchMainLoop } from "../../../src/daemons/index.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { createLog, systemClock, systemRandom } from "../../../src/kernel/index.ts";
import { EventRouter } from "../../../src/router/index.ts";
import { patience } from "../../support/patience.ts";

const [folder, how, loud] = process.argv.slice(2) as [string, "busy" | "native", "silent" | undefined];
const BLOCK_MS = 3_000;
const EACH = 50;
const say = (line: string) => void writeSync(1, `${line}\n`);

const clock = systemClock();
const log = createLog("INFO");
const nodeId = "n1";
const store = await threadedStore({
  path: join(folder, "coordination.db"),
  modulesUrl: new URL("../../../src/app/store-modules.ts", import.meta.url).href,
  clock,
});
const router = new EventRouter({
  catalog: createCatalog(builtinRows),
  store,
  clock,
  random: systemRandom(),
  log,
  nodeId,
});
const inner = router as unknown as EventRouter;
const logFile = join(folder, "alarm.log");
const mainLoop = watchMainLoop({ clock, log, blockedAfterMs: 1_000, logFile, isSilent: loud === "silent" });
const manager = new DaemonManager({
  clock,
  random: systemRandom(),
  log,
  nodeId,
  pid: process.pid,
  store: supervisionStore(inner),
});
const registry = liveRegistry({
  ...declaredServices(),
  daemons: {
    router: inner,
    store,
    clock,
    random: systemRandom(),
    supervisor: manager,
    mainLoop,
    surface: onlyDeclared(),
  },
});
const units = createUnitRuntime({ registry, router: inner, clock, log, manager, heartbeatMs: 500 });
// The other rooms' units have no ports here.
await units.start(["event_router", "daemon_control", "daemon_watchdog", "dlq_retry", "maintenance"]);

const heard = new Set<string>();
const consumer = await inner.consume({
  consumer: "counting",
  handlers: { HOST_OFFLINE: ({ payload }) => void heard.add(String(payload.node_id)) },
});
const publish = (when: string) =>
  Array.from({ length: EACH }, (_, i) =>
    inner.publish("HOST_OFFLINE", { node_id: `${when}-${i}`, reason: "silent" }, { source: "test" }),
  );

function innocentBlocker(ms: number): number {
  if (how === "native") {
    // Long enough that whoever watches gets a turn meanwhile.
    execFileSync("sleep", [String(patience(ms) / 1_000)]);
    return 0;
  }
  // Time in which other programs have the processor does not count.
  const ranMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  const end = ranMs() + ms;
  let turns = 0;
  while (ranMs() < end) turns += 1;
  return turns;
}

const alarmed = Promise.withResolvers<void>();
inner.subscribe("ERROR", ({ payload, seq }) => {
  if (payload.error_code !== "MAIN_LOOP_BLOCKED") return;
  say(`alarm in the journal: ${seq !== null}`);
  alarmed.resolve();
});

const before = publish("before");
await mainLoop.watching;
const during = publish("during");
say("blocking");
innocentBlocker(BLOCK_MS);
say("unblocked");
const after = publish("after");
const published = await Promise.all([...before, ...during, ...after]);
for (const event of published) await inner.settled(event);
await alarmed.promise;
say(`delivered ${heard.size} of ${published.length}`);
say(`delay ${mainLoop.loopDelay().maxMs > 2_000 && mainLoop.blocks > 0} answering ${mainLoop.isAnswering()}`);

await manager.shutdown();
await units.stop();
await consumer.stop();
await router.stop();
await store.close();
await mainLoop.stop();
say("ended");

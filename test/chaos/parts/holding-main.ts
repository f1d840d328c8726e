/**
 * A main process with `daemon_control` and one daemon that it may hold: `node holding-main.ts <folder>`. It takes `press` and
 * `release` on standard input, says `pressed` and `released` once they are committed, and says what the daemon does when that
 * changes.
 */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { threadedStore } from "../../../src/adapters/sqlite/threaded-store.ts";
import { createUnitRuntime, DaemonManager, defineDaemon, supervisionStore } from "../../../src/daemons/index.ts";
import { daemonControl } from "../../../src/daemons/units/daemon-control/daemon-control.unit.ts";
import { eventRouter } from "../../../src/daemons/units/event-router/event-router.unit.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { silentLog, systemClock, systemRandom } from "../../../src/kernel/index.ts";
import { EventRouter } from "../../../src/router/index.ts";

const [folder] = process.argv.slice(2) as [string];
const say = (line: string) => void process.stdout.write(`${line}\n`);
const clock = systemClock();
const random = systemRandom();
const log = silentLog();
const nodeId = "n1";
const store = await threadedStore({
  path: join(folder, "coordination.db"),
  modulesUrl: new URL("../../../src/app/store-modules.ts", import.meta.url).href,
  clock,
});
const catalog = createCatalog(builtinRows);
const router = new EventRouter({ catalog, store, clock, random, log, nodeId }) as unknown as EventRouter;
const manager = new DaemonManager({ clock, random, log, nodeId, pid: process.pid, store: supervisionStore(router) });
let ticks = 0;
const scheduler = defineDaemon({
  name: "selfplay_scheduler",
  layer: 2,
  placement: "each-node",
  emits: [],
  loop: {
    everyMs: 20,
    tick() {
      ticks += 1;
    },
  },
});
const units = [eventRouter({ router, store }), daemonControl({ router, supervisor: manager }), scheduler];
const registry = { catalog, units, parts: [], ingress: [], excused: {}, delegations: [] } as never;
await createUnitRuntime({ registry, router, clock, log, manager }).start();
say(`started ${manager.getStatus().selfplay_scheduler!.paused ?? "running"} after ${ticks} ticks`);

let last = "";
const look = () => {
  const { paused, state } = manager.getStatus().selfplay_scheduler!;
  const now = paused ?? state;
  if (now !== last) say(`now ${now}`);
  last = now;
};
setInterval(look, 10);

for await (const command of createInterface({ input: process.stdin })) {
  const about = { scope: "games", reason: "full", queue_depth: 5_000, waited_seconds: 900 };
  const stop = { level: "stop", resource_level: "critical", previous_level: "none", rate_multiplier: 0 } as const;
  const none = { level: "none", resource_level: "none", previous_level: "stop", rate_multiplier: 1 } as const;
  if (command === "press") await router.publish("BACKPRESSURE_ACTIVATED", { ...about, ...stop });
  else await router.publish("BACKPRESSURE_RELEASED", { ...about, ...none });
  say(command === "press" ? "pressed" : "released");
}

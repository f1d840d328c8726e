/** The daemon types whose work the room `daemons` does. */
import { defineCoordinator, defineDaemon } from "../../../src/daemons/index.ts";
import { maintenanceDefaults } from "../../../src/daemons/limits.ts";
import { daemonWatchdog } from "../../../src/daemons/units/daemon-watchdog/daemon-watchdog.unit.ts";
import { dlqRetry } from "../../../src/daemons/units/dlq-retry/dlq-retry.unit.ts";
import { eventRouter } from "../../../src/daemons/units/event-router/event-router.unit.ts";
import { httpServer } from "../../../src/daemons/units/http-server/http-server.unit.ts";
import type { HttpDoor } from "../../../src/daemons/units/http-server/http-surface.port.ts";
import { maintenance } from "../../../src/daemons/units/maintenance/maintenance.unit.ts";
import { builtinRows } from "../../../src/events/index.ts";
import { seededRandom } from "../../../src/kernel/index.ts";
import { allRoutes } from "../../../src/surfaces/index.ts";
import { type UnitWorldOptions, unitWorld } from "../../fixtures/unit-world.ts";
import { type Scene, type ShownTypes, supervised, toldIn } from "./scene.ts";

const world = (settings: UnitWorldOptions["settings"] = {}) => unitWorld(builtinRows, { settings });
type World = ReturnType<typeof world>;

const offline = (w: World, node_id: string) =>
  w.router.publish("HOST_OFFLINE", { node_id, reason: "silent" }, { source: "test" });
const journal = (w: World) => w.store.read<{ n: number }>("SELECT count(*) AS n FROM events")[0]!.n;

async function journalTooLarge(): Promise<Scene> {
  const w = world({ retentionBytes: 1 });
  return {
    ...w,
    manager: await supervised(w, [eventRouter(w)]),
    before: () => Promise.all(["a", "b", "c", "d", "e"].map((node) => offline(w, node))),
    live: () => w.pass(70_000),
    seen: () => journal(w),
    idle: 5,
    shows: 1,
  };
}

/** A program outside that hears events by a session, and one that went away and does not come back. */
async function consumersOutside(): Promise<Scene> {
  const w = world({ consumerExpirySeconds: 3_600 });
  const eventTypes = ["HOST_OFFLINE"];
  const heard: string[] = [];
  const gone = () =>
    w.router
      .history({ fromJournal: true, eventType: "ERROR" })
      .map(({ payload }) => [payload.error_code, (payload.details as { consumer: string }).consumer]);
  const manager = await supervised(w, [eventRouter(w)]);
  const present = await w.router.openSession({ consumer: "present", eventTypes });
  await w.router.closeSession(await w.router.openSession({ consumer: "away", eventTypes }), false);
  return {
    ...w,
    manager,
    before: () => offline(w, "a"),
    async live() {
      for (let minute = 0; minute < 64; minute += 1) {
        await w.pass(60_000);
        for (const { event } of await w.driven(present.poll(10, 0))) {
          heard.push(event.eventType);
          await w.driven(present.ack([event.seq!]));
        }
      }
    },
    seen: () => ({ heard, gone: gone() }),
    idle: { heard: ["HOST_OFFLINE"], gone: [] },
    shows: { heard: ["HOST_OFFLINE"], gone: [["CONSUMER_EXPIRED", "away"]] },
  };
}

async function deadLetter(): Promise<Scene> {
  const w = world({ maxAttempts: 1, breakerThreshold: 1_000_000 });
  const consumer = { isWell: false };
  const fragile = defineCoordinator({
    ...{ name: "fragile", layer: 3, placement: "leader", emits: [] },
    on: {
      HOST_OFFLINE() {
        if (!consumer.isWell) throw new Error("not well");
      },
    },
  });
  return {
    ...w,
    manager: await supervised(w, [eventRouter(w), dlqRetry(w), fragile]),
    async before() {
      await offline(w, "a");
      await w.pass(1_000);
      consumer.isWell = true;
    },
    live: () => w.pass(5 * 60_000),
    seen: () => w.router.deadLetters.counts().recovered,
    idle: 0,
    shows: 1,
  };
}

/** A daemon whose loop fails all the time, and a coordinator that says that it is ill. */
async function illUnits(): Promise<Scene> {
  const w = world();
  const about = { layer: 2, placement: "leader", emits: [] } as const;
  let runs = 0;
  const daemon = defineDaemon({
    ...about,
    name: "a_daemon",
    loop: {
      everyMs: 1_000,
      tick() {
        throw new Error("no luck");
      },
    },
    state: {
      cache: () => {
        runs += 1;
      },
    },
  });
  const coordinator = defineCoordinator({
    ...about,
    name: "a_coordinator",
    on: { HOST_OFFLINE() {} },
    health: () => ({ status: "degraded", message: "it is ill" }),
  });
  const told = toldIn(w, ["COORDINATOR_UNHEALTHY", "COORDINATOR_HEALTH_DEGRADED"], "coordinator_name");
  return {
    ...w,
    manager: await supervised(w, [eventRouter(w), daemonWatchdog({ router: { nodeId: "n1" } }), daemon, coordinator]),
    live: () => w.pass(180_000),
    // It reports, and starts nobody anew.
    seen: () => ({ told: told().sort(), runs }),
    idle: { told: [], runs: 1 },
    shows: { told: ["COORDINATOR_HEALTH_DEGRADED a_coordinator", "COORDINATOR_UNHEALTHY a_daemon"], runs: 1 },
  };
}

async function doorThatIsGone(): Promise<Scene> {
  const w = world();
  const isOpen: HttpDoor = { door: "port", address: "127.0.0.1:8770", ok: true, gone: false, message: "" };
  let door = isOpen;
  const surface = {
    check: async () => [door],
    async reopen() {
      door = isOpen;
    },
    sample: () => {},
  };
  const unit = httpServer({ surface, clock: w.clock, random: seededRandom(3) }, 1_000);
  return {
    ...w,
    manager: await supervised(w, [eventRouter(w), unit]),
    before() {
      door = { ...isOpen, ok: false, gone: true, message: "ECONNREFUSED" };
    },
    live: () => w.pass(5_000),
    // What the surface serves is all behind that door: health and files alike.
    seen: () => ({ isOpen: door.ok, serves: allRoutes.some(({ path }) => path.startsWith("/v1/artifacts/")) }),
    idle: { isOpen: false, serves: true },
    shows: { isOpen: true, serves: true },
  };
}

async function longLog(): Promise<Scene> {
  const w = world();
  const state = { wal: 0 };
  const database = {
    check: async () => [],
    walBytes: () => state.wal,
    async truncateWal() {
      state.wal = 0;
      return true;
    },
  };
  const unit = maintenance({ router: { nodeId: "n1" }, store: w.store, database });
  return {
    ...w,
    manager: await supervised(w, [eventRouter(w), unit]),
    async before() {
      state.wal = maintenanceDefaults.walBytes + 1;
      await offline(w, "a");
    },
    live: () => w.pass(700_000),
    // The journal is not its business.
    seen: () => ({ wal: state.wal, journal: journal(w) }),
    idle: { wal: maintenanceDefaults.walBytes + 1, journal: 1 },
    shows: { wal: 0, journal: 1 },
  };
}

export const ofDaemons = {
  EVENT_ROUTER: { unit: "event_router", does: "keeps the journal within its size", open: journalTooLarge },
  CROSS_PROCESS_POLLER: {
    unit: "event_router",
    does: "looks after consumers of other processes: one that stays away expires, loudly",
    open: consumersOutside,
  },
  DLQ_RETRY: { unit: "dlq_retry", does: "sends a dead letter back to its own consumer", open: deadLetter },
  DAEMON_WATCHDOG: { unit: "daemon_watchdog", does: "reports who is ill, and starts nobody anew", open: illUnits },
  COORDINATOR_HEALTH_MONITOR: {
    unit: "daemon_watchdog",
    does: "reports coordinators as it reports daemons",
    open: illUnits,
  },
  DATA_SERVER: {
    unit: "http_server",
    does: "opens the one HTTP surface anew, which serves files too",
    open: doorThatIsGone,
  },
  HEALTH_SERVER: { unit: "http_server", does: "opens the one HTTP surface anew", open: doorThatIsGone },
  MAINTENANCE: { unit: "maintenance", does: "cuts a log that is long, and lets the journal be", open: longLog },
} satisfies ShownTypes;

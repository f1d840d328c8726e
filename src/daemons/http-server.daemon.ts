import { backoffMs, type Clock, messageOf, type Random } from "../kernel/index.ts";
import { defineDaemon } from "./unit.ts";

export interface HttpDoor {
  readonly door: string;
  readonly address: string;
  readonly ok: boolean;
  /** Surely not ours any more, and not just slow to answer. */
  readonly gone: boolean;
  /** What is wrong with it; also for one that answers and could be better. */
  readonly message: string;
}

/** The surface that this unit keeps up. `app` connects it. */
export interface HttpSurfacePort {
  /** Asks each door over itself whether it answers. */
  check(): Promise<readonly HttpDoor[]>;
  reopen(door: string): Promise<void>;
  /** Newest values of what a node measures, for whoever collects them. */
  sample(nodeId: string, values: Readonly<Record<string, number>>): void;
}

export interface HttpServerPorts {
  readonly surface: HttpSurfacePort;
  readonly clock: Clock;
  readonly random: Random;
  readonly everyMs?: number;
}

interface Trouble {
  readonly message: string;
  readonly failures: number;
  /** Not tried again before, on the monotonic clock. */
  readonly notBefore: number;
}

const BACKOFF = { firstMs: 1_000, mostMs: 60_000, jitter: 0.2 };
/** One silent door may be a moment's load; twice in a row it is opened anew. One that is gone is, at once. */
const PATIENCE = 2;

/**
 * Keeps the one HTTP surface up: asks every door over itself, opens anew what died or was taken, later and later while that
 * fails, and says so in its health. What nodes measure goes to those who collect it.
 */
export const httpServerDaemon = ({ surface, clock, random, everyMs = 5_000 }: HttpServerPorts) => {
  const troubles = new Map<string, Trouble>();
  let doors: readonly HttpDoor[] = [];
  let reopened = 0;

  const tend = async (door: HttpDoor, log: (message: string) => void): Promise<void> => {
    if (door.ok) return void troubles.delete(door.door);
    const known = troubles.get(door.door);
    const failures = (known?.failures ?? 0) + 1;
    const note = (message: string) =>
      troubles.set(door.door, {
        message,
        failures,
        notBefore: clock.monotonic() + backoffMs(BACKOFF, failures, random),
      });
    if (!door.gone && failures < PATIENCE)
      return void troubles.set(door.door, { message: door.message, failures, notBefore: 0 });
    if (known !== undefined && clock.monotonic() < known.notBefore) return;
    try {
      await surface.reopen(door.door);
      reopened += 1;
      troubles.delete(door.door);
    } catch (thrown) {
      note(messageOf(thrown));
      log(`${door.door}: ${messageOf(thrown)}`);
    }
  };

  return defineDaemon({
    name: "http_server",
    layer: 2,
    placement: "each-process",
    alsoKnownAs: ["HEALTH_SERVER", "DATA_SERVER", "Dashboard"],
    dependsOn: ["event_router"],
    emits: [],
    on: {
      METRICS_UPDATED: ({ payload }) => surface.sample(payload.node_id, payload.metrics),
    },
    loop: {
      everyMs,
      async tick({ log, signal }) {
        doors = await surface.check();
        for (const door of doors) {
          if (signal.aborted) return;
          await tend(door, (message) => log.error("a door of the API stays shut", { message }));
        }
      },
    },
    health: () => {
      const details = { reopened, doors: doors.map(({ door, address, ok }) => ({ door, address, ok })) };
      const shut = [...troubles].map(([door, { message }]) => `${door}: ${message}`);
      const worries = doors.filter(({ ok, message }) => ok && message !== "").map(({ message }) => message);
      const message = [...shut, ...worries].join("; ");
      if (doors.length > 0 && troubles.size === doors.length) return { status: "stopped", message, details };
      return { status: message === "" ? "running" : "degraded", message, details };
    },
  });
};

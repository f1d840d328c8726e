import { backoffMs, messageOf } from "../../../kernel/index.ts";
import { httpServerLimits } from "../../limits.ts";
import type { DaemonsServices } from "../../services.ts";
import { defineDaemon, type Wiring } from "../../unit/shape.ts";
import type { HttpDoor } from "./http-surface.port.ts";

const wiring = {
  name: "http_server",
  layer: 2,
  placement: "each-process",
  profiles: ["coordinator"],
  daemonTypes: ["HEALTH_SERVER", "DATA_SERVER"],
  alsoKnownAs: ["Dashboard"],
  dependsOn: ["event_router"],
  emits: [],
} as const satisfies Wiring;

interface Trouble {
  readonly message: string;
  readonly failures: number;
  /** Not tried again before, on the monotonic clock. */
  readonly notBefore: number;
}

/**
 * Keeps the one HTTP surface up: asks every door over itself, opens anew what died or was taken, later and later while that
 * fails, and says so in its health. What nodes measure goes to those who collect it.
 */
export const httpServer = (
  { surface, clock, random }: Pick<DaemonsServices, "surface" | "clock" | "random">,
  everyMs = httpServerLimits.everyMs,
) => {
  const troubles = new Map<string, Trouble>();
  let doors: readonly HttpDoor[] = [];
  let reopened = 0;
  /** The doors were opened by the start of which the first tick is a part, or it had failed: it has more to do than to ask them. */
  let isFirst = true;

  const tend = async (door: HttpDoor, log: (message: string) => void): Promise<void> => {
    if (door.ok) return void troubles.delete(door.door);
    const known = troubles.get(door.door);
    const failures = (known?.failures ?? 0) + 1;
    const note = (message: string) =>
      troubles.set(door.door, {
        message,
        failures,
        notBefore: clock.monotonic() + backoffMs(httpServerLimits.backoff, failures, random),
      });
    if (!door.gone && failures < httpServerLimits.patience)
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
    ...wiring,
    on: {
      METRICS_UPDATED: ({ payload }) => surface.sample(payload.node_id, payload.metrics),
    },
    loop: {
      everyMs,
      async tick({ log, signal }) {
        if (isFirst) {
          isFirst = false;
          return;
        }
        doors = await surface.check();
        for (const door of doors) {
          if (signal.aborted) return;
          await tend(door, (message) => log.error("an address of the API could not be opened", { message }));
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

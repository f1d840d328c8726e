import { type Catalog, EventSource } from "../events/index.ts";
import { OperatingError } from "../kernel/index.ts";
import type { Handler } from "./ephemeral.ts";
import type { Published, ViewName } from "./event.ts";
import type { PublishOptions } from "./prepare.ts";

/** An event as one hands it to a bus: name, payload and who says it. */
export interface DataEvent {
  readonly eventType: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly source?: string;
}

/** One of the views over the journal: its subscribers see the events that are routed to it. */
export interface EventBus {
  publish(event: DataEvent, options?: PublishOptions): Promise<Published>;
  /** `null` hears all that this bus shows. Returns how to stop. */
  subscribe(name: string | null, handler: Handler): () => void;
  unsubscribe(name: string | null, handler: Handler): boolean;
}

/** What a bus needs of the router behind it. */
export interface BusRouter {
  readonly catalog: Catalog;
  publish(eventType: string, payload: Readonly<Record<string, unknown>>, options?: PublishOptions): Promise<Published>;
  subscribe(eventType: string | null, handler: Handler, options?: { view?: ViewName }): () => void;
  unsubscribe(eventType: string | null, handler: Handler): boolean;
}

const busOver = (
  router: BusRouter,
  view: ViewName,
  origin: EventSource,
  /** The event that a publisher means by a name of this bus. */
  toEvent: (name: string) => string,
  /** The events that a subscriber means by it. */
  toEvents: (name: string) => readonly string[],
): EventBus => ({
  publish: ({ eventType, payload, source }, options = {}) =>
    router.publish(toEvent(eventType), payload, { ...options, origin, ...(source === undefined ? {} : { source }) }),
  subscribe(name, handler) {
    const names = name === null ? [null] : toEvents(name);
    const stops = names.map((one) => router.subscribe(one, handler, { view }));
    return () => {
      for (const stop of stops) stop();
    };
  },
  unsubscribe(name, handler) {
    const names = name === null ? [null] : toEvents(name);
    return names.map((one) => router.unsubscribe(one, handler)).some(Boolean);
  },
});

/** The data bus shows every event unless its publisher says otherwise. */
export const dataBusOf = (router: BusRouter): EventBus =>
  busOver(
    router,
    "dataBus",
    EventSource.DATA_BUS,
    (name) => name,
    (name) => [name],
  );

/** The stage bus shows the events that have a twin there, by the twin's name or by their own. */
export function stageBusOf(router: BusRouter): EventBus {
  const { names } = router.catalog;
  const toEvents = (name: string): readonly string[] => {
    const stage = names.ofStage(name);
    return stage.length > 0 ? stage : [name];
  };
  const toEvent = (name: string): string => {
    const known = toEvents(name);
    if (known.length === 1) return known[0]!;
    throw new OperatingError("INVALID_STAGE", `'${name}' is the stage of several events: ${known.join(", ")}`, {
      hint: "Publish the one you mean by its own name.",
    });
  };
  return busOver(router, "stageBus", EventSource.STAGE_BUS, toEvent, toEvents);
}

/** What other processes see. */
export const crossProcessOf = (router: BusRouter): EventBus =>
  busOver(
    router,
    "crossProcess",
    EventSource.CROSS_PROCESS,
    (name) => name,
    (name) => [name],
  );

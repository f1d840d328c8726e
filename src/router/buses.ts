import { type Catalog, EventSource } from "../events/index.ts";
import { defined, OperatingError } from "../kernel/index.ts";
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
  unsubscribe(eventType: string | null, handler: Handler, options?: { view?: ViewName }): boolean;
}

const busOver = (
  router: BusRouter,
  view: ViewName,
  origin: EventSource,
  /** The events that somebody means by a name of this bus. */
  toEvents: (name: string) => readonly string[] = (name) => [name],
): EventBus => {
  const heardAs = (name: string | null) => (name === null ? [null] : toEvents(name));
  return {
    publish({ eventType, payload, source }, options = {}) {
      const [name, ...others] = toEvents(eventType);
      if (others.length === 0) return router.publish(name!, payload, { ...options, origin, ...defined({ source }) });
      throw OperatingError.invalid(
        "INVALID_STAGE",
        `'${eventType}' is the stage of several events: ${[name, ...others].join(", ")}`,
        { hint: "Use the name of the event instead." },
      );
    },
    subscribe(name, handler) {
      const stops = heardAs(name).map((one) => router.subscribe(one, handler, { view }));
      return () => {
        for (const stop of stops) stop();
      };
    },
    unsubscribe: (name, handler) =>
      heardAs(name)
        .map((one) => router.unsubscribe(one, handler, { view }))
        .some(Boolean),
  };
};

/** The data bus shows every event unless its publisher says otherwise. */
export const dataBusOf = (router: BusRouter): EventBus => busOver(router, "dataBus", EventSource.DATA_BUS);

/** The stage bus shows the events that have a twin there, by the twin's name or by their own. */
export const stageBusOf = (router: BusRouter): EventBus =>
  busOver(router, "stageBus", EventSource.STAGE_BUS, (name) => {
    const stage = router.catalog.names.ofStage(name);
    return stage.length > 0 ? stage : [name];
  });

/** What other processes see. */
export const crossProcessOf = (router: BusRouter): EventBus =>
  busOver(router, "crossProcess", EventSource.CROSS_PROCESS);

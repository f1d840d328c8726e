/**
 * What must not compile. `tsc` reads this file and nobody runs it: each `@ts-expect-error` is a promise that breaks the
 * build when the line below it becomes legal.
 */
import { z } from "zod";
import type { PayloadOf } from "../../src/events/catalog.ts";
import type { WireValue } from "../../src/events/envelope.ts";
import {
  type AnyRouterEvent,
  createCatalog,
  DataEventType,
  defineEvents,
  type EventName,
  type fields,
  type PayloadFor,
  type RouterEvent,
  type RouterEventOf,
} from "../../src/events/index.ts";

type Handlers = { readonly [N in EventName]?: (event: RouterEvent<N>) => void };
declare function subscribe<N extends EventName>(
  event: N | WireValue<N>,
  handler: (event: RouterEvent<N>) => void,
): void;

export const handlers: Handlers = {
  MODEL_PROMOTED: ({ payload }) => void payload.model_id,
  // @ts-expect-error unknown event: the name is TRAINING_COMPLETED
  TRAINING_COMPLETE() {},
};

export const complete: PayloadFor<"ELO_SIGNIFICANT_CHANGE"> = {
  config_key: "hex8_2p",
  model_id: "plain strings are checked at run time",
  elo: 1610,
  previous_elo: 1580,
  elo_change: 30,
  threshold: 30,
};

// @ts-expect-error wrong type: a rating is a number
export const wrongType: PayloadFor<"ELO_SIGNIFICANT_CHANGE"> = { ...complete, elo: "1610" };

// @ts-expect-error wrong form: "hex8" says nothing of the players
export const wrongForm: PayloadFor<"ELO_SIGNIFICANT_CHANGE"> = { ...complete, config_key: "hex8" };

// @ts-expect-error no such word in the closed set
export const wrongWord: PayloadFor<"ELO_VELOCITY_CHANGED">["trend"] = "falling";

// @ts-expect-error a required field is missing: the model
export const missing: PayloadFor<"MODEL_SYNC_REQUESTED"> = { node_id: "gpu-7" };

export const unknownField: PayloadFor<"IDLE_STATE_REQUEST"> = {
  node_id: "gpu-7",
  // @ts-expect-error the key is node_id, never host
  host: "gpu-7",
};

export const wrongOrderKey = defineEvents("mine", {
  // @ts-expect-error the order key is no field of the payload
  MINE: { about: "Mine.", class: "durable", orderKey: "config_key", payload: { node_id: z.string() } },
});

export const wrongDedup = defineEvents("mine", {
  // @ts-expect-error a dedup field is no field of the payload
  MINE: { about: "Mine.", class: "durable", orderKey: null, dedup: ["model_id"], payload: { node_id: z.string() } },
});

export const wrongClass = defineEvents("mine", {
  // @ts-expect-error no such class
  MINE: { about: "Mine.", class: "eternal", orderKey: null, payload: {} },
});

/** Handlers see branded ids, so that a node is never taken for a model. */
export function handle(event: RouterEvent<"P2P_MODEL_SYNCED">): void {
  const node: fields.NodeId = event.payload.node_id;
  const model: fields.ModelId = event.payload.model_id;
  // @ts-expect-error a node is no model
  const mistaken: fields.ModelId = event.payload.node_id;
  // @ts-expect-error a plain string is no checked id
  const unchecked: fields.NodeId = "gpu-7";
  void [node, model, mistaken, unchecked];
}

/** The name decides the payload, also when an event is one of several. */
export function narrow(event: RouterEventOf<"MODEL_PROMOTED" | "HOST_OFFLINE">): string {
  // @ts-expect-error only one of the two has a model
  void event.payload.model_id;
  return event.eventType === "MODEL_PROMOTED" ? event.payload.model_id : event.payload.reason;
}

/** A typed event is an event; an untyped one is not yet a typed one. */
export function widen(event: RouterEvent<"MODEL_PROMOTED">): AnyRouterEvent {
  return event;
}
export function guess(event: AnyRouterEvent): RouterEvent<"MODEL_PROMOTED"> {
  // @ts-expect-error nobody has looked at its name and payload
  return event;
}

/** A subscription by constant or by wire value has the same type. */
export function subscribing(): void {
  subscribe("HOST_OFFLINE", ({ payload }) => void payload.reason);
  subscribe(DataEventType.HOST_OFFLINE, ({ payload }) => void payload.reason);
  // @ts-expect-error the payload of HOST_OFFLINE has no model
  subscribe(DataEventType.HOST_OFFLINE, ({ payload }) => void payload.model_id);
  // @ts-expect-error no such event
  subscribe("HOST_GONE", () => {});
  // @ts-expect-error no such constant
  void DataEventType.HOST_GONE;
}

/** Events of one's own are typed like ours. */
const own = createCatalog(
  defineEvents("mine", {
    ROBOT_MOVED: { about: "A robot moved.", class: "volatile", orderKey: "robot", payload: { robot: z.string() } },
  }),
);
type Own = typeof own.rows;
export const moved: PayloadOf<"ROBOT_MOVED", Own> = { robot: "r2" };
// @ts-expect-error its payload has no such field
export const lost: PayloadOf<"ROBOT_MOVED", Own> = { robot: "r2", place: "kitchen" };
export function follow(event: RouterEvent<"ROBOT_MOVED", Own>): string {
  return event.payload.robot;
}

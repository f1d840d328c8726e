/**
 * Wiring that must not compile. `tsc` reads this file and nobody runs it: each `@ts-expect-error` is a promise that breaks
 * the build when the line below it becomes legal.
 */
import { z } from "zod";
import { createRegistry } from "../../src/daemons/unit/registry.ts";
import {
  defineCoordinator,
  defineDaemon,
  definePart,
  onEach,
  type UnitContext,
  unitsFor,
} from "../../src/daemons/unit/shape.ts";
import { builtinRows, createCatalog, defineEvents } from "../../src/events/index.ts";
import { defineTable } from "../../src/router/index.ts";

const some = { name: "some", layer: 1, placement: "leader" } as const;
const catalog = createCatalog(builtinRows);
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** What a unit hears is `keyof` its handlers, and what it emits is what it declared: no more and no less. */
const full = defineCoordinator({
  ...some,
  emits: ["HOST_OFFLINE"],
  state: { tables: { seen: defineTable<{ times: number }>("seen") }, cache: () => new Map<string, number>() },
  on: {
    MODEL_PROMOTED({ payload }, { emit, rows, tables, cache }) {
      cache.set(payload.model_id, 1);
      rows.put(tables.seen, payload.model_id, { times: 1 });
      // @ts-expect-error a row of this table has a number
      rows.put(tables.seen, payload.model_id, { times: "once" });
      emit.HOST_OFFLINE({ node_id: "gpu-7", reason: "silent" });
      // @ts-expect-error wrong payload: the reason is missing
      emit.HOST_OFFLINE({ node_id: "gpu-7" });
      // @ts-expect-error wrong payload: the key is node_id, never host
      emit.HOST_OFFLINE({ node_id: "gpu-7", reason: "silent", host: "gpu-7" });
      // @ts-expect-error this unit has not declared that it emits it
      emit.HOST_ONLINE({ node_id: "gpu-7" });
      // @ts-expect-error the payload of MODEL_PROMOTED has no such field
      void payload.config;
    },
  },
});
export const hears: Same<(typeof full)["hears"][number], "MODEL_PROMOTED"> = true;
export const emits: Same<(typeof full)["emits"][number], "HOST_OFFLINE"> = true;

// @ts-expect-error unknown event: the name is TRAINING_COMPLETED
defineCoordinator({ ...some, emits: [], on: { TRAINING_COMPLETE() {} } });

// @ts-expect-error unknown event in what it emits
defineCoordinator({ ...some, emits: ["HOST_GONE"], on: { HOST_ONLINE() {} } });

// @ts-expect-error no such placement
defineCoordinator({ ...some, placement: "everywhere", emits: [], on: {} });

// @ts-expect-error a daemon has a loop
defineDaemon({ ...some, emits: [] });

const silent = defineDaemon({ ...some, emits: [], loop: { everyMs: 1_000, tick() {} } });
export const hearsNothing: Same<(typeof silent)["hears"][number], never> = true;

defineDaemon({
  ...some,
  emits: ["HOST_OFFLINE"],
  loop: {
    everyMs: 1_000,
    tick({ emit }) {
      emit.HOST_OFFLINE({ node_id: "gpu-7", reason: "silent" });
      // @ts-expect-error emission not declared
      emit.NODE_RECOVERED({ node_id: "gpu-7" });
    },
  },
});

/** A wide listener is a table: one function, and the union of the events' types. */
const wide = defineCoordinator({
  ...some,
  emits: ["HOST_OFFLINE"],
  on: {
    ...onEach(["MODEL_PROMOTED", "HOST_ONLINE"], (event, { emit }: UnitContext<"HOST_OFFLINE">) => {
      // @ts-expect-error only one of the two has a model
      void event.payload.model_id;
      const reason: string = event.eventType === "MODEL_PROMOTED" ? event.payload.model_id : event.payload.node_id;
      emit.HOST_OFFLINE({ node_id: "gpu-7", reason });
    }),
    NODE_RECOVERED() {},
  },
});
export const hearsAll: Same<(typeof wide)["hears"][number], "MODEL_PROMOTED" | "HOST_ONLINE" | "NODE_RECOVERED"> = true;

// @ts-expect-error no such event in the table
onEach(["MODEL_PROMOTED", "HOST_GONE"], () => {});

defineCoordinator({
  ...some,
  emits: [],
  // @ts-expect-error the table wants to say more than the unit declares
  on: onEach(["MODEL_PROMOTED"], (_event, { emit }: UnitContext<"HOST_OFFLINE">) => {
    emit.HOST_OFFLINE({ node_id: "gpu-7", reason: "silent" });
  }),
});

const promoter = definePart({ name: "promoter", emits: ["MODEL_PROMOTED"] });
// @ts-expect-error unknown event
definePart({ name: "gossip", emits: ["RUMOUR_SPREAD"] });

/** A dead subscription does not compile, unless somebody emits it, it comes from outside, or a reason is written down. */
export const fed = createRegistry({ catalog, units: [full], parts: [promoter], ingress: [] });
export const fromOutside = createRegistry({ catalog, units: [full], parts: [], ingress: ["MODEL_PROMOTED"] });
export const excused = createRegistry({
  catalog,
  units: [full],
  parts: [],
  ingress: [],
  excused: { deadSubscriptions: { MODEL_PROMOTED: "models are promoted by hand until the ladder stands" } },
});
const waiting = defineCoordinator({
  ...some,
  emits: ["HOST_OFFLINE"],
  awaits: { MODEL_PROMOTED: "auto_promotion" },
  on: { MODEL_PROMOTED() {} },
});
export const awaited = createRegistry({ catalog, units: [waiting, full], parts: [], ingress: [] });
// @ts-expect-error it awaits what it does not hear
defineCoordinator({ ...some, emits: [], awaits: { HOST_ONLINE: "membership" }, on: { MODEL_PROMOTED() {} } });
defineCoordinator({
  ...some,
  emits: ["HOST_OFFLINE"],
  // @ts-expect-error it may leave unheard only what it emits
  unheard: { HOST_ONLINE: "a test" },
  on: { MODEL_PROMOTED() {} },
});
// @ts-expect-error no such daemon type
defineCoordinator({ ...some, emits: [], daemonTypes: ["AUTO_SINK"], on: { MODEL_PROMOTED() {} } });
// @ts-expect-error no such profile
defineCoordinator({ ...some, emits: [], profiles: ["everything"], on: { MODEL_PROMOTED() {} } });
export const fedByAnother = createRegistry({
  catalog,
  units: [defineCoordinator({ ...some, emits: [], on: { HOST_OFFLINE() {} } }), full],
  parts: [promoter],
  ingress: [],
});
// @ts-expect-error dead subscription: nobody emits MODEL_PROMOTED
createRegistry({ catalog, units: [full], parts: [], ingress: [] });
// @ts-expect-error dead subscription: what comes from outside is another event
createRegistry({ catalog, units: [full], parts: [], ingress: ["HOST_OFFLINE"] });
// @ts-expect-error an event that does not exist cannot come from outside
createRegistry({ catalog, units: [silent], parts: [], ingress: ["HOST_GONE"] });
createRegistry({
  catalog,
  units: [full],
  parts: [promoter],
  ingress: [],
  // @ts-expect-error nobody is called so
  delegations: [{ event: "MODEL_PROMOTED", to: "nobody", why: "a test" }],
});

/** Events of one's own are wired like ours, over a catalog that holds them. */
const rows = {
  ...builtinRows,
  ...defineEvents("mine", {
    ROBOT_MOVED: { about: "A robot moved.", class: "volatile", orderKey: "robot", payload: { robot: z.string() } },
  }),
};
const mine = unitsFor<typeof rows>();
const follower = mine.defineCoordinator({
  ...some,
  emits: ["HOST_OFFLINE"],
  on: {
    ROBOT_MOVED: ({ payload }, { emit }) => void emit.HOST_OFFLINE({ node_id: "n", reason: payload.robot }),
  },
});
const robot = mine.definePart({ name: "robot", emits: ["ROBOT_MOVED"] });
export const own = createRegistry({ catalog: createCatalog(rows), units: [follower], parts: [robot], ingress: [] });
// @ts-expect-error this catalog does not hold ROBOT_MOVED
createRegistry({ catalog, units: [follower], parts: [robot], ingress: [] });
// @ts-expect-error the built-in words do not know it
defineCoordinator({ ...some, emits: [], on: { ROBOT_MOVED() {} } });

import type { BuiltinRows, EventName, PayloadFor, RouterEvent, RouterEventOf, Rows } from "../../events/index.ts";
import type { Log } from "../../kernel/index.ts";
import type { AnyEvent, Cause, StateTable, WriteSet } from "../../router/index.ts";
import type { UnitHealth } from "../health.ts";
import type { DaemonType, Feature, Pattern } from "../legacy.ts";
import type { PROFILES } from "../settings.ts";

/** Where a unit runs: one in the cluster, one on each node, or one in each process that has a runtime. */
export const PLACEMENTS = ["leader", "each-node", "each-process"] as const;
export type Placement = (typeof PLACEMENTS)[number];

/**
 * All that ties a unit to the rest of the system, with which its file begins:
 * `const wiring = { ... } as const satisfies Wiring`. What it hears is added by its handlers.
 */
export interface Wiring<N extends string = string, E extends string = EventName, A extends string = EventName> {
  readonly name: N;
  /** Order of the start, lowest first. */
  readonly layer: number;
  readonly placement: Placement;
  /** The processes that run it; one that names none is started by hand, or is somebody's own. */
  readonly profiles?: readonly (typeof PROFILES)[number][];
  /** The switch that leaves it out. */
  readonly feature?: Feature;
  /** The daemon types of the Python system whose work it does. */
  readonly daemonTypes?: readonly DaemonType[];
  readonly alsoKnownAs?: readonly string[];
  readonly pattern?: Pattern;
  /** For the pattern DELEGATE: the unit that answers in its place. */
  readonly delegatesTo?: string;
  readonly dependsOn?: readonly string[];
  readonly emits: readonly E[];
  /** What it emits although no unit hears it yet, and who is to. It goes when that one comes: the audit insists. */
  readonly unheard?: { readonly [N in NoInfer<E>]?: Unheard };
  /** What it hears although nobody emits it yet, and the emitter that is to come. It goes when that one does. */
  readonly awaits?: { readonly [N in A]?: string };
}

/** Why nobody hears an event: somebody who is to come will, or it is for those outside alone. */
export type Unheard = { readonly by: string } | { readonly outside: string };

/** What a unit is, as plain data: what the audit, the docs and the dashboard read. */
export interface Declaration<
  N extends string = string,
  H extends string = string,
  E extends string = string,
  A extends string = string,
> extends Required<Omit<Wiring<N, E, A>, "feature" | "pattern" | "delegatesTo" | "unheard">> {
  readonly kind: "coordinator" | "daemon";
  readonly feature: Feature | null;
  readonly pattern: Pattern | null;
  readonly delegatesTo: string | null;
  readonly unheard: Readonly<Record<string, Unheard>>;
  readonly tables: readonly string[];
  /** The keys of its handlers. */
  readonly hears: readonly H[];
  readonly everyMs: number | null;
}

/** Why something that the audit would refuse is right as it is, by event, in a sentence. */
export type Reasons = Readonly<Record<string, string>>;

/** A unit, its types erased to names: the declaration, and how the runtime calls it. */
export interface Unit<
  N extends string = string,
  H extends string = string,
  E extends string = string,
  A extends string = string,
> extends Declaration<N, H, E, A> {
  readonly behaviour: Behaviour;
}

/** What the runtime calls. The spec's own types are checked where it is written; here they are erased. */
export interface Behaviour {
  handle(event: AnyEvent, context: ErasedContext): void | Promise<void>;
  tick(context: ErasedContext): void | Promise<void>;
  readonly tables: Readonly<Record<string, StateTable>>;
  /** Builds the cache from committed rows. */
  rebuild(rows: ReadRows): unknown;
  health(view: HealthView): UnitHealth | undefined;
  /** Somebody started it under this daemon type. */
  startedAs?(daemonType: string): void;
  readonly timeoutMs: number | undefined;
  readonly start: "earliest" | "now";
  readonly version: string;
}

type Work = void | Promise<void>;
export type Tables = Readonly<Record<string, StateTable>>;
export type ReadRows = Pick<WriteSet, "get" | "list">;

/** One function for each declared event; what it is given is checked strictly, and published if the work succeeds. */
export type Emit<E extends EventName<R>, R extends Rows = BuiltinRows> = {
  /** Its parent is the event that is being handled, unless another cause is named; with null it begins a trace. */
  readonly [N in E]: (payload: PayloadFor<N, R>, cause?: Cause | null) => AnyEvent;
};

/** What handlers and ticks work with. Rows, emissions and the ack are committed together, or not at all. */
export interface UnitContext<E extends EventName<R>, T = Tables, C = undefined, R extends Rows = BuiltinRows> {
  readonly emit: Emit<E, R>;
  readonly rows: WriteSet;
  readonly tables: T;
  /** In memory, built from rows at the start. Change it in `afterCommit` only, so that it never runs ahead of them. */
  readonly cache: C;
  /** Milliseconds since the epoch, when the work began. */
  readonly now: number;
  readonly log: Log;
  /** Aborts at the time limit and when the unit stops. */
  readonly signal: AbortSignal;
  /** 1 on the first try. */
  readonly attempt: number;
  /** Runs once the work is on disk, and never if it failed. */
  afterCommit(run: () => void): void;
}

/** The context of the unit that this wiring begins, for functions beside its handlers. */
export type ContextOf<W extends Pick<Wiring, "emits">, C = undefined> = UnitContext<W["emits"][number], unknown, C>;

export interface ErasedContext extends Omit<UnitContext<never, Tables, unknown>, "emit"> {
  readonly emit: Readonly<
    Record<string, (payload: Readonly<Record<string, unknown>>, cause?: Cause | null) => AnyEvent>
  >;
}

/** What a unit's own judgement of its health may look at. */
export interface HealthView<C = unknown> {
  readonly now: number;
  readonly cache: C;
  readonly rows: ReadRows;
  /** When its loop last ended well; null before that. */
  readonly lastTickAt: number | null;
}

/** Rows that are the truth, and a cache of them. */
export interface State<T extends Tables, C> {
  readonly tables?: T;
  readonly cache?: (rows: ReadRows) => C;
}

export interface Loop<E extends EventName<R>, T, C, R extends Rows> {
  /** Pause between the end of one tick and the begin of the next. */
  readonly everyMs: number;
  tick(context: UnitContext<E, T, C, R>): Work;
}

export type Handlers<H extends EventName<R>, E extends EventName<R>, T, C, R extends Rows> = {
  readonly [N in H]: (event: RouterEvent<N, R>, context: UnitContext<E, T, C, R>) => Work;
};

/** The one shape, in its one order: wiring, state, handlers, loop, health. */
export interface UnitSpec<
  N extends string,
  H extends EventName<R>,
  E extends EventName<R>,
  A extends H,
  T extends Tables,
  C,
  R extends Rows,
> extends Wiring<N, E, A> {
  readonly state?: State<T, C>;
  readonly on?: Handlers<H, NoInfer<E>, T, C, R>;
  readonly loop?: Loop<NoInfer<E>, T, C, R>;
  /** Its own judgement; the standard rule on failures holds besides, and the worse of the two counts. */
  readonly health?: (view: HealthView<C>) => UnitHealth;
  /** Somebody started it under one of its daemon types: for units whose types are policies. */
  readonly startedAs?: (daemonType: string) => void;
  /** Time limit of a handler or tick; the router's unless set. */
  readonly timeoutMs?: number;
  /** Where its subscriptions start when they are first seen; now unless set. */
  readonly start?: "earliest" | "now";
  /** Shown with its dead letters, so that one knows which code failed. */
  readonly version?: string;
}

/** Parts that emit without being units: the router, stores, workers. They declare it too. */
export interface Part<N extends string = string, E extends string = string> {
  readonly kind: "part";
  readonly name: N;
  readonly placement: Placement;
  readonly emits: readonly E[];
  readonly unheard: Readonly<Record<string, Unheard>>;
}

/** How units over the rows `R` are written. `unitsFor<typeof rows>()` gives it for a catalog with events of your own. */
export interface UnitLanguage<R extends Rows> {
  /** Driven by events. */
  defineCoordinator<
    const N extends string,
    H extends EventName<R> = never,
    const E extends EventName<R> = never,
    const A extends H = never,
    T extends Tables = Record<never, never>,
    C = undefined,
  >(spec: UnitSpec<N, H, E, A, T, C, R> & { readonly loop?: never }): Unit<N, H, E, A>;
  /** Has a loop, and may hear events besides. */
  defineDaemon<
    const N extends string,
    H extends EventName<R> = never,
    const E extends EventName<R> = never,
    const A extends H = never,
    T extends Tables = Record<never, never>,
    C = undefined,
  >(spec: UnitSpec<N, H, E, A, T, C, R> & { readonly loop: Loop<NoInfer<E>, T, C, R> }): Unit<N, H, E, A>;
  definePart<const N extends string, const E extends EventName<R> = never>(spec: {
    readonly name: N;
    readonly placement?: Placement;
    readonly emits: readonly E[];
    readonly unheard?: { readonly [N in NoInfer<E>]?: Unheard };
  }): Part<N, E>;
  /**
   * One function for many events, as `on` or spread into it. Its event is the union: the name decides the payload. Where it
   * uses its context, it says which one: `context: UnitContext<"HEALTH_ALERT">`; the unit must declare at least that.
   */
  onEach<const W extends EventName<R>, X = unknown>(
    events: readonly W[],
    handle: (event: RouterEventOf<W, R>, context: X) => Work,
  ): { readonly [N in W]: (event: RouterEvent<N, R>, context: X) => Work };
}

type AnySpec = UnitSpec<string, string, string, string, Tables, unknown, Rows>;

function build(kind: Declaration["kind"], spec: AnySpec): Unit {
  const on = (spec.on ?? {}) as Readonly<Record<string, (event: AnyEvent, context: ErasedContext) => Work>>;
  const tables = spec.state?.tables ?? {};
  return {
    kind,
    name: spec.name,
    layer: spec.layer,
    placement: spec.placement,
    profiles: spec.profiles ?? [],
    feature: spec.feature ?? null,
    daemonTypes: spec.daemonTypes ?? [],
    alsoKnownAs: [...(spec.daemonTypes ?? []), ...(spec.alsoKnownAs ?? [])],
    pattern: spec.pattern ?? null,
    delegatesTo: spec.delegatesTo ?? null,
    dependsOn: spec.dependsOn ?? [],
    emits: [...new Set(spec.emits)],
    unheard: (spec.unheard ?? {}) as Unit["unheard"],
    awaits: spec.awaits ?? {},
    tables: Object.values(tables).map(({ table }) => table),
    hears: Object.keys(on),
    everyMs: spec.loop?.everyMs ?? null,
    behaviour: {
      handle: (event, context) => on[event.eventType]?.(event, context),
      tick: (context) => spec.loop?.tick(context as never),
      tables,
      rebuild: (rows) => spec.state?.cache?.(rows),
      health: (view) => spec.health?.(view),
      startedAs: (daemonType) => spec.startedAs?.(daemonType),
      timeoutMs: spec.timeoutMs,
      start: spec.start ?? "now",
      version: spec.version ?? "1",
    },
  };
}

const language: UnitLanguage<Rows> = {
  defineCoordinator: (spec) => build("coordinator", spec as unknown as AnySpec) as never,
  defineDaemon: (spec) => build("daemon", spec as unknown as AnySpec) as never,
  definePart: ({ name, placement = "each-process", emits, unheard = {} }) => ({
    kind: "part",
    name,
    placement,
    emits,
    unheard: unheard as Part["unheard"],
  }),
  onEach: (events, handle) => Object.fromEntries(events.map((name) => [name, handle])) as never,
};

/** The same words over the rows of a catalog that holds events of your own. */
export const unitsFor = <R extends Rows>(): UnitLanguage<R> => language as unknown as UnitLanguage<R>;

type Builtin = UnitLanguage<BuiltinRows>;
const builtin: Builtin = unitsFor<BuiltinRows>();
// Each is named by its type: whoever installs the package would otherwise get the whole catalog written out four times.
export const defineCoordinator: Builtin["defineCoordinator"] = builtin.defineCoordinator;
export const defineDaemon: Builtin["defineDaemon"] = builtin.defineDaemon;
export const definePart: Builtin["definePart"] = builtin.definePart;
export const onEach: Builtin["onEach"] = builtin.onEach;

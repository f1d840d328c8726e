import type { Catalog, EventName, Rows } from "../events/index.ts";
import type { Part, Unit } from "./unit.ts";

/** Why something that the audit would refuse is right as it is, by event, in a sentence. */
export type Reasons = Readonly<Record<string, string>>;

export interface Excuses {
  /** Heard, but emitted by nobody. */
  readonly deadSubscriptions?: Reasons;
  /** Emitted, but heard by nobody. */
  readonly orphans?: Reasons;
  /** Of a class that does not reach one of its consumers. */
  readonly unbridged?: Reasons;
}

/** Who answers for an event that others hand on: wiring as data, which the audit checks. */
export interface Delegation {
  readonly event: string;
  /** The unit that handles it. */
  readonly to: string;
  readonly why: string;
}

/** The wiring of one system: every unit and part, and what may come from outside. It does nothing; others read it. */
export interface Registry<R extends Rows = Rows> {
  readonly catalog: Catalog<R>;
  readonly units: readonly Unit[];
  readonly parts: readonly Part[];
  /** What other processes, nodes and people may publish. */
  readonly ingress: readonly string[];
  readonly excused: Excuses;
  readonly delegations: readonly Delegation[];
}

type Hears<U extends readonly Unit[]> = U[number]["hears"][number];
type Emits<U extends readonly (Unit | Part)[]> = U[number]["emits"][number];

/** Heard by some unit, yet emitted by none, not arriving from outside and not excused. */
type Dead<U extends readonly Unit[], P extends readonly Part[], X, D> = Exclude<Hears<U>, Emits<U> | Emits<P> | X | D>;

type Foreign<U extends readonly Unit[], P extends readonly Part[], R extends Rows> = Exclude<
  Hears<U> | Emits<U> | Emits<P>,
  EventName<R>
>;

/** Illegal wiring asks for a field that nobody can give, named after the fault and the events that have it. */
type Wired<U extends readonly Unit[], P extends readonly Part[], X, D, R extends Rows> = ([Dead<U, P, X, D>] extends [
  never,
]
  ? unknown
  : { readonly deadSubscriptions: { readonly [N in Dead<U, P, X, D>]: "nobody emits it" } }) &
  ([Foreign<U, P, R>] extends [never]
    ? unknown
    : { readonly unknownEvents: { readonly [N in Foreign<U, P, R>]: "not in this catalog" } });

export interface RegistryOptions<
  R extends Rows,
  U extends readonly Unit[],
  P extends readonly Part[],
  X extends EventName<R>,
  D extends EventName<R>,
> {
  readonly catalog: Catalog<R>;
  readonly units: U;
  readonly parts: P;
  readonly ingress: readonly X[];
  readonly excused?: {
    readonly deadSubscriptions?: { readonly [N in D]: string };
    readonly orphans?: { readonly [N in EventName<R>]?: string };
    readonly unbridged?: { readonly [N in EventName<R>]?: string };
  };
  readonly delegations?: readonly {
    readonly event: EventName<R>;
    readonly to: U[number]["name"];
    readonly why: string;
  }[];
}

/**
 * Puts units and parts together. A subscription that nobody feeds does not compile, unless it is excused with a reason;
 * an event that the catalog does not hold does not compile either.
 */
export function createRegistry<
  R extends Rows,
  const U extends readonly Unit[],
  const P extends readonly Part[],
  const X extends EventName<R> = never,
  const D extends EventName<R> = never,
>(options: RegistryOptions<R, U, P, X, D> & Wired<U, P, X, D, R>): Registry<R> {
  const { catalog, units, parts, ingress, excused = {}, delegations = [] } = options;
  return {
    catalog,
    units,
    parts,
    ingress: [...new Set(ingress)],
    excused: excused as Excuses,
    delegations,
  };
}

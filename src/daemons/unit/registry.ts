import type { Catalog, EventName, Rows } from "../../events/index.ts";
import { coordinatorNames, type Feature, type Pattern } from "../legacy.ts";
import type { Declaration, Part, Reasons, Unit } from "./shape.ts";

/** Reasons that no unit can carry itself: for what a user's rules watch, and for what another process does. */
export interface Excuses {
  /** Heard, but emitted by nobody. */
  readonly deadSubscriptions?: Reasons;
  /** Emitted, but heard by nobody. */
  readonly orphans?: Reasons;
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
type Awaits<U extends readonly Unit[]> = U[number] extends infer W
  ? W extends Unit
    ? keyof W["awaits"]
    : never
  : never;

/** Heard by some unit, yet emitted by none, not arriving from outside, not awaited and not excused. */
type Dead<U extends readonly Unit[], P extends readonly Part[], X, D> = Exclude<
  Hears<U>,
  Emits<U> | Emits<P> | Awaits<U> | X | D
>;

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
  };
  readonly delegations?: readonly {
    readonly event: EventName<R>;
    readonly to: U[number]["name"];
    readonly why: string;
  }[];
}

/**
 * Puts units and parts together. A subscription that nobody feeds does not compile, unless the unit that hears it says whom it awaits;
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

/** A name without work of its own: another unit answers for it, or none needs to. */
export const isPlaceholder = ({ pattern }: Pick<Declaration, "pattern">): boolean =>
  pattern === "SKIP" || pattern === "DELEGATE";

/** One row of the Python system's registry of coordinators, as the unit that does its work says it. */
export interface CoordinatorEntry {
  readonly name: string;
  readonly layer: number;
  readonly pattern: Pattern;
  /** The switch that leaves it out. */
  readonly feature: Feature | null;
  /** For DELEGATE: who answers in its place. */
  readonly delegatesTo: string | null;
}

/** The coordinators among the units, layer by layer: those that name the pattern by which they were wired. */
export const coordinatorsAmong = (units: readonly Unit[]): CoordinatorEntry[] =>
  units
    .flatMap(({ name, layer, pattern, feature, delegatesTo }) =>
      pattern === null ? [] : [{ name, layer, pattern, feature, delegatesTo }],
    )
    .sort((a, b) => a.layer - b.layer);

/** Coordinators without a unit. */
export const openCoordinators = (units: readonly Pick<Declaration, "name">[]): string[] => {
  const present = new Set(units.map(({ name }) => name));
  return Object.values(coordinatorNames)
    .flat()
    .filter((name) => !present.has(name));
};

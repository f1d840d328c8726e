import {
  type CoordinatorEntry,
  coordinatorLayers,
  coordinatorsAmong,
  FEATURES,
  type Feature,
  isPlaceholder,
  openCoordinators,
  type Unit,
  type UnitOutcome,
} from "../daemons/index.ts";
import { didYouMean, OperatingError } from "../kernel/index.ts";

/** Switches by feature; what is not named is on. */
export type FeatureSwitches = Partial<Readonly<Record<Feature, boolean>>>;

export interface CoordinatorState {
  readonly layer: number;
  readonly pattern: string;
  readonly initialized: boolean;
  readonly subscribed: boolean;
  readonly error: string | null;
  /** The unit that answers for it; null where none needs to. */
  readonly answered_by: string | null;
  /** Why it was left out; null if it was not. */
  readonly left_out: string | null;
}

/** How the bring-up of a coordination went, as `get_bootstrap_status` of the Python system tells it. Times are Unix seconds. */
export interface BootstrapStatus {
  readonly initialized: boolean;
  readonly profile: string;
  readonly started_at: number;
  readonly completed_at: number | null;
  readonly layers: readonly {
    readonly layer: number;
    readonly about: string;
    readonly coordinators: readonly string[];
  }[];
  readonly coordinators: Readonly<Record<string, CoordinatorState>>;
  /** The other units, which the Python system ran outside its registry. */
  readonly units: Readonly<
    Record<string, { readonly layer: number; readonly subscribed: boolean; readonly error: string | null }>
  >;
  readonly errors: readonly string[];
  /** Names of the plan behind which there is no unit yet. */
  readonly open: readonly string[];
}

export interface StatusFacts {
  readonly profile: string;
  readonly startedAt: number;
  readonly completedAt: number | null;
  readonly units: readonly Unit[];
  readonly outcomes: readonly UnitOutcome[];
  readonly leftOut: ReadonlyMap<string, string>;
}

function stateOf(entry: CoordinatorEntry, { outcomes, leftOut }: StatusFacts): CoordinatorState {
  const { name, layer, pattern, delegatesTo } = entry;
  const answeredBy = pattern === "SKIP" ? null : (delegatesTo ?? name);
  const outcome = outcomes.find((one) => one.name === answeredBy);
  const left_out = leftOut.get(name) ?? (answeredBy === null ? null : (leftOut.get(answeredBy) ?? null));
  const stands = left_out === null && (answeredBy === null || outcome?.subscribed === true);
  return {
    layer,
    pattern,
    initialized: stands,
    subscribed: stands,
    error: outcome?.error ?? null,
    answered_by: answeredBy,
    left_out,
  };
}

export function bootstrapStatus(facts: StatusFacts): BootstrapStatus {
  const { profile, startedAt, completedAt, units, outcomes } = facts;
  const states = coordinatorsAmong(units).map((entry) => [entry.name, stateOf(entry, facts)] as const);
  const coordinators = new Set(states.map(([name]) => name));
  return {
    initialized: completedAt !== null,
    profile,
    started_at: startedAt / 1_000,
    completed_at: completedAt === null ? null : completedAt / 1_000,
    layers: Object.entries(coordinatorLayers).map(([layer, about]) => ({
      layer: Number(layer),
      about,
      coordinators: states.filter(([, state]) => state.layer === Number(layer)).map(([name]) => name),
    })),
    coordinators: Object.fromEntries(states),
    units: Object.fromEntries(
      outcomes
        .filter(({ name }) => !coordinators.has(name))
        .map(({ name, layer, subscribed, error }) => [name, { layer, subscribed, error }]),
    ),
    errors: outcomes.flatMap(({ name, error }) => (error === null ? [] : [`${name}: ${error}`])),
    open: openCoordinators(units),
  };
}

/** A switch of a feature that does not exist, or is to be on before any unit has it, would be a wish that nobody hears. */
export function checkSwitches(enable: FeatureSwitches, units: readonly Unit[]): void {
  const built = new Set(units.flatMap((unit) => (unit.feature === null || isPlaceholder(unit) ? [] : [unit.feature])));
  const hint = `There are: ${[...built].sort().join(", ")}.`;
  for (const [name, isOn] of Object.entries(enable)) {
    const feature = FEATURES.find((known) => known === name);
    if (feature === undefined)
      throw OperatingError.invalid("UNKNOWN_FEATURE", `there is no feature '${name}'.${didYouMean(name, FEATURES)}`, {
        hint,
      });
    if (isOn && !built.has(feature))
      throw OperatingError.invalid("FEATURE_NOT_BUILT", `no unit of the feature '${feature}' exists yet`, { hint });
  }
}

/** The units that a bootstrap brings up, and why the others stay out. */
export function chooseUnits(
  units: readonly Unit[],
  profile: { readonly name: string; readonly members: readonly string[] },
  enable: FeatureSwitches,
): { readonly chosen: string[]; readonly leftOut: Map<string, string> } {
  const leftOut = new Map<string, string>();
  for (const { name, feature } of units)
    if (feature !== null && enable[feature] === false) leftOut.set(name, `the feature '${feature}' is switched off`);
  const chosen: string[] = [];
  for (const unit of units) {
    if (leftOut.has(unit.name)) continue;
    if (isPlaceholder(unit)) continue;
    if (profile.members.includes(unit.name)) chosen.push(unit.name);
    else leftOut.set(unit.name, `the profile '${profile.name}' does not hold it`);
  }
  return { chosen, leftOut };
}

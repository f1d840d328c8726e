/** Parameters as a search sees them: each on a scale from 0 to 1, in the order of their names. */
import { OperatingError } from "../../../kernel/index.ts";
import type { ConfigPlan, TunedValues } from "../../stage/index.ts";

export type Space = ConfigPlan["tuning"]["parameters"];
type Tunable = Space[string];

const namesOf = (space: Space): string[] => Object.keys(space).sort();

const toUnit = ({ low, high, scale }: Tunable, value: number): number =>
  scale === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);

const fromUnit = ({ low, high, scale }: Tunable, unit: number): number => {
  const value = scale === "log" ? low * Math.exp(unit * Math.log(high / low)) : low + unit * (high - low);
  // Six digits are more than any match can tell apart, and read better in a plan.
  return Math.min(high, Math.max(low, Number(value.toPrecision(6))));
};

/** The values that count now: those given, or where a parameter has none, what it is by itself. */
export function valuesOf(space: Space, given: Readonly<Record<string, unknown>>): TunedValues {
  return Object.fromEntries(
    namesOf(space).map((name) => {
      const value = given[name] ?? space[name]!.start;
      return [name, typeof value === "number" ? value : Number.NaN];
    }),
  );
}

/** Refuses values that are missing, no numbers, or out of their bounds. */
export function checkValues(space: Space, values: TunedValues): void {
  const names = namesOf(space);
  if (names.length === 0)
    throw OperatingError.conflict("NOTHING_TO_TUNE", "the plan names no parameter that may be tuned", {
      hint: "Name some in `tuning.parameters` of the plan.",
    });
  for (const name of names) {
    const { low, high } = space[name]!;
    const value = values[name];
    if (value === undefined || !(value >= low && value <= high))
      throw OperatingError.invalid("KNOB_OUT_OF_BOUNDS", `'${name}' may be from ${low} to ${high}, not ${value}`, {
        hint: "Widen the bounds in `tuning.parameters` of the plan, or change the value.",
      });
  }
}

export const unitsOf = (space: Space, values: TunedValues): number[] =>
  namesOf(space).map((name) => Math.min(1, Math.max(0, toUnit(space[name]!, values[name]!))));

export const valuesAt = (space: Space, units: readonly number[]): TunedValues =>
  Object.fromEntries(namesOf(space).map((name, i) => [name, fromUnit(space[name]!, units[i]!)]));

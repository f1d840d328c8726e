import type { Goal, Measured } from "./measure.ts";

/** What one part of a bench found: the costs, the goals, and anything else worth keeping. */
export interface Section {
  readonly title: string;
  readonly measured: readonly Measured[];
  readonly goals: readonly Goal[];
  readonly notes: Readonly<Record<string, number | string>>;
}

const digits = (value: number | null): string => {
  // What was never seen is not a number, and the report's JSON has no word for that.
  if (value === null || Number.isNaN(value)) return "none";
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(value >= 10 ? 1 : 2);
};

const line = (left: string, ...right: string[]): string =>
  `  ${left.padEnd(62)}${right.map((text) => text.padStart(16)).join("")}`;

const sayGoal = ({ what, value, goal, met }: Goal): string =>
  line(
    what,
    digits(value),
    "atMost" in goal ? `at most ${digits(goal.atMost)}` : `at least ${digits(goal.atLeast)}`,
    met ? "met" : "MISSED",
  );

/** The sections as text for people. */
export const printSections = (sections: readonly Section[]): string =>
  sections
    .map(({ title, measured, goals, notes }) =>
      [
        title,
        ...measured.map(({ name, costUs, perSecond }) => line(name, `${digits(costUs)} us`, `${digits(perSecond)}/s`)),
        ...Object.entries(notes).map(([what, value]) => line(what, typeof value === "number" ? digits(value) : value)),
        ...goals.map(sayGoal),
      ].join("\n"),
    )
    .join("\n\n");

/** The goals of speed in the result of a bench or soak: said, counted, and no failure. */

interface Goal {
  readonly what: string;
  readonly value: number;
  readonly met: boolean;
}

export interface Goals {
  readonly total: number;
  readonly missed: readonly string[];
}

interface WithGoals {
  readonly goals?: readonly Goal[];
  readonly sections?: readonly { readonly goals?: readonly Goal[] }[];
}

/** A result names goals as `goals`, or section by section. */
export function goalsIn(result: unknown): Goals {
  const { goals = [], sections = [] } = (typeof result === "object" && result !== null ? result : {}) as WithGoals;
  const all = [...goals, ...sections.flatMap((section) => section.goals ?? [])];
  return { total: all.length, missed: all.filter(({ met }) => !met).map(({ what }) => what) };
}

export const sumOfGoals = (all: readonly Goals[]): Goals => ({
  total: all.reduce((sum, { total }) => sum + total, 0),
  missed: all.flatMap(({ missed }) => missed),
});

/** `missed 2 of 5 goals`; nothing where there is none. */
export const sayGoals = ({ total, missed }: Goals): string =>
  total === 0
    ? ""
    : missed.length === 0
      ? `met ${total === 1 ? "its goal" : `all ${total} goals`}`
      : `missed ${missed.length} of ${total} ${total === 1 ? "goal" : "goals"}`;

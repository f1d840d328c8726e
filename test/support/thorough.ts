/**
 * How much of a test `npm test` does: what finds the bugs that were planted for it. `npm run soak -- thorough` runs the same files
 * with all of it.
 */
export const THOROUGH = "TEST_THOROUGH";

export const isThorough = process.env[THOROUGH] === "yes";

/** Rounds of a property: few in `npm test`, all in the soak. */
export const rounds = (few: number, all: number): number => (isThorough ? all : few);

/** Cases of a table that only the soak tries. */
export const onlyThorough = <T>(cases: readonly T[]): readonly T[] => (isThorough ? cases : []);

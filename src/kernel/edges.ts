import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Random } from "./random.ts";

/** What a part that acts by itself gets from outside: time, chance, and where it writes what it did. */
export interface Edges {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The variables of a process, as Node gives them. */
export type Environment = Readonly<Record<string, string | undefined>>;

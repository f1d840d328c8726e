/** When something is done to the system on purpose, and what. It follows from the seed. */
import { type Random, seededRandom } from "../../../../kernel/index.ts";

export const ACT_KINDS = ["kill", "damage", "poison"] as const;
export type ActKind = (typeof ACT_KINDS)[number];

/** How long the system has to catch an act, from the act on. */
export const CAUGHT_WITHIN_MS: Readonly<Record<ActKind, number>> = { kill: 90_000, damage: 120_000, poison: 150_000 };
/** Nothing is begun when less than this is left of the run: nobody would see it caught. */
export const LAST_MS = 45_000;

/** What could not be done when it was due does not come all at once. */
export const LEAST_PAUSE_MS = 10_000;

const FIRST_MS = 15_000;
const EVERY_MS = 15_000;
/** Share of the pause by which it may be longer or shorter. */
const JITTER = 0.2;
/** Acts that take turns before chance decides. */
const IN_TURN = 2 * ACT_KINDS.length;

export interface Due {
  /** Milliseconds since the begin of the run. */
  readonly atMs: number;
  readonly kind: ActKind;
}

const SALT = 0xc4a05;

/** The randomness of a run's chaos: other than that of its games. */
export const chaosRandom = (seed: number): Random => seededRandom((seed ^ SALT) >>> 0);

/** Acts without end: each kind in its turn at first, then any. */
export function* chaosSchedule(random: Random): Generator<Due, never> {
  let atMs = FIRST_MS;
  for (let number = 0; ; number += 1) {
    const kind =
      ACT_KINDS[number < IN_TURN ? number % ACT_KINDS.length : Math.floor(random.next() * ACT_KINDS.length)]!;
    yield { atMs: Math.round(atMs), kind };
    atMs += EVERY_MS * (1 + JITTER * (2 * random.next() - 1));
  }
}

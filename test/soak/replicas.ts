/**
 * Many worlds of three replicas over a simulated log. Worlds that were run are kept in a book, so that a run goes on where the last one
 * stopped: 'npm run soak -- replicas --set worlds=2000', as often as wanted.
 */
import { PLANTS, runReplicas } from "../simulation/replicas-world.ts";
import { type BookOptions, soakBook } from "../support/soak-book.ts";

export const about =
  "three replicas over a log that delays, loses and repeats: what was acknowledged is on all of them, once";

const NOTHING = { worlds: 0, terms: 0, acked: 0, crashes: 0 };
const PLANT_WORLDS = 200;
/** How often the book is written. */
const CHAPTER = 50;

export interface ReplicasOptions extends BookOptions {
  /** How many worlds this run adds. */
  readonly worlds?: number;
}
export const tiny: ReplicasOptions = { worlds: 3, unbooked: true };

export async function run({ worlds = 10_000, anew = false, unbooked = false }: ReplicasOptions = {}) {
  const { before, keep } = soakBook("replicas", NOTHING, { anew, unbooked });
  let book = before;
  for (let seed = before.worlds + 1; seed <= before.worlds + worlds; seed += 1) {
    const { violations, terms, acked, crashes } = await runReplicas(seed);
    if (violations.length > 0)
      throw new Error(`world ${seed} (REPLICA_SEEDS=${seed}-${seed}): ${violations.join("; ")}`);
    book = {
      worlds: seed,
      terms: book.terms + terms,
      acked: book.acked + acked,
      crashes: book.crashes + crashes,
    };
    if (seed % CHAPTER === 0) keep(book);
  }
  keep(book);
  const found: Record<string, number | null> = {};
  for (const plant of unbooked ? PLANTS.slice(1, 2) : PLANTS.slice(1)) {
    let seed = 1;
    while (seed <= PLANT_WORLDS && (await runReplicas(seed, plant)).violations.length === 0) seed += 1;
    found[plant] = seed <= PLANT_WORLDS ? seed : null;
  }
  return { ok: !Object.values(found).includes(null), added: worlds, total: book, found };
}

/**
 * The whole loop in many worlds that do not mean it well, those of `npm test` among them. Worlds that were run are kept in a book, so
 * that a run goes on where the last one stopped: 'npm run soak -- liveness --set minutes=7', as often as wanted. Parts of them may run
 * side by side, each with a book of its own: '--set from=151 --set worlds=150'. One that fails is replayed by
 * `LIVENESS_SEEDS=n-n npx vitest run --project simulation liveness`.
 */
import { simulateLiveness } from "../simulation/liveness/world.ts";
import { type BookOptions, soakBook } from "../support/soak-book.ts";

export const about = "from whatever bad times leave behind, the loop comes to a verdict or says what a person must do";

export interface LivenessOptions extends BookOptions {
  /** So many worlds shall be in the book. */
  readonly worlds?: number;
  /** The first one. */
  readonly from?: number;
  /** None is begun later. */
  readonly minutes?: number;
}
export const tiny: LivenessOptions = { worlds: 1, unbooked: true };

const NOTHING = { worlds: 0, verdicts: 0, looks: 0, crashes: 0, virtual_minutes: 0 };

export async function run(options: LivenessOptions = {}) {
  const { worlds = 300, from = 1, minutes = Number.POSITIVE_INFINITY } = options;
  const book = soakBook(from === 1 ? "liveness" : `liveness-from-${from}`, NOTHING, options);
  const begunMs = performance.now();
  let sums = book.before;
  while (sums.worlds < worlds && performance.now() - begunMs < minutes * 60_000) {
    const seed = from + sums.worlds;
    const { violations, outcomes, looks, crashes, virtualMinutes } = await simulateLiveness(seed);
    if (violations.length > 0)
      throw new Error(`world ${seed} (LIVENESS_SEEDS=${seed}-${seed}): ${violations.join("; ")}`);
    sums = {
      worlds: sums.worlds + 1,
      verdicts: sums.verdicts + Object.values(outcomes).reduce((sum, verdicts) => sum + verdicts, 0),
      looks: sums.looks + looks.length,
      crashes: sums.crashes + crashes,
      virtual_minutes: Math.round(sums.virtual_minutes + virtualMinutes),
    };
    book.keep(sums);
  }
  const added = sums.worlds - book.before.worlds;
  return { ok: true, added, left: worlds - sums.worlds, seconds: (performance.now() - begunMs) / 1_000, total: sums };
}

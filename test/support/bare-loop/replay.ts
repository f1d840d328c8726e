import type { Random } from "../../../src/kernel/index.ts";
import type { Game } from "../../../src/workloads/arena/games/game.ts";
import { type ReplayConfig, windowRows } from "../../../src/workloads/arena/net/replay.ts";
import { copySamples, emptySamples, type Samples } from "../../../src/workloads/arena/net/samples.ts";

/** The newest rows of a run, in one growing store. */
export interface Replay {
  readonly total: number;
  readonly size: number;
  /** The store behind the window; rows drawn are rows of it. */
  readonly samples: Samples;
  add(samples: Samples): void;
  draw(random: Random): number;
}

export function createReplay(game: Game, config: ReplayConfig): Replay {
  let store = emptySamples(game, 4096);
  let total = 0;
  let size = 0;
  let end = 0;
  return {
    get total() {
      return total;
    },
    get size() {
      return size;
    },
    get samples() {
      return store;
    },
    add(samples) {
      const wanted = windowRows(total + samples.count, config);
      const kept = Math.max(0, Math.min(size, wanted - samples.count));
      if (end + samples.count > store.count) {
        const larger = emptySamples(game, 2 * (kept + samples.count));
        copySamples(store, end - kept, kept, larger, 0);
        store = larger;
        end = kept;
      }
      copySamples(samples, 0, samples.count, store, end);
      end += samples.count;
      total += samples.count;
      size = Math.min(wanted, kept + samples.count);
    },
    draw: (random) => end - size + Math.floor(random.next() * size),
  };
}

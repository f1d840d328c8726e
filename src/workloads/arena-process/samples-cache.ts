import type { Samples } from "../arena/index.ts";

/** Decoded rows by the SHA-256 of their file, within a bound of memory; the longest unused go first. */
export interface SamplesCache {
  readonly bytes: number;
  get(sha256: string): Samples | undefined;
  /** Keeps them if they are small enough to leave room for others. */
  keep(sha256: string, samples: Samples): void;
}

export const bytesOf = ({ codes, legal, policy, search, outcome, ply, game }: Samples): number =>
  [codes, legal, policy, search, outcome, ply, game].reduce((sum, { byteLength }) => sum + byteLength, 0);

export function createSamplesCache(mostBytes: number): SamplesCache {
  // A Map keeps the order of insertion: what was just used is put at its end.
  const kept = new Map<string, Samples>();
  let bytes = 0;
  const forget = (sha256: string, samples: Samples): void => {
    kept.delete(sha256);
    bytes -= bytesOf(samples);
  };
  return {
    get bytes() {
      return bytes;
    },
    get(sha256) {
      const samples = kept.get(sha256);
      if (samples === undefined) return undefined;
      kept.delete(sha256);
      kept.set(sha256, samples);
      return samples;
    },
    keep(sha256, samples) {
      const known = kept.get(sha256);
      if (known !== undefined) forget(sha256, known);
      const size = bytesOf(samples);
      if (size > mostBytes) return;
      kept.set(sha256, samples);
      bytes += size;
      for (const [oldest, rows] of kept) {
        if (bytes <= mostBytes) return;
        forget(oldest, rows);
      }
    },
  };
}

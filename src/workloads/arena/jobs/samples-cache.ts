import { COLUMNS, type Samples } from "../net/samples.ts";

export const bytesOf = (samples: Samples): number => COLUMNS.reduce((sum, [name]) => sum + samples[name].byteLength, 0);

/** Decoded rows by the SHA-256 of their file, within a bound of memory; the longest unused go first. */
export function createSamplesCache(maxBytes: number) {
  // A Map keeps the order of insertion: what was just used is put at its end.
  const kept = new Map<string, Samples>();
  let bytes = 0;
  const forget = (sha256: string, samples: Samples): void => {
    kept.delete(sha256);
    bytes -= bytesOf(samples);
  };
  return {
    get bytes(): number {
      return bytes;
    },
    get(sha256: string): Samples | undefined {
      const samples = kept.get(sha256);
      if (samples === undefined) return undefined;
      kept.delete(sha256);
      kept.set(sha256, samples);
      return samples;
    },
    /** Keeps them if they are small enough to leave room for others. */
    keep(sha256: string, samples: Samples): void {
      const known = kept.get(sha256);
      if (known !== undefined) forget(sha256, known);
      const size = bytesOf(samples);
      if (size > maxBytes) return;
      kept.set(sha256, samples);
      bytes += size;
      for (const [oldest, rows] of kept) {
        if (bytes <= maxBytes) return;
        forget(oldest, rows);
      }
    },
  };
}

/** What was measured last of the disk under the data folder, for whoever frees files there. */
import type { ResourceLevel } from "./levels.ts";

export interface DiskReading {
  readonly level: ResourceLevel;
  /** Share in use. */
  readonly usage: number;
  readonly freeBytes: number;
  /** When it is full at the rate of now; null where nothing can be said. */
  readonly fullInMs: number | null;
}

export function createDiskGauge() {
  let last: DiskReading | undefined;
  return {
    set(reading: DiskReading): void {
      last = reading;
    },
    /** Undefined before the first measurement. */
    measured: (): DiskReading | undefined => last,
  };
}

export type DiskGauge = ReturnType<typeof createDiskGauge>;

import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

/** Makes ids that sort by time (UUID version 7), from an injected clock and randomness. */
export interface Ids {
  /** A UUIDv7. Ids made in one millisecond by one process keep their order. */
  uuid(): string;
  /** 16 bytes in hex: a W3C trace id. */
  traceId(): string;
  /** 8 bytes in hex: a W3C span id. */
  spanId(): string;
}

const hex = (value: number, width: number) => value.toString(16).padStart(width, "0");

export function createIds(clock: Clock, random: Random): Ids {
  let lastMs = -1;
  let counter = 0;
  return {
    uuid() {
      const nowMs = Math.floor(clock.now());
      if (nowMs > lastMs) {
        lastMs = nowMs;
        counter = random.bits() & 0x7ff;
      } else {
        counter += 1;
        if (counter > 0xfff) {
          // More than the counter holds in one millisecond: borrow from the next one, order is kept.
          lastMs += 1;
          counter = 0;
        }
      }
      const time = hex(lastMs, 12);
      const r = random.bits();
      const variant = 0x8000 | (r & 0x3fff);
      return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(counter, 3)}-${hex(variant, 4)}-${hex(r >>> 16, 4)}${hex(random.bits(), 8)}`;
    },
    traceId: () =>
      `${hex(random.bits() || 1, 8)}${hex(random.bits(), 8)}${hex(random.bits(), 8)}${hex(random.bits(), 8)}`,
    spanId: () => `${hex(random.bits() || 1, 8)}${hex(random.bits(), 8)}`,
  };
}

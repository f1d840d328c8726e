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

const DIGITS = Buffer.from("0123456789abcdef");

/** Writes the lowest `width` hex digits of 32 bits. */
const writeHex = (into: Buffer, at: number, width: number, bits: number): void => {
  let left = bits;
  for (let i = at + width - 1; i >= at; i -= 1) {
    into[i] = DIGITS[left & 0xf]!;
    left >>>= 4;
  }
};

/**
 * Ids are written into a buffer and read out as one flat text. Built by joining pieces they would cost three times as
 * much: the pieces themselves, and their joining when the id is first looked up in a map.
 */
export function createIds(clock: Clock, random: Random): Ids {
  const uuid = Buffer.from("00000000-0000-7000-8000-000000000000");
  const trace = Buffer.alloc(32);
  let lastMs = -1;
  let counter = 0;
  const startMs = (ms: number, from: number) => {
    lastMs = ms;
    counter = from;
    uuid.write(ms.toString(16).padStart(12, "0").slice(0, 8), 0, "latin1");
    writeHex(uuid, 9, 4, ms);
  };
  return {
    uuid() {
      const nowMs = Math.floor(clock.now());
      if (nowMs > lastMs) startMs(nowMs, random.bits() & 0x7ff);
      // More than the counter holds in one millisecond: borrow from the next one, order is kept.
      else if (counter === 0xfff) startMs(lastMs + 1, 0);
      else counter += 1;
      const r = random.bits();
      writeHex(uuid, 15, 3, counter);
      writeHex(uuid, 19, 4, 0x8000 | (r & 0x3fff));
      writeHex(uuid, 24, 4, r >>> 16);
      writeHex(uuid, 28, 8, random.bits());
      return uuid.toString("latin1");
    },
    traceId() {
      for (let at = 0; at < 32; at += 8) writeHex(trace, at, 8, random.bits() || 1);
      return trace.toString("latin1");
    },
    spanId() {
      for (let at = 0; at < 16; at += 8) writeHex(trace, at, 8, random.bits() || 1);
      return trace.toString("latin1", 0, 16);
    },
  };
}

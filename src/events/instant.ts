import { z } from "zod";

/** An instant: Unix seconds on the wire, whole milliseconds inside. */
export const instant = z.codec(z.number().describe("Unix seconds"), z.number().describe("Unix seconds"), {
  decode: (seconds) => Math.round(seconds * 1_000),
  encode: (ms) => ms / 1_000,
});

import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { hexOf, sha256 } from "./sha256.ts";

test("is the SHA-256 that everybody has, for every length around the ends of blocks, and of a part of a buffer", () => {
  const all = Uint8Array.from({ length: 5_000 }, (_, i) => (i * 31 + (i >> 3)) & 0xff);
  for (const length of [...Array.from({ length: 200 }, (_, i) => i), 4_095, 4_096, 5_000]) {
    const bytes = all.subarray(0, length);
    expect(hexOf(sha256(bytes)), String(length)).toBe(hash("sha256", bytes, "hex"));
  }
  expect(hexOf(sha256(all.subarray(3, 900)))).toBe(hash("sha256", all.subarray(3, 900), "hex"));
});

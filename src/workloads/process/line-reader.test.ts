import fc from "fast-check";
import { expect, it } from "vitest";
import { createLineReader } from "./line-reader.ts";

const read = (chunks: readonly Buffer[], most: number) => {
  const lines: string[] = [];
  const reader = createLineReader(most, (line) => lines.push(line));
  const taken = chunks.map((chunk) => reader.push(chunk));
  return { lines, taken, pending: reader.pending };
};

it("gives the same lines however the bytes are cut", () => {
  const line = fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => text.replaceAll("\n", " "));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 10 }), fc.array(fc.nat(50), { maxLength: 20 }), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(""));
      const places = [...new Set(cuts.map((cut) => Math.min(cut, bytes.length)))].sort((a, b) => a - b);
      const chunks = [0, ...places].map((from, i) => bytes.subarray(from, places[i] ?? bytes.length));
      expect(read(chunks, 1_000).lines).toEqual(lines.map((each) => each.trim()).filter((each) => each !== ""));
    }),
  );
});

it("holds no more than one line of the allowed length, and refuses for ever after a longer one", () => {
  const long = read([Buffer.from("ok\n1234"), Buffer.from("567"), Buffer.from("8"), Buffer.from("\nlater\n")], 7);
  expect(long).toEqual({ lines: ["ok"], taken: [true, true, false, false], pending: 0 });
  expect(read([Buffer.from("12345678\n")], 7)).toEqual({ lines: [], taken: [false], pending: 0 });
  expect(read([Buffer.from("1234567\n")], 7).lines).toEqual(["1234567"]);
});

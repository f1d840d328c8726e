import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { chunksAlike, createRunningHash } from "./running-hash.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { maxLength: 30 });

test("digests are those of everything before each edge, however the bytes come", () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 70 }), (given, chunkBytes) => {
      const hash = createRunningHash(chunkBytes);
      for (const piece of given) hash.update(piece);
      const all = Buffer.concat(given);
      const edges = Array.from({ length: Math.floor(all.length / chunkBytes) }, (_, i) => (i + 1) * chunkBytes);
      expect(hash.digests()).toEqual([...edges.map((edge) => sha256(all.subarray(0, edge))), sha256(all)]);
      expect(hash.sha256()).toBe(sha256(all));
    }),
  );
});

test("after going back it is as if nothing had come behind the edge", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 20, maxLength: 90 }), fc.uint8Array({ maxLength: 40 }), (first, then) => {
      const hash = createRunningHash(10);
      hash.update(first);
      const chunks = Math.floor(first.length / 20);
      hash.rewind(chunks);
      hash.update(then);
      expect(hash.bytes).toBe(chunks * 10 + then.length);
      expect(hash.sha256()).toBe(sha256(Buffer.concat([first.subarray(0, chunks * 10), then])));
    }),
  );
});

test("two sides are alike up to the chunk in which the first byte differs", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.nat(),
      fc.integer({ min: 1, max: 30 }),
      (bytes, at, chunkBytes) => {
        const place = at % bytes.length;
        const other = Uint8Array.from(bytes);
        other[place]! ^= 1;
        const [ours, theirs] = [bytes, other].map((given) => {
          const hash = createRunningHash(chunkBytes);
          hash.update(given);
          return hash.digests();
        });
        expect(chunksAlike(ours!, theirs!)).toBe(Math.floor(place / chunkBytes));
      },
    ),
  );
  expect(chunksAlike([], [])).toBe(0);
});

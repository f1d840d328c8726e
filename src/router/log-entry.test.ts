import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeEntry, ENTRY_KINDS, encodeEntry, type LogPosition, misfit, NO_ENTRY } from "./log-entry.ts";

const header = {
  cluster: "games",
  generation: 1,
  term: 3,
  boot: "boot",
  node: "n1",
  kind: "changes",
  at: 1,
  schema: "a".repeat(64),
  chain: NO_ENTRY,
} as const;
const at: LogPosition = { cluster: "games", generation: 1, seq: 4, term: 3, chain: NO_ENTRY };

test("an entry comes back as it was written, with the digest that the next one names", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...ENTRY_KINDS), (body, kind) => {
      const decoded = decodeEntry(encodeEntry({ ...header, kind }, body));
      expect(decoded.header).toMatchObject({ ...header, kind });
      expect(Buffer.compare(decoded.body, body)).toBe(0);
      const next = decodeEntry(encodeEntry({ ...header, chain: decoded.digest }, body));
      expect(next.digest).not.toBe(decoded.digest);
    }),
  );
});

test("one flipped bit or a missing end is found, wherever it is", () => {
  const entry = encodeEntry(header, Buffer.from("rows that changed"));
  const whole = decodeEntry(entry).digest;
  for (let bit = 0; bit < entry.length * 8; bit += 1) {
    const bent = Uint8Array.from(entry);
    bent[bit >> 3]! ^= 1 << (bit & 7);
    // A bit of the head may make another sound head; the chain tells these apart.
    let digest: string | undefined;
    try {
      digest = decodeEntry(bent).digest;
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: "LOG_ENTRY_DAMAGED" });
    }
    expect(digest).not.toBe(whole);
  }
  for (let length = 0; length < entry.length; length += 1)
    expect(() => decodeEntry(entry.subarray(0, length))).toThrow(/an entry of the replicated log/);
});

test("only the next entry of the same chain, cluster, generation and term fits", () => {
  const fits = (
    seq: number,
    changed: Partial<Omit<typeof header, "kind" | "term"> & { kind: "term" | "beat"; term: number }> = {},
  ) => misfit({ ...decodeEntry(encodeEntry({ ...header, ...changed } as typeof header, Buffer.alloc(0))), seq }, at);
  expect(fits(5)).toBeUndefined();
  expect(fits(5, { kind: "term", term: 4 })).toBeUndefined();
  expect(fits(5, { kind: "term", term: 9 })).toBeUndefined();
  expect(fits(6)).toMatch(/entry 6 came after entry 4/);
  expect(fits(5, { chain: "b".repeat(64) as typeof NO_ENTRY })).toMatch(/follows another entry 4/);
  expect(fits(5, { kind: "beat", term: 2 })).toMatch(/of term 2; the term here is 3/);
  expect(fits(5, { kind: "beat", term: 4 })).toMatch(/of term 4/);
  expect(fits(5, { kind: "term", term: 3 })).toMatch(/of term 3/);
  expect(fits(5, { cluster: "other" as "games" })).toMatch(/cluster other/);
  expect(fits(5, { generation: 2 as 1 })).toMatch(/generation 2/);
});

import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkTicket, listClaim, listName, signTicket, type TicketClaim } from "./ticket.ts";

const coordinator = generateKeyPairSync("ed25519");
const [one, other] = ["a".repeat(64), "b".repeat(64)];
const nowMs = 1_800_000_000_000;
const claim: TicketClaim = {
  ...listClaim([{ sha256: one, bytes: 7 }]),
  from: "n1",
  to: "n2",
  issuedAt: nowMs / 1_000 - 10,
  expiresAt: nowMs / 1_000 + 600,
};
const check = { key: coordinator.publicKey, from: "n1", nowMs };
const signed = (more: Partial<TicketClaim> = {}) => signTicket({ ...claim, ...more }, coordinator.privateKey);
const codeOf = (text: string | undefined, more: Partial<typeof check> = {}): unknown => {
  try {
    return checkTicket(text, { ...check, ...more });
  } catch (thrown) {
    return (thrown as { code: string }).code;
  }
};

test("a ticket says what the coordinator said", () => {
  expect(codeOf(signed())).toEqual(claim);
});

test("one that is not for this node, this time or from our coordinator is told apart", () => {
  expect(codeOf(undefined)).toBe("BAD_TICKET");
  expect(codeOf("v1 list=x")).toBe("BAD_TICKET");
  expect(codeOf(signTicket(claim, generateKeyPairSync("ed25519").privateKey))).toBe("BAD_TICKET");
  expect(codeOf(signed(), { from: "n3" })).toBe("TICKET_OF_ANOTHER");
  expect(codeOf(signed(), { nowMs: nowMs + 600_000 })).toBe("TICKET_EXPIRED");
  expect(codeOf(signed(), { nowMs: nowMs + 599_000 })).toEqual(claim);
  expect(codeOf(signed(), { nowMs: nowMs - 3_600_000 })).toBe("CLOCK_SKEW");
});

test("no letter of it can be changed", () => {
  const text = signed();
  fc.assert(
    fc.property(fc.nat({ max: text.length - 1 }), fc.constantFrom(..."0123456789abcdefnv=, "), (at, letter) => {
      fc.pre(text[at] !== letter);
      const changed = `${text.slice(0, at)}${letter}${text.slice(at + 1)}`;
      // The last letters of base64 carry bits that mean nothing; what they say must be the same then.
      const found = codeOf(changed);
      if (typeof found !== "string") expect(found).toEqual(claim);
    }),
    { numRuns: 500 },
  );
});

test("a list has one name: for its artifacts, their sizes and their order", () => {
  const list = [
    { sha256: one, bytes: 7 },
    { sha256: other, bytes: 8 },
  ];
  expect(listName(list.slice(0, 1))).toBe(one);
  const names = [list, list.toReversed(), [{ sha256: one, bytes: 8 }, list[1]!], [...list, list[0]!], []].map(listName);
  expect(new Set(names).size).toBe(names.length);
});

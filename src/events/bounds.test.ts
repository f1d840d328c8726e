import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isOperatingError } from "../kernel/index.ts";
import { boundedText, isJson, PAYLOAD_BYTES_MAX, PAYLOAD_DEPTH_MAX } from "./bounds.ts";

const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < levels; i += 1) value = i % 2 === 0 ? { inner: value } : [value];
  return value;
};

const refused = (payload: unknown): string => {
  try {
    boundedText(payload);
  } catch (error) {
    expect(isOperatingError(error, "INVALID_EVENT")).toBe(true);
    return (error as Error).message;
  }
  return "accepted";
};

describe("bounds of a payload", () => {
  test("every JSON object within them comes through as its own text", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (payload) => {
        expect(JSON.parse(boundedText(payload))).toEqual(JSON.parse(JSON.stringify(payload)));
      }),
    );
  });

  test("whatever is given, the answer is a text or a typed error", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }), (value) => {
        expect(typeof refused(value)).toBe("string");
        expect(typeof isJson(value)).toBe("boolean");
      }),
    );
  });

  test("a payload may be as large as the limit and not one byte more, counted in UTF-8", () => {
    const frame = Buffer.byteLength(JSON.stringify({ text: "x" }));
    const umlauts = (bytes: number) => ({ text: `x${"ü".repeat((bytes - frame) / 2)}` });
    expect(Buffer.byteLength(boundedText(umlauts(PAYLOAD_BYTES_MAX)))).toBe(PAYLOAD_BYTES_MAX);
    expect(refused(umlauts(PAYLOAD_BYTES_MAX + 2))).toContain(`${PAYLOAD_BYTES_MAX + 2} bytes`);
    expect(refused({ text: "x".repeat(3 * PAYLOAD_BYTES_MAX) })).toContain("at most");
  });

  test("nesting ends at the limit, however deep the attack", () => {
    expect(refused({ deep: nested(PAYLOAD_DEPTH_MAX - 1) })).toBe("accepted");
    expect(refused({ deep: nested(PAYLOAD_DEPTH_MAX) })).toContain("nests deeper");
    expect(refused({ deep: nested(200_000) })).toContain("nests deeper");
  });

  test("a cycle and a structure that shares its parts endlessly end too", () => {
    const cycle: { self?: unknown } = {};
    cycle.self = [cycle, cycle];
    expect(refused(cycle)).toContain("nests deeper");
    let shared: unknown = [1];
    for (let i = 0; i < 40; i += 1) shared = [shared, shared];
    expect(refused({ shared })).toContain("at most");
  });

  test("only objects of JSON values are payloads", () => {
    for (const value of [null, undefined, 1, "text", [], () => 1]) expect(refused(value)).toContain("JSON object");
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1, new Date(0), new Map(), [undefined]])
      expect(refused({ value })).toContain("JSON values only");
    expect(refused({ left: undefined, out: 1 })).toBe("accepted");
  });
});

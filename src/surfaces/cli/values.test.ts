import { describe, expect, it } from "vitest";
import { decimal, lengthOfTime, oneOf, pointInTime, wholeNumber } from "./values.ts";

const NOW_MS = 1_700_000_000_000;
const time = pointInTime("--since", () => NOW_MS);

describe("values on the command line", () => {
  it("reads whole numbers within their bounds and says what it expected otherwise", () => {
    const read = wholeNumber("--limit", 1, 10);
    expect(read("10")).toBe(10);
    for (const wrong of ["0", "11", "1.5", "-1", "1e1", "", "x", " 3"])
      expect(() => read(wrong)).toThrow(/--limit is a whole number from 1 to 10/);
  });

  it("reads decimals", () => {
    expect(decimal("--rate", 0.01, 10)("0.5")).toBe(0.5);
    expect(() => decimal("--rate", 0.01, 10)("0")).toThrow(/from 0.01 to 10/);
  });

  it("reads points in time in three ways", () => {
    expect(time("10m")).toBe(NOW_MS / 1_000 - 600);
    expect(time("1.5h")).toBe(NOW_MS / 1_000 - 5_400);
    expect(time("1699999999.5")).toBe(1_699_999_999.5);
    expect(time("2026-01-31T12:00:00Z")).toBe(Date.UTC(2026, 0, 31, 12) / 1_000);
    expect(time("2026-01-31 12:00")).toBe(new Date(2026, 0, 31, 12).getTime() / 1_000);
    for (const wrong of ["yesterday", "10", "2026-13-01", "m", ""]) expect(() => time(wrong)).toThrow(/--since is/);
  });

  it("reads lengths of time", () => {
    expect(lengthOfTime("--for")("20s")).toBe(20_000);
    expect(() => lengthOfTime("--for")("20")).toThrow(/such as 20s/);
  });

  it("suggests the choice that was meant", () => {
    expect(oneOf("--class", ["durable", "volatile"])("DURABLE")).toBe("durable");
    expect(() => oneOf("--class", ["durable", "volatile"])("durabel")).toThrow(/Did you mean durable\?/);
  });
});

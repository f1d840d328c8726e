import { describe, expect, it } from "vitest";
import { createPaint } from "./paint.ts";
import { tableLines } from "./table.ts";
import { duration, moment, payloadLine, plural, printable, shorten, wrap, wrapText } from "./text.ts";

const at = (text: string) => new Date(text).getTime();

describe("text of the command line", () => {
  it("writes out what could speak to the terminal", () => {
    expect(printable("a\u001b[31mred\u0007\nb\u202ec")).toBe("a\\u001b[31mred\\u0007\\nb\\u202ec");
    expect(printable("größe ✓ 漢")).toBe("größe ✓ 漢");
  });

  it("shortens with an ellipsis and never splits a character", () => {
    expect(shorten("abcdef", 6)).toBe("abcdef");
    expect(shorten("abcdefg", 6)).toBe("abcde…");
    expect(shorten("😀😀😀", 2)).toBe("😀…");
    expect(shorten("abc", 0)).toBe("");
  });

  it.each([
    [12.4, "12 ms"],
    [3_400, "3.4 s"],
    [90_000, "1.5 min"],
    [300_000, "5 min"],
    [598_000, "10 min"],
    [7_200_000, "2 h"],
    [40 * 3_600_000, "40 h"],
    [3 * 86_400_000, "3 d"],
  ])("says %d milliseconds as %s", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it("says the time of day today and the date on other days", () => {
    const now = at("2026-03-04T12:00:00");
    expect(moment(at("2026-03-04T01:02:03.004"), now)).toBe("01:02:03.004");
    expect(moment(at("2026-03-03T23:59:59.999"), now)).toBe("03-03 23:59:59");
    expect(moment(at("2025-12-31T01:02:03"), now)).toBe("2025-12-31 01:02:03");
  });

  it("counts in the singular and the plural", () => {
    expect([0, 1, 1_234].map((n) => plural(n, "event"))).toEqual(["0 events", "1 event", "1,234 events"]);
  });

  it("puts a payload on one line, with long values whole only where there is room", () => {
    const payload = { config_key: "hex8_2p", games: 3, hash: "f".repeat(64), note: "a\nb" };
    const whole = payloadLine(payload, Number.POSITIVE_INFINITY);
    expect(whole).toBe(`config_key=hex8_2p games=3 hash=${"f".repeat(64)} note=a\\nb`);
    expect(payloadLine(payload, 100)).toBe(`config_key=hex8_2p games=3 note=a\\nb hash=${"f".repeat(23)}…`);
  });

  it("rounds numbers and writes no JSON for a person", () => {
    const payload = {
      loss: 0.123456789,
      at: 1_790_000_123.25,
      counts: { games: 2, share: 1 / 3 },
      ids: ["a", "b"],
      none: null,
    };
    expect(payloadLine(payload, Number.POSITIVE_INFINITY)).toBe(
      "loss=0.1235 at=1790000123 counts=games 2, share 0.3333 ids=a, b none=null",
    );
  });

  it("wraps between pieces and leaves a piece that is too long alone", () => {
    expect(wrapText("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapText("a incomprehensible b", 5)).toEqual(["a", "incomprehensible", "b"]);
    const pieces = ["aa", "bb", "cc"].map((text) => ({ text }));
    expect(wrap(pieces, 6, 2).map((line) => line.length)).toEqual([2, 1]);
  });
});

describe("a table", () => {
  it("aligns its columns and gives no line more than its width", () => {
    const rows = [
      ["A", "LONG COLUMN", "REST"],
      ["abc", "x", "a text that does not fit"],
    ];
    expect(tableLines(rows, { width: 30 })).toEqual(["A    LONG COLUMN  REST", "abc  x            a text that…"]);
    for (const width of [0, 1, 4, 9, 25])
      for (const line of tableLines(rows, { width })) expect(line.length).toBeLessThanOrEqual(width);
  });

  it("measures what is seen, so that colours do not move columns", () => {
    const { cyan } = createPaint(true);
    expect(
      tableLines(
        [
          [cyan("a"), "b"],
          ["long", "c"],
        ],
        { width: 80 },
      ),
    ).toEqual([`${cyan("a")}     b`, "long  c"]);
  });

  it("aligns numbers to the right", () => {
    expect(
      tableLines(
        [
          [{ text: "7", align: "right" }, "x"],
          ["1000", "y"],
        ],
        { width: 80 },
      ),
    ).toEqual(["   7  x", "1000  y"]);
  });
});

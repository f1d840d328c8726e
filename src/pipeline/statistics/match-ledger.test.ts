import { describe, expect, it } from "vitest";
import { isOperatingError } from "../../kernel/index.ts";
import { readLedger } from "./match-ledger.ts";

async function* pieces(...parts: (string | Uint8Array)[]) {
  for (const part of parts) yield part;
}
const refusal = async (limits: { bytes: number; lineBytes: number }, ...parts: (string | Uint8Array)[]) => {
  try {
    await readLedger(pieces(...parts), "m.jsonl", limits);
  } catch (thrown) {
    return isOperatingError(thrown) ? `${thrown.code} ${thrown.message}` : "untyped";
  }
  return "none";
};
const wide = { bytes: 1e6, lineBytes: 1e4 };
const good = '{"players":["a","b"],"winner":"a"}\n';

describe("a ledger", () => {
  it("is read line by line, wherever the pieces of the stream break", async () => {
    const text = `${good}\r\n\n{"players":["é","b"],"winner":null}`;
    const whole = await readLedger(pieces(text), "m");
    const bytes = [...new TextEncoder().encode(text)].map((byte) => Uint8Array.of(byte));
    expect(await readLedger(pieces(...bytes), "m")).toEqual(whole);
    expect(whole.map(({ players }) => players)).toEqual([
      ["a", "b"],
      ["é", "b"],
    ]);
  });

  it("counts equal results together", async () => {
    const tally = '{"players":["a","b"],"wins":[5,2]}\n';
    expect(await readLedger(pieces(good, tally, good), "m")).toEqual([
      { players: ["a", "b"], winner: "a", games: 7 },
      { players: ["a", "b"], winner: "b", games: 2 },
    ]);
    expect(await readLedger(pieces(""), "m")).toEqual([]);
  });

  it("names the line that is wrong, and what is wrong with it", async () => {
    expect(await refusal(wide, good, "\n", "nonsense\n", good)).toBe("INVALID_MATCH_LINE m.jsonl:3: This is not JSON.");
    expect(await refusal(wide, good, '{"players":["a","b"],"winner":"c"}')).toContain("m.jsonl:2: The winner c");
    expect(await refusal(wide, good, Uint8Array.of(0xff, 0xfe, 10))).toContain("m.jsonl:2: the line is not UTF-8");
  });

  it("is bounded in bytes, in the length of a line, in players and in games", async () => {
    expect(await refusal({ ...wide, bytes: 50 }, good, good)).toContain(
      "INVALID_LEDGER m.jsonl is larger than 50 bytes",
    );
    expect(await refusal({ ...wide, lineBytes: 10 }, good)).toContain("m.jsonl:1: the line is longer than 10 bytes");
    // A line that never ends is refused as soon as it is too long, not when it ends.
    expect(await refusal({ ...wide, lineBytes: 10 }, "x".repeat(11))).toContain("m.jsonl:1: the line is longer");
    const crowd = Array.from({ length: 1200 }, (_, i) => `{"players":["hub","p${i}"],"winner":"hub"}\n`);
    expect(await refusal(wide, ...crowd)).toContain("m.jsonl:1000: more than 1000 different players");
    const many = '{"players":["a","b"],"winner":"a","games":600000000}\n';
    expect(await refusal(wide, many, many)).toContain("m.jsonl:2: 1200000000 games are more than");
  });
});

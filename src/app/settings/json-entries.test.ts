import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonFault, jsonEntries } from "./json-entries.ts";

/** The same, by way of `JSON.parse`, which knows no lines. */
function flat(value: unknown, path: string[] = []): [string[], unknown][] {
  if (Array.isArray(value)) return [[path, []]];
  if (typeof value !== "object" || value === null) return [[path, value]];
  const members = Object.entries(value);
  if (members.length === 0) return path.length === 0 ? [] : [[path, {}]];
  return members.flatMap(([key, inner]) => flat(inner, [...path, key]));
}

const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true });

const faultOf = (text: string): JsonFault => {
  try {
    jsonEntries(text);
  } catch (thrown) {
    if (thrown instanceof JsonFault) return thrown;
    throw thrown;
  }
  throw new Error("it was taken");
};

describe("JSON with lines", () => {
  test("reads what JSON.parse reads, in every layout", () => {
    fc.assert(
      fc.property(object, fc.constantFrom(0, 2, "\t"), (value, layout) => {
        const text = JSON.stringify(value, null, layout);
        const paths = flat(JSON.parse(text)).map(([path, inner]) => [path, inner]);
        const got = jsonEntries(text).map(({ path, value: inner }) => [path, inner]);
        const order = (rows: unknown[][]) => rows.map((row) => JSON.stringify(row)).sort();
        expect(order(got)).toEqual(order(paths));
      }),
      { numRuns: 300 },
    );
  });

  test("takes and refuses exactly what JSON.parse takes and refuses, however a text is damaged", () => {
    const accepts = (read: () => unknown) => {
      try {
        read();
        return true;
      } catch (thrown) {
        if (thrown instanceof JsonFault || thrown instanceof SyntaxError) return false;
        throw thrown;
      }
    };
    const damage = fc.constantFrom("", "{", "}", "[", "]", ",", ":", '"', "\\", "0", "-", ".", "e", "t", "null", "\n");
    fc.assert(
      fc.property(object, fc.nat(), fc.nat(3), damage, (value, at, cut, put) => {
        const text = JSON.stringify(value);
        const start = at % (text.length + 1);
        const damaged = text.slice(0, start) + put + text.slice(start + cut);
        const theirs = accepts(() => {
          const parsed: unknown = JSON.parse(damaged);
          if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
            throw new SyntaxError("no object");
        });
        expect(
          accepts(() => jsonEntries(damaged)),
          damaged,
        ).toBe(theirs);
      }),
      { numRuns: 2_000 },
    );
  });

  test("knows the line of each value", () => {
    const text = '{\n  "a": 1,\n  "b": {\n    "c": "x",\n\n    "d": [\n      1\n    ]\n  },\r\n  "e": {}\n}\n';
    expect(jsonEntries(text)).toEqual([
      { path: ["a"], value: 1, line: 2 },
      { path: ["b", "c"], value: "x", line: 4 },
      { path: ["b", "d"], value: [], line: 6 },
      { path: ["e"], value: {}, line: 10 },
    ]);
  });

  test.each([
    ["", 1, "the end of the file where an object should begin"],
    ["[1]", 1, "[ where an object should begin"],
    ['{\n  "a": 1\n  "b": 2\n}', 3, '"b" where a comma or } should be'],
    ['{\n  "a": 1,\n}', 3, "} where a key in double quotes should be"],
    ["{\n  a: 1\n}", 2, "a where a key in double quotes should be"],
    ['{\n  "a" 1\n}', 2, "1 where a colon should be"],
    ['{\n  "a": yes\n}', 2, "yes where a value should be"],
    ['{\n  "a": 01\n}', 2, "01 where a value should be"],
    ['{\n  // why\n  "a": 1\n}', 2, '"/" is out of place'],
    ['{\n  "a": "x\n}', 2, "a text has no end"],
    ['{\n  "a": 1\n}\n{}', 4, "{ where the file should end"],
    ['{"a": 1', 1, "the end of the file where a comma or } should be"],
    [`{"a":${"[".repeat(50)}`, 1, "more than 16 levels"],
  ])("says of %j on which line it goes wrong", (text, line, message) => {
    expect(faultOf(text)).toMatchObject({ line, message });
  });
});

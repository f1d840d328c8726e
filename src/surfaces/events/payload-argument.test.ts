import { describe, expect, it } from "vitest";
import { builtinRows, createCatalog } from "../../events/index.ts";
import { examplePayload, exampleWords } from "./example-payload.ts";
import { payloadOfJson, payloadOfWords } from "./payload-argument.ts";
import { exampleCommand } from "./show.command.ts";

const catalog = createCatalog(builtinRows);
const row = catalog.row("SELFPLAY_COMPLETE");

/** What a shell makes of our quoting, for the two forms that we use. */
const unquoted = (word: string) => (word.startsWith("'") ? word.slice(1, -1).replaceAll("'\\''", "'") : word);

describe("a payload on the command line", () => {
  it("is one JSON object", () => {
    expect(payloadOfWords(['{"games": 3, "list": [1]}'], row)).toEqual({ games: 3, list: [1] });
    expect(() => payloadOfWords(['{"games": 3'], row)).toThrow(/is not JSON/);
    expect(() => payloadOfWords(["{}", "games=3"], row)).toThrow(/one argument/);
    expect(() => payloadOfJson("[1]", "the input")).toThrow(/the input is JSON, but no object/);
  });

  it("is words whose values follow the field: text stays text, the rest is JSON", () => {
    expect(payloadOfWords(["task_id=007", "games=12", "config_key=hex8_2p"], row)).toEqual({
      task_id: "007",
      games: 12,
      config_key: "hex8_2p",
    });
    expect(payloadOfWords(["a=1", "b=true", "c=x=y", 'd=["z"]', "e="], undefined)).toEqual({
      a: 1,
      b: true,
      c: "x=y",
      d: ["z"],
      e: "",
    });
  });

  it("is nothing, or an error that names the word", () => {
    expect(payloadOfWords([], row)).toEqual({});
    expect(() => payloadOfWords(["games"], row)).toThrow(/'games' is neither/);
    expect(() => payloadOfWords(["=3"], row)).toThrow(/'=3' is neither/);
    expect(() => payloadOfWords(["games=1", "games=2"], row)).toThrow(/'games' is given twice/);
  });
});

describe("the example of an event", () => {
  it.each(Object.values(builtinRows).map((each) => [each.name, each]))(
    "of %s is accepted as it is typed",
    (_, each) => {
      expect(each.payload.safeParse(examplePayload(each)).error?.issues).toBeUndefined();
      expect(payloadOfWords(exampleWords(each).map(unquoted), each)).toEqual(examplePayload(each));
      for (const line of exampleCommand(each, 100)) expect(line.length).toBeLessThanOrEqual(100);
    },
  );
});

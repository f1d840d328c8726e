import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { builtinRows, createCatalog } from "../../events/index.ts";
import { parseAlertRules, readAlertRules } from "./rules-file.ts";

const catalog = createCatalog(builtinRows);
const parse = (rules: unknown) => parseAlertRules(JSON.stringify(rules), "rules.json", catalog);
const games = { name: "games", event: "NEW_GAMES_AVAILABLE", within_seconds: 3_600 };

describe("a file with rules", () => {
  test("adds watches, with what it leaves out filled in", () => {
    expect(parse({ absence: [{ ...games, by: ["config_key"] }] })).toEqual([
      {
        name: "user.games",
        event: "NEW_GAMES_AVAILABLE",
        by: ["config_key"],
        withinMs: 3_600_000,
        severity: "error",
        title: "No NEW_GAMES_AVAILABLE for too long",
        from: "first_seen",
        endedBy: [],
      },
    ]);
    expect(parse({})).toEqual([]);
  });

  test("may name an event by its value on the wire", () => {
    expect(parse({ absence: [{ ...games, event: "new_games_available" }] })[0]!.event).toBe("NEW_GAMES_AVAILABLE");
  });

  test.each([
    ["an unknown event", { absence: [{ ...games, event: "NEW_GAMES_AVAILBLE" }] }, "Did you mean NEW_GAMES_AVAILABLE"],
    ["a field that the event does not have", { absence: [{ ...games, by: ["config_kee"] }] }, "config_kee"],
    ["an unknown word", { absence: [{ ...games, witin: 3 }] }, "witin"],
    ["an unknown list", { absense: [] }, "absense"],
    ["a time that is too short", { absence: [{ ...games, within_seconds: 1 }] }, "within_seconds"],
    ["two rules of one name", { absence: [games, games] }, "two rules are called 'games'"],
    [
      "subjects that nobody can await",
      { absence: [{ ...games, by: ["config_key"], from: "start" }] },
      "cannot have 'by'",
    ],
  ])("with %s is refused", (_what, rules, says) => {
    expect(() => parse(rules)).toThrow(says);
  });

  test("that is no JSON, or not there, is refused by name", () => {
    const folder = mkdtempSync(join(tmpdir(), "ringrift-rules-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, "rules.json");
    expect(() => readAlertRules(path, catalog)).toThrow(/rules\.json: it cannot be read/);
    writeFileSync(path, "{");
    expect(() => readAlertRules(path, catalog)).toThrow(path);
    writeFileSync(path, JSON.stringify({ absence: [games] }));
    expect(readAlertRules(path, catalog)).toHaveLength(1);
  });
});

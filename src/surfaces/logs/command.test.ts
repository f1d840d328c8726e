import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { runCli } from "../../app/cli.ts";
import { logPathOf, seededRandom, systemClock } from "../../kernel/index.ts";
import { fits } from "./command.ts";

const line = (level: number, msg: string, fields: object = {}, time = "2026-01-31T12:00:00.000Z") =>
  JSON.stringify({ level, time, ...fields, msg });

function world() {
  const dataDir = mkdtempSync(join(tmpdir(), "ringrift-logs-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const path = logPathOf(dataDir);
  mkdirSync(join(path, ".."));
  const write = (...lines: string[]) => appendFileSync(path, lines.map((each) => `${each}\n`).join(""));
  const ending = new AbortController();
  const said = { out: "", err: "" };
  const heard = new Set<() => void>();
  const io = {
    out: (text: string) => {
      said.out += text;
      for (const look of heard) look();
    },
    err: (text: string) => {
      said.err += text;
    },
    env: {},
    cwd: "/",
    stdin: Readable.from([]),
    isTerminal: false,
    columns: 100,
    signal: ending.signal,
  };
  const run = (...args: string[]) => {
    said.out = "";
    said.err = "";
    return runCli(["--data-dir", dataDir, "logs", ...args], io, {
      clock: systemClock(),
      random: seededRandom(1),
      actor: "tester",
    });
  };
  const until = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!pattern.test(said.out)) return;
        heard.delete(look);
        resolve();
      };
      heard.add(look);
      look();
    });
  return { write, run, said, until, end: () => ending.abort() };
}

describe("ringrift logs", () => {
  it("shows the last lines that fit, readable or as they are", async () => {
    const { write, run, said } = world();
    write(
      line(30, "a"),
      line(40, "b", { unit: "dlq_retry" }),
      "half a li",
      line(50, "c", { daemon: "dlq_retry" }),
      line(30, "d"),
    );
    expect(await run()).toBe(0);
    expect(said.out.split("\n").map((each) => each.slice(9))).toEqual([
      "INFO  a",
      "WARN  dlq_retry: b",
      "",
      "ERROR c  daemon=dlq_retry",
      "INFO  d",
      "",
    ]);
    expect(await run("--lines", "2", "--json")).toBe(0);
    expect(
      said.out
        .trimEnd()
        .split("\n")
        .map((each) => JSON.parse(each).msg),
    ).toEqual(["c", "d"]);
    expect(await run("--unit", "dlq_retry", "--level", "error")).toBe(0);
    expect(said.out).toMatch(/^\S+ ERROR c .*\n$/);
    expect(await run("--unit", "nobody")).toBe(0);
    expect(said).toEqual({ out: "", err: "no lines\n" });
  });

  it("goes on with what is written, after the last lines of what was there", async () => {
    const { write, run, said, until, end } = world();
    write(...Array.from({ length: 10 }, (_, i) => line(30, `old ${i}`)));
    const running = run("--follow", "--lines", "2", "--json");
    await until(/old 9/);
    write(line(30, "new 1"), line(40, "new 2"));
    await until(/new 2/);
    end();
    expect(await running).toBe(0);
    expect(
      said.out
        .trimEnd()
        .split("\n")
        .map((each) => JSON.parse(each).msg),
    ).toEqual(["old 8", "old 9", "new 1", "new 2"]);
  });

  it("says where there is none, and what does not go together", async () => {
    const { run, said } = world();
    expect(await run()).toBe(3);
    expect(said.err).toMatch(/there is no log in .*\n.*ringrift up/);
    expect(await run("--writes", "--follow")).toBe(2);
    expect(await run("--writes")).toBe(4);
  });

  it.each<[string, Parameters<typeof fits>[1], boolean]>([
    [line(30, "x"), {}, true],
    [line(30, "x"), { level: "warn" }, false],
    [line(40, "x"), { level: "warn" }, true],
    [line(30, "x", { component: "a" }), { unit: "a" }, true],
    [line(30, "x"), { unit: "a" }, false],
    [line(30, "x"), { since: Date.parse("2026-01-31T12:00:00Z") }, true],
    [line(30, "x"), { since: Date.parse("2026-01-31T12:00:01Z") }, false],
    ["no JSON", {}, true],
    ["no JSON", { level: "debug" }, false],
    ["null", { unit: "a" }, false],
  ])("%s fits %j: %s", (text, options, expected) => {
    expect(fits(text, options)).toBe(expected);
  });
});

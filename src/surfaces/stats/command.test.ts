import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Command, CommanderError } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordedTerminal, shellWithout } from "../../../test/support/terminal.ts";
import { type CliIo, EXIT, reportFailure } from "../cli/io.ts";
import { registerStats } from "./command.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "stats-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Outcome {
  readonly out: string;
  readonly err: string;
  readonly exitCode: number;
}

async function run(args: readonly string[], over: Partial<CliIo> = {}): Promise<Outcome> {
  const { io, said } = recordedTerminal({ cwd: folder, ...over });
  const program = new Command("ringrift").exitOverride().configureOutput({ writeOut: io.out, writeErr: io.err });
  program.option("--json");
  const shell = shellWithout(program, io);
  registerStats(program.command("stats"), shell);
  try {
    await program.parseAsync(["node", "ringrift", "stats", ...args]);
    return { ...said, exitCode: EXIT.ok };
  } catch (thrown) {
    if (thrown instanceof CommanderError) return { ...said, exitCode: thrown.exitCode };
    const exitCode = reportFailure(thrown, io, args.includes("--json"));
    return { ...said, exitCode };
  }
}

const json = async (args: readonly string[], over: Partial<CliIo> = {}) =>
  JSON.parse((await run([...args, "--json"], over)).out);

describe("stats sprt", () => {
  it("prints the golden value, a bar between the bounds and the Elo", async () => {
    const { out, exitCode } = await run([
      "sprt",
      "--pairs",
      "13,37,50,25,3",
      "--bounds",
      "0,4",
      "--model",
      "normalized",
    ]);
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toContain("LLR             -0.549125\n");
    expect(out).toContain("Elo             -43.66 +- 29.43   (95 %: -73.4 to -14.5)");
    expect(out).toContain("decision        continue: LLR -0.549 lies between -2.936 and 2.936.");
    expect(out).toMatch(/reject -2\.94 ├─+●─+┼─+┤ 2\.94 promote/u);
    expect(out).not.toContain("after stopping");
  });

  it("prints the same as JSON in snake case", async () => {
    const answer = await json([
      "sprt",
      "--pairs",
      "10789,19328,33806,19402,10543",
      "--bounds",
      "-3,1",
      "--model",
      "logistic",
    ]);
    expect(answer.llr).toBeCloseTo(2.131068, 6);
    expect(answer).toMatchObject({ decision: "continue", blocks: 93868, plan: { bounds: [-3, 1], batch_blocks: 1 } });
    expect(answer.after_stopping.elo.low).toBeLessThan(answer.after_stopping.elo.high);
    expect(Object.keys(answer)).toContain("stop_upper");
  });

  it("says what a test that ended is worth", async () => {
    const { out } = await run(["sprt", "--pairs", "36,0,88,0,60", "--batch", "8", "--cap", "400"]);
    expect(out).toContain("decision        promote");
    expect(out).toMatch(/after stopping {2}\+\d+\.\d\d Elo {3}\(.* to .*; median-unbiased\)/);
  });

  it("knows blocks of three and four players, and single games", async () => {
    const three = await json(["sprt", "--players", "3", "--blocks", "20,45,40,15", "--model", "logistic"]);
    expect(three).toMatchObject({ blocks: 120, games: 360 });
    expect((await json(["sprt", "--players", "4", "--pairs", "1,2,3,2,1"])).games).toBe(36);
    const games = await json(["sprt", "--wdl", "30,20,10"]);
    expect(games).toMatchObject({ counts: [10, 20, 30], games: 60 });
    expect(games.llr).toBeGreaterThan(0);
  });

  it("gives no verdict on redundant games, and an inconclusive one at the cap", async () => {
    const promote = ["sprt", "--pairs", "0,0,3,5,22"];
    expect((await json(promote)).decision).toBe("promote");
    expect((await json([...promote, "--redundancy", "0.6"])).decision).toBe("continue");
    expect((await json([...promote, "--redundancy", "0.6", "--cap", "30"])).decision).toBe("inconclusive");
  });

  it("fits a narrow terminal", async () => {
    const { out } = await run(["sprt", "--pairs", "1,2,3,2,1"], { columns: 60 });
    const bar = out.split("\n").find((line) => line.includes("promote"))!;
    expect(bar.length).toBeLessThanOrEqual(60);
  });

  it.each([
    [["sprt"], "Give the results once"],
    [["sprt", "--pairs", "1,1,1,1,1", "--wdl", "1,1,1"], "Give the results once"],
    [["sprt", "--pairs", "1,2,3,4"], "not 4"],
    [["sprt", "--pairs", "1,-2,3,4,5"], "whole number"],
    [["sprt", "--pairs", "1,NaN,3,4,5"], "whole number"],
    [["sprt", "--pairs", "0,0,0,0,0"], "All counts are zero"],
    [["sprt", "--pairs", "1,1,1,1,1", "--bounds", "4,0"], "the first below the second"],
    [["sprt", "--pairs", "1,1,1,1,1", "--bounds", "0"], "Two bounds"],
    [["sprt", "--pairs", "1,1,1,1,1", "--bounds", "0,x"], "takes a number"],
    [["sprt", "--pairs", "1,1,1,1,1", "--model", "glicko"], "logistic or normalized"],
    [["sprt", "--pairs", "1,1,1,1,1", "--alpha", "0.9"], "alpha"],
    [["sprt", "--pairs", "1,1,1,1,1", "--players", "5"], "2, 3 or 4 players"],
    [["sprt", "--wdl", "1,1,1", "--players", "3"], "--wdl is for two players"],
    [["sprt", "--pairs", "1,1,1,1,1", "--batch", "4", "--cap", "7"], "whole number of batches"],
  ] as const)("refuses %j as wrong usage and says why: %s", async (args, message) => {
    const { err, exitCode } = await run(args);
    expect(exitCode).toBe(EXIT.usage);
    expect(err).toContain(message);
  });

  it("reports failures as JSON where JSON was asked for", async () => {
    const { err, out, exitCode } = await run(["sprt", "--pairs", "1,2,3,4", "--json"]);
    expect(out).toBe("");
    expect(JSON.parse(err).error).toMatchObject({
      code: "INVALID_COUNTS",
      hint: "Give five counts: LL, LD, DD or WL, WD, WW.",
    });
    expect(exitCode).toBe(EXIT.usage);
  });

  it("has help with examples that work as printed", async () => {
    const { out } = await run(["sprt", "--help"]);
    const examples = out.split("\n").filter((line) => line.startsWith("  ringrift stats sprt"));
    expect(examples).toHaveLength(3);
    for (const example of examples) expect((await run(example.trim().split(" ").slice(2))).exitCode).toBe(EXIT.ok);
  });
});

describe("stats elo", () => {
  it("prints Elo with its interval, and the same as JSON", async () => {
    const { out } = await run(["elo", "--pairs", "13,37,50,25,3"]);
    expect(out).toContain("pairs           128   LL 13  LD 37  DD|WL 50  WD 25  WW 3");
    expect(out).toContain("-43.66 +- 29.43");
    const answer = await json(["elo", "--pairs", "13,37,50,25,3", "--confidence", "0.99"]);
    expect(answer.elo.estimate).toBeCloseTo(-43.6578, 4);
    expect(answer.half_width).toBeGreaterThan(38);
  });

  it("has a finite answer when everything was won", async () => {
    const answer = await json(["elo", "--pairs", "0,0,0,0,30"]);
    expect(answer.method).toBe("posterior");
    expect(Number.isFinite(answer.elo.high)).toBe(true);
    expect((await run(["elo", "--pairs", "0,0,0,0,30"])).out).toContain("from the posterior");
  });

  it("refuses an impossible confidence", async () => {
    expect((await run(["elo", "--pairs", "1,1,1,1,1", "--confidence", "95"])).exitCode).toBe(EXIT.usage);
  });

  it("has help with examples that work as printed", async () => {
    const { out } = await run(["elo", "--help"]);
    const examples = out.split("\n").filter((line) => line.startsWith("  ringrift stats elo"));
    expect(examples).toHaveLength(3);
    for (const example of examples) expect((await run(example.trim().split(" ").slice(2))).exitCode).toBe(EXIT.ok);
  });
});

describe("stats ladder", () => {
  const lines = [
    { players: ["net-7", "mcts-100"], wins: [30, 10] },
    { players: ["net-7", "net-6"], wins: [61, 48], draws: 11 },
    { players: ["mcts-100", "random"], winner: "mcts-100", games: 20 },
  ];
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const ledger = lines.map((line) => JSON.stringify(line)).join("\n");

  it("draws a table with error bars, best first, and names useful games", async () => {
    write("matches.jsonl", ledger);
    const { out, exitCode } = await run(["ladder", "matches.jsonl", "--zero", "mcts-100"]);
    expect(exitCode).toBe(EXIT.ok);
    const table = out.split("\n").slice(1, 5);
    expect(table.map((line) => line.trim().split(/ +/)[1])).toEqual(["net-7", "net-6", "mcts-100", "random"]);
    expect(table[0]).toMatch(/├─+●─+┤/u);
    expect(table[2]).toMatch(/ 0\.0 +anchor/);
    expect(out).toContain("180 games.");
    expect(out).toContain("Rating games that would tell most:");
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  });

  it("prints JSON, with anchors kept exactly", async () => {
    write("matches.jsonl", ledger);
    const answer = await json([
      "ladder",
      "matches.jsonl",
      "--zero",
      "mcts-100",
      "--anchor",
      "net-6=123.4",
      "--next",
      "1",
    ]);
    const rating = (name: string) => answer.ratings.find((row: { player: string }) => row.player === name);
    expect(rating("net-6")).toMatchObject({ elo: { estimate: 123.4 }, standard_error: 0, anchored: true });
    expect(rating("net-7")).toMatchObject({ games: 160, group: 0 });
    expect(answer.groups).toEqual([{ players: ["mcts-100", "net-6", "net-7", "random"], anchored: true }]);
    expect(answer.next_games).toHaveLength(1);
  });

  it("reads standard input, and rates groups without common games apart", async () => {
    const stdin = Readable.from([`${ledger}\n`, '{"players":["x","y","z"],"ranks":[1,2,2]}\n']);
    const { out } = await run(["ladder", "-"], { stdin });
    expect(out).toContain("group 2: 3 players without a game against the others");
    expect(out).toContain("No anchor: the mean of these ratings is 0.");
  });

  it("names the line that is wrong", async () => {
    write("bad.jsonl", `${ledger}\n\n{"players":["a"]}\n`);
    const { err, exitCode } = await run(["ladder", "bad.jsonl"]);
    expect(err).toContain("bad.jsonl:5: players:");
    expect(exitCode).toBe(EXIT.usage);
  });

  it("refuses what is not there, not a file, empty, or of an unknown player", async () => {
    expect((await run(["ladder", "none.jsonl"])).exitCode).toBe(EXIT.notFound);
    expect((await run(["ladder", "."])).exitCode).toBe(EXIT.usage);
    write("empty.jsonl", "\n\n");
    expect(await run(["ladder", "empty.jsonl"])).toMatchObject({
      exitCode: EXIT.usage,
      err: "error: There are no matches to rate.\n",
    });
    write("matches.jsonl", ledger);
    const unknown = await run(["ladder", "matches.jsonl", "--zero", "mcts-10"]);
    expect(unknown.exitCode).toBe(EXIT.notFound);
    expect(unknown.err).toContain("Did you mean mcts-100?");
    expect((await run(["ladder", "matches.jsonl", "--anchor", "net-6"])).exitCode).toBe(EXIT.usage);
    expect((await run(["ladder", "matches.jsonl", "--anchor", "net-6=high"])).exitCode).toBe(EXIT.usage);
  });

  it("refuses a line that is longer than any match", async () => {
    write("long.jsonl", `{"players":["a","b"],"winner":"a","note":"${"x".repeat(70_000)}"}`);
    expect((await run(["ladder", "long.jsonl"])).err).toContain("long.jsonl:1: the line is longer than 65536 bytes");
  });

  it("documents the file format in its help, with lines that parse", async () => {
    const { out } = await run(["ladder", "--help"]);
    const examples = out.split("\n").flatMap((line) => /^ {2}(\{.*?\}) /.exec(line)?.[1] ?? []);
    expect(examples).toHaveLength(3);
    expect((await run(["ladder", "-"], { stdin: Readable.from([examples.join("\n")]) })).exitCode).toBe(EXIT.ok);
  });
});

describe("stats simulate", () => {
  it("prints what a gate would do, the same for the same seed", async () => {
    const args = ["simulate", "--elo", "-100,0,200", "--runs", "40"];
    const { out } = await run(args);
    expect(out).toContain("2 players, normalized Elo [0, 50], at most 400 pairs, 40 gates each");
    expect(out).toMatch(/ {3}-100 +0\.0 % +100\.0 % +0\.0 % +\d+\n/);
    expect(out).toMatch(/ {3}\+200 +100\.0 % +0\.0 % +0\.0 % +\d+\n/);
    expect((await run(args)).out).toBe(out);
    expect((await run([...args, "--seed", "2"])).out).not.toBe(out);
  });

  it("prints JSON for three players with draws", async () => {
    const answer = await json([
      "simulate",
      "--players",
      "3",
      "--draws",
      "0.3",
      "--elo",
      "300",
      "--runs",
      "10",
      "--bounds",
      "0,100",
    ]);
    expect(answer).toMatchObject({ players: 3, draw_share: 0.3, plan: { cap_blocks: 104, batch_blocks: 8 } });
    expect(answer.complete).toBe(true);
    expect(answer.studies[0]).toMatchObject({ elo: 300, runs: 10, promote_share: 1 });
  });

  it("stops when it is told to, and says that it is not complete", async () => {
    const stopped = { signal: AbortSignal.abort() };
    expect(await json(["simulate", "--runs", "100000"], stopped)).toMatchObject({ complete: false, studies: [] });
    const { out, exitCode } = await run(["simulate", "--runs", "100000"], stopped);
    expect(out).toContain("Stopped.");
    expect(exitCode).toBe(EXIT.ok);
  });

  it.each([
    [["--runs", "0"]],
    [["--runs", "1000000"]],
    [["--draws", "2"]],
    [["--elo", "1e9"]],
    [["--players", "7"]],
    [["--bounds", "3,3"]],
  ])("refuses %j", async (args) => {
    expect((await run(["simulate", ...args])).exitCode).toBe(EXIT.usage);
  });
});

describe("the manual", () => {
  const manual = readFileSync(new URL("../../../docs/30-statistics.md", import.meta.url), "utf8");
  const examples = [...manual.matchAll(/^```console[^\n]*\n\$ ringrift stats ([^\n]*)\n(.*?)^```$/gms)];

  it("has examples for every command", () => {
    expect(new Set(examples.map(([, line]) => line!.split(" ")[0]))).toEqual(
      new Set(["sprt", "elo", "ladder", "simulate"]),
    );
  });

  it.each(examples.map(([, line, output]) => [line!, output!]))(
    "prints what 'stats %s' prints",
    async (line, output) => {
      writeFileSync(join(folder, "matches.jsonl"), /^```json\n(.*?)^```$/ms.exec(manual)![1]!);
      const { out } = await run(line.split(" "));
      const trimmed = (text: string) =>
        text
          .split("\n")
          .map((row) => row.trimEnd())
          .join("\n")
          .trim();
      expect(trimmed(output)).toBe(trimmed(out));
    },
  );
});

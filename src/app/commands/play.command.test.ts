import { existsSync, readFileSync } from "node:fs";
import { PassThrough, Readable } from "node:stream";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import type { CliIo } from "../../surfaces/commands/index.ts";
import type { PlayTable, TableRequest } from "./play/play-table.ts";
import type { Tables } from "./play/tables.ts";
import { type ChampionsPort, registerPlay } from "./play.command.ts";

/** Nim with five stones: take one or two, whoever takes the last one wins. The opponent always takes one. */
const nimTable = (seat: number): PlayTable => {
  const taken: number[] = [];
  const left = () => 5 - taken.reduce((sum, n) => sum + n, 0);
  const turn = () => taken.length % 2;
  return {
    title: "Nim with 5",
    rules: "Take one or two stones; the last one wins.",
    seat,
    players: 2,
    turn,
    isOver: () => left() === 0,
    winner: () => (left() === 0 ? 1 - turn() : undefined),
    draw: () => "o".repeat(left()),
    legalMoves: () => ["1", "2"].slice(0, Math.min(2, left())),
    moves: () => taken.map(String),
    play(text) {
      if (!["1", "2"].includes(text) || Number(text) > left()) return false;
      taken.push(Number(text));
      return true;
    },
    reply() {
      taken.push(1);
      return "1";
    },
    undo() {
      if (taken.length < seat + 1) return false;
      do taken.pop();
      while (turn() !== seat);
      return true;
    },
  };
};

const run = async (
  args: readonly string[],
  input: readonly string[] | NodeJS.ReadableStream,
  signal?: AbortSignal,
  champions?: ChampionsPort,
) => {
  let out = "";
  const requests: TableRequest[] = [];
  /** What the files held that the arena was given. */
  const read: string[] = [];
  const io: CliIo = {
    out: (text) => {
      out += text;
    },
    err: () => {},
    env: {},
    cwd: ".",
    stdin: Array.isArray(input)
      ? Readable.from([input.map((line) => `${line}\n`).join("")])
      : (input as NodeJS.ReadableStream),
    isTerminal: false,
    columns: 80,
    signal: signal ?? new AbortController().signal,
  };
  const program = new Command().exitOverride();
  const tables: Tables = {
    baselines: ["random", "mcts-1000"],
    defaultConfigKey: "nim5_2p",
    usualBaseline: (configKey) => (configKey === "go19_2p" ? undefined : "mcts-1000"),
    open: async (request) => {
      requests.push(request);
      if (request.modelPath !== undefined && existsSync(request.modelPath))
        read.push(readFileSync(request.modelPath, "utf8"));
      return nimTable(request.seat);
    },
  };
  registerPlay(program.command("play"), io, tables, champions);
  await program.parseAsync(["node", "ringrift", "play", ...args]);
  return {
    out,
    requests,
    read,
    events: () =>
      out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
  };
};

describe("ringrift play", () => {
  it("plays to the end, telling every move and who won", async () => {
    const { out, requests } = await run([], ["2", "2", "1"]);
    expect(out).toContain("You are X.");
    expect(out).toContain("O plays 1");
    expect(out.trimEnd().endsWith("You win.")).toBe(true);
    expect((await run([], ["2", "1"])).out.trimEnd().endsWith("O wins.")).toBe(true);
    expect(requests).toEqual([{ configKey: "nim5_2p", seat: 0, seed: 1, baseline: "mcts-1000" }]);
  });

  it("lets the opponent begin when the person sits second", async () => {
    const { out } = await run(["--seat", "2"], ["quit"]);
    expect(out).toContain("You are O.");
    expect(out.indexOf("X plays 1")).toBeLessThan(out.indexOf("oooo"));
  });

  it("helps: legal moves on request, and whenever a move is refused", async () => {
    const { out } = await run([], ["moves", "7", "?", "quit"]);
    expect(out).toContain("Legal: 1 2");
    expect(out).toContain('"7" is not a legal move. Legal: 1 2');
    expect(out).toContain("`undo` to take back");
    expect(out).toContain("Game left.");
  });

  it("takes moves back, and says when there is none", async () => {
    const { out } = await run([], ["undo", "2", "undo", "quit"]);
    expect(out).toContain("nothing to take back");
    expect(out.split("ooooo").length - 1).toBe(3);
  });

  it("speaks JSON, a line for each thing that happens", async () => {
    const { events } = await run(["--json"], ["x", "1", "1", "1"]);
    expect(events()).toEqual([
      { type: "position", board: "ooooo", to_move: 1, your_turn: true, legal_moves: ["1", "2"] },
      { type: "refused", text: "x", legal_moves: ["1", "2"] },
      { type: "position", board: "ooooo", to_move: 1, your_turn: true, legal_moves: ["1", "2"] },
      { type: "move", seat: 2, move: "1" },
      { type: "position", board: "ooo", to_move: 1, your_turn: true, legal_moves: ["1", "2"] },
      { type: "move", seat: 2, move: "1" },
      { type: "position", board: "o", to_move: 1, your_turn: true, legal_moves: ["1"] },
      { type: "position", board: "", to_move: 2, your_turn: false, legal_moves: [] },
      { type: "end", result: "won", winner: 1, moves: ["1", "1", "1", "1", "1"] },
    ]);
  });

  it("passes a model file and its budget on", async () => {
    const { requests } = await run(["nim9_2p", "--model", "a.model", "--simulations", "7", "--seed", "3"], ["quit"]);
    expect(requests).toEqual([{ configKey: "nim9_2p", seat: 0, seed: 3, modelPath: "a.model", simulations: 7 }]);
  });

  describe("with a loop in the data folder", () => {
    const champions: ChampionsPort = {
      champion: async (configKey) =>
        configKey === "nim5_2p"
          ? { model: "ab".repeat(32), generation: 5, bytes: new TextEncoder().encode("weights") }
          : undefined,
    };
    const play = (args: readonly string[], port?: ChampionsPort) => run(args, ["quit"], undefined, port);

    it("plays its champion, from a file that is gone afterwards", async () => {
      const { out, requests, read } = await play(["--simulations", "7"], champions);
      expect(out).toContain("You play against champion 5 (ababababab).");
      expect(read).toEqual(["weights"]);
      expect(requests).toMatchObject([{ configKey: "nim5_2p", simulations: 7 }]);
      expect(existsSync(requests[0]!.modelPath!)).toBe(false);
      const [first] = (await play(["--json"], champions)).events();
      expect(first).toEqual({ type: "opponent", name: "champion 5", model: "ab".repeat(32) });
    });

    it("plays the usual baseline where there is none, and whom it is told to", async () => {
      expect((await play(["nim9_2p"], champions)).requests).toMatchObject([{ baseline: "mcts-1000" }]);
      expect((await play([])).requests).toMatchObject([{ baseline: "mcts-1000" }]);
      expect((await play(["--against", "random"], champions)).requests).toMatchObject([{ baseline: "random" }]);
      expect((await play(["--model", "a.model"], champions)).requests).toMatchObject([{ modelPath: "a.model" }]);
      expect((await play(["--against", "champion"], champions)).read).toEqual(["weights"]);
    });

    it("says so where a champion is asked for and there is none", async () => {
      await expect(play(["nim9_2p", "--against", "champion"], champions)).rejects.toMatchObject({
        code: "CHAMPION_NOT_FOUND",
      });
      await expect(play(["--against", "champion"])).rejects.toMatchObject({ code: "CHAMPION_NOT_FOUND" });
      await expect(play(["go19_2p"], champions)).rejects.toMatchObject({ code: "OPPONENT_NOT_FOUND" });
    });
  });

  it("ends cleanly when the input ends, and when it is told to stop", async () => {
    expect((await run([], [])).out).toContain("Game left.");
    expect((await run([], new PassThrough(), AbortSignal.abort())).out).toContain("Game left.");
  });

  it("refuses numbers that are none", async () => {
    await expect(run(["--seat", "0"], [])).rejects.toMatchObject({ code: "INVALID_SEAT" });
    await expect(run(["--seed", "x"], [])).rejects.toMatchObject({ code: "INVALID_SEED" });
    await expect(run(["--simulations", "0"], [])).rejects.toMatchObject({ code: "INVALID_SIMULATIONS" });
  });
});

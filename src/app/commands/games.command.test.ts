import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { recordedTerminal, shellWithout } from "../../../test/support/terminal.ts";
import { OperatingError } from "../../kernel/index.ts";
import { type Games, registerGames } from "./games.command.ts";

/** A whole game of its own, small enough to know by heart: take one or two of five stones. */
const row = { config_key: "nim5_2p", title: "Nim with 5", players: 2, board: "5x1", moves: 2, is_default: true };
const ways = (stones: number, plies: number): number => {
  if (plies === 0) return 1;
  return (stones >= 1 ? ways(stones - 1, plies - 1) : 0) + (stones >= 2 ? ways(stones - 2, plies - 1) : 0);
};
const nim: Games = {
  list: () => [row, { ...row, config_key: "nim9_2p", title: "Nim with 9", is_default: false }],
  show(configKey) {
    if (configKey !== "nim5_2p")
      throw OperatingError.notFound("UNKNOWN_GAME", `There is no built-in game "${configKey}".`);
    return {
      ...row,
      rules: "Take one or two stones.",
      most_plies: 5,
      symmetries: ["identity"],
      example_moves: ["1", "2"],
      network_inputs: 1,
      network_weights: 6,
      drawing: "o o o o o",
    };
  },
  perft: (_configKey, depth) => ways(5, depth),
};

const run = async (args: readonly string[], signal = new AbortController().signal): Promise<string> => {
  const { io, said } = recordedTerminal({ columns: 80, signal });
  const program = new Command().exitOverride();
  program.option("--json");
  const shell = shellWithout(program, io);
  registerGames(program.command("games"), shell, nim);
  await program.parseAsync(["node", "ringrift", ...args]);
  return said.out;
};

describe("ringrift games", () => {
  it("lists the games in columns, the default marked", async () => {
    const lines = (await run(["games", "list"])).split("\n");
    expect(lines[0]).toMatch(/^CONFIG KEY +GAME +PLAYERS +BOARD +MOVES$/);
    expect(lines[1]).toMatch(/^nim5_2p \* +Nim with 5 +2 +5x1 +2$/);
    expect(lines[2]).toMatch(/^nim9_2p +Nim with 9/);
  });

  it("lists and shows them in JSON for programs", async () => {
    expect(JSON.parse(await run(["games", "list", "--json"]))).toEqual(nim.list());
    expect(JSON.parse(await run(["games", "show", "nim5_2p", "--json"]))).toEqual(nim.show("nim5_2p"));
  });

  it("shows one game with its rules and its board", async () => {
    const text = await run(["games", "show", "nim5_2p"]);
    expect(text).toContain("Take one or two stones.");
    expect(text).toContain("o o o o o");
    expect(text).toContain("2, such as 1 2");
  });

  it("passes on that a game is unknown", async () => {
    await expect(run(["games", "show", "chess"])).rejects.toMatchObject({ code: "UNKNOWN_GAME" });
  });

  it("counts ways to play, one depth a line", async () => {
    expect(await run(["games", "perft", "nim5_2p", "4"])).toBe("  1  2\n  2  4\n  3  7\n  4  5\n");
    expect(JSON.parse(await run(["games", "perft", "nim5_2p", "5", "--json"]))).toEqual({
      config_key: "nim5_2p",
      counts: [2, 4, 7, 5, 1],
      complete: true,
    });
  });

  it("refuses a depth that is no depth", async () => {
    for (const depth of ["0", "-1", "x", "1.5", "21"])
      await expect(run(["games", "perft", "nim5_2p", "--", depth])).rejects.toMatchObject({ code: "INVALID_DEPTH" });
  });

  it("stops between two depths when it is told to, and says that the answer is not complete", async () => {
    const answer = JSON.parse(await run(["games", "perft", "nim5_2p", "5", "--json"], AbortSignal.abort()));
    expect(answer).toEqual({ config_key: "nim5_2p", counts: [], complete: false });
  });
});

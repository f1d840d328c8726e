import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { messageOf, OperatingError, seededRandom } from "../../kernel/index.ts";
import {
  type BlockShape,
  capFor,
  checkPlan,
  drawBlocks,
  drawLadder,
  drawRatio,
  type EloEstimate,
  type EloModel,
  eloAfterStopping,
  estimateElo,
  type GateStudy,
  type Interval,
  type Ladder,
  type LadderOptions,
  LEDGER_LIMITS,
  type Match,
  nextRatingGames,
  plackettLuce,
  readLedger,
  type SimulatedMatch,
  type SprtPlan,
  type StoppedElo,
  shapeOfCounts,
  singleGames,
  sprt,
  studyGate,
  winBlocks,
} from "../../pipeline/evaluation/statistics/index.ts";
import type { CliIo } from "./io.ts";

/** `ringrift stats`: the statistics of the gate as a calculator that needs no cluster, no data folder and no setup. */

const MOST_RUNS = 100_000;
/** So many gates are simulated before the process may take note of a signal. */
const RUNS_AT_ONCE = 200;

// Numbers from the command line.

const numberOf = (text: string, option: string): number => {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value))
    throw new OperatingError("INVALID_NUMBER", `${option} takes a number, not "${text}".`);
  return value;
};

const wholeOf = (text: string, option: string): number => {
  if (!/^\d{1,15}$/.test(text))
    throw new OperatingError("INVALID_NUMBER", `${option} takes a whole number, not "${text}".`);
  return Number(text);
};

const listOf = (text: string, option: string, read: (item: string, option: string) => number): number[] =>
  text.split(",").map((item) => read(item.trim(), option));

interface CountOptions {
  readonly pairs?: string;
  readonly blocks?: string;
  readonly wdl?: string;
  readonly players: string;
}

/** The counts and their shape, from whichever of the three options gave them. */
function countsOf(options: CountOptions): { counts: number[]; shape: BlockShape } {
  const given = (["pairs", "blocks", "wdl"] as const).filter((name) => options[name] !== undefined);
  const [name] = given;
  if (name === undefined || given.length > 1)
    throw new OperatingError("USAGE_COUNTS", "Give the results once: --pairs, --blocks or --wdl.", {
      hint: "For example: --pairs 13,37,50,25,3",
    });
  const counts = listOf(options[name]!, `--${name}`, wholeOf);
  const players = wholeOf(options.players, "--players");
  if (name !== "wdl") return { counts, shape: shapeOfCounts(players, counts.length) };
  if (players !== 2) throw new OperatingError("USAGE_COUNTS", "--wdl is for two players; use --blocks for more.");
  return { counts: counts.toReversed(), shape: singleGames() };
}

interface PlanOptions {
  readonly bounds: string;
  readonly model: string;
  readonly alpha: string;
  readonly beta: string;
  readonly batch: string;
  readonly cap?: string;
}

const planOf = (options: PlanOptions): SprtPlan => ({
  model: options.model as EloModel,
  bounds: listOf(options.bounds, "--bounds", numberOf) as unknown as readonly [number, number],
  alpha: numberOf(options.alpha, "--alpha"),
  beta: numberOf(options.beta, "--beta"),
  batchBlocks: wholeOf(options.batch, "--batch"),
  ...(options.cap === undefined ? {} : { capBlocks: wholeOf(options.cap, "--cap") }),
});

const withCounts = (command: Command): Command =>
  command
    .option("--pairs <counts>", "pairs of two players: LL,LD,DD or WL,WD,WW")
    .option("--blocks <counts>", "blocks of --players: how many had 0,1,2 ... wins")
    .option("--wdl <counts>", "single games that were not paired: wins,draws,losses")
    .option("--players <n>", "players at the board, 2 to 4", "2");

const withPlan = (command: Command, batch: string): Command =>
  command
    .option("--bounds <h0,h1>", "the two Elo differences to tell apart", "0,50")
    .option("--model <scale>", "the scale of the bounds: normalized or logistic", "normalized")
    .option("--alpha <rate>", "the chance to promote at h0", "0.05")
    .option("--beta <rate>", "the chance to reject at h1", "0.05")
    .option("--batch <blocks>", "blocks between two looks", batch);

// Words and numbers for people.

const signed = (value: number, digits = 1): string => `${value < 0 ? "" : "+"}${value.toFixed(digits)}`;
const percent = (share: number, digits = 1): string => `${(100 * share).toFixed(digits)} %`;
const chanceOf = (share: number): string =>
  share > 0.999 ? "over 99.9 %" : share < 0.001 ? "under 0.1 %" : percent(share);
const rangeOf = ({ low, high }: Interval): string => `${signed(low)} to ${signed(high)}`;
const rows = (lines: readonly (readonly [string, string])[]): string =>
  lines.map(([name, text]) => `${name.padEnd(16)}${text}\n`).join("");
const talliesOf = (counts: readonly number[], shape: BlockShape): string =>
  counts.map((count, cell) => `${shape.labels[cell]} ${count}`).join("  ");
const unitOf = ({ players, gamesPerBlock }: BlockShape): string =>
  gamesPerBlock === 1 ? "games" : players === 2 ? "pairs" : "blocks";

/** Keys as the rest of the world writes them: snake_case, all the way down. */
const toWire = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(toWire);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), toWire(inner)]),
  );
};

const STOPPED_NOTES: Readonly<Record<StoppedElo["method"], string>> = {
  sequential: "median-unbiased",
  posterior: "one-sided results: from the posterior",
  fixed: "the test would have ended long before: as for a fixed number",
};

const eloRows = (estimate: EloEstimate): [string, string][] => [
  ["score", `${percent(estimate.score, 2)} over ${estimate.games} games`],
  [
    "Elo",
    `${signed(estimate.elo.estimate, 2)} +- ${estimate.halfWidth.toFixed(2)}   (${percent(estimate.confidence, 0)}: ${rangeOf(estimate.elo)})`,
  ],
  ["normalized Elo", `${signed(estimate.normalizedElo.estimate, 2)}   (${rangeOf(estimate.normalizedElo)})`],
  ["superiority", `${chanceOf(estimate.superiority)} to be the stronger one`],
];

function registerElo(stats: Command, io: CliIo): void {
  withCounts(stats.command("elo"))
    .description("Elo with its interval, from a fixed number of games")
    .option("--confidence <level>", "of the interval", "0.95")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  ringrift stats elo --pairs 13,37,50,25,3
  ringrift stats elo --players 4 --blocks 30,61,44,12,3
  ringrift stats elo --wdl 120,60,90 --json

If the games stopped because of their own results (a sequential test), this Elo flatters: see 'stats sprt'.
`,
    )
    .action((options: CountOptions & { confidence: string; json?: boolean }) => {
      const { counts, shape } = countsOf(options);
      const estimate = estimateElo(counts, shape, numberOf(options.confidence, "--confidence"));
      if (options.json) return io.out(`${JSON.stringify(toWire({ counts, ...estimate }))}\n`);
      const note: [string, string][] =
        estimate.method === "normal" ? [] : [["", "one-sided results: interval from the posterior"]];
      io.out(
        rows([[unitOf(shape), `${estimate.blocks}   ${talliesOf(counts, shape)}`], ...eloRows(estimate), ...note]),
      );
    });
}

function registerSprt(stats: Command, io: CliIo): void {
  withPlan(withCounts(stats.command("sprt")), "1")
    .description("the promotion gate: promote, reject, or go on?")
    .option("--cap <blocks>", "where an undecided test ends as inconclusive")
    .option("--redundancy <share>", "share of repeated positions; above 0.5 there is no verdict", "0")
    .option("--confidence <level>", "of the intervals", "0.95")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  ringrift stats sprt --pairs 13,37,50,25,3 --bounds 0,4 --model normalized
  ringrift stats sprt --pairs 2,10,24,20,8 --batch 8 --cap 400
  ringrift stats sprt --players 3 --blocks 30,50,28,12 --bounds 0,50 --model logistic --json

The exit code is 0 whatever the decision; a program reads "decision" from --json.
`,
    )
    .action((options: CountOptions & PlanOptions & { redundancy: string; confidence: string; json?: boolean }) => {
      const { counts, shape } = countsOf(options);
      const plan = planOf(options);
      const confidence = numberOf(options.confidence, "--confidence");
      const result = sprt(counts, shape, plan, numberOf(options.redundancy, "--redundancy"));
      const estimate = estimateElo(counts, shape, confidence);
      const stopped = eloAfterStopping(counts, shape, plan, confidence);
      if (options.json) {
        const { blocks: _blocks, games: _games, ...plain } = estimate;
        return io.out(`${JSON.stringify(toWire({ ...result, plan, counts, plain, afterStopping: stopped }))}\n`);
      }
      const width = Math.max(21, Math.min(61, io.columns - 30));
      io.out(
        rows([
          [unitOf(shape), `${result.blocks}   ${talliesOf(counts, shape)}`],
          ["test", `${plan.model} Elo [${plan.bounds.join(", ")}], alpha ${plan.alpha}, beta ${plan.beta}`],
          ["LLR", result.llr.toFixed(6)],
        ]),
      );
      io.out(
        `\n  reject ${result.lower.toFixed(2)} ${drawRatio(result, width)} ${result.upper.toFixed(2)} promote\n\n`,
      );
      io.out(rows([["decision", `${result.decision}: ${result.reason}`], ...eloRows(estimate)]));
      // The Elo of a test that goes on is nobody's result yet: it is corrected when the test has ended.
      if (result.decision === "continue") return;
      const note = STOPPED_NOTES[stopped.method];
      io.out(rows([["after stopping", `${signed(stopped.elo.estimate, 2)} Elo   (${rangeOf(stopped.elo)}; ${note})`]]));
    });
}

// The ladder and its file.

async function readMatches(path: string, io: CliIo): Promise<Match[]> {
  if (path === "-") return readLedger(io.stdin, "stdin");
  const full = resolve(io.cwd, path);
  const refuse = (code: string, why: string, cause?: unknown) =>
    new OperatingError(code, `Cannot read ${path}: ${why}.`, { cause });
  const info = await stat(full).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") throw refuse("FILE_NOT_FOUND", "there is no such file", cause);
    throw refuse("INVALID_FILE", messageOf(cause), cause);
  });
  if (info.isDirectory()) throw refuse("INVALID_FILE", "it is a folder");
  return readLedger(createReadStream(full, { signal: io.signal }), path);
}

const anchorOf = (text: string, anchors: Record<string, number> = {}): Record<string, number> => {
  const split = text.lastIndexOf("=");
  if (split < 1) throw new OperatingError("INVALID_ANCHOR", `--anchor takes player=elo, not "${text}".`);
  return { ...anchors, [text.slice(0, split)]: numberOf(text.slice(split + 1), "--anchor") };
};

function printLadder(ladder: Ladder, next: number, io: CliIo): void {
  for (const [group, { players, anchored }] of ladder.groups.entries()) {
    if (ladder.groups.length > 1)
      io.out(`group ${group + 1}: ${players.length} players without a game against the others\n`);
    const ratings = ladder.ratings.filter((rating) => rating.group === group);
    io.out(`${drawLadder(ratings, io.columns)}\n${anchored ? "" : "No anchor: the mean of these ratings is 0.\n"}\n`);
  }
  io.out(`${ladder.games} games.\n`);
  const games = nextRatingGames(ladder, next);
  if (games.length === 0) return;
  io.out("\nRating games that would tell most:\n");
  for (const { players, elo, standardError } of games)
    io.out(`  ${players.join(" - ")}   difference ${signed(elo, 0)}, standard error ${standardError.toFixed(0)}\n`);
}

function registerLadder(stats: Command, io: CliIo): void {
  stats
    .command("ladder")
    .description("ratings with errors from a file of matches (Bradley-Terry; Plackett-Luce for 3 and 4 players)")
    .argument("<matches.jsonl>", "one match a line; - reads standard input")
    .option("--zero <player>", "the player whose rating is 0")
    .option("--anchor <player=elo>", "a player whose rating is given; may be repeated", anchorOf)
    .option("--confidence <level>", "of the intervals", "0.95")
    .option("--next <n>", "how many useful rating games to name", "3")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Each line is one JSON object with 2 to 4 "players" and one of:
  {"players":["net-7","mcts-100"],"winner":"net-7"}             who won; null for a draw
  {"players":["a","b","c"],"ranks":[2,1,3],"games":4}           the place of each; equal places are ties
  {"players":["net-7","net-6"],"wins":[61,48],"draws":11}       a tally of many games
"games" (with winner or ranks) says how often it happened. Other fields are ignored, empty lines skipped.
At most ${LEDGER_LIMITS.bytes / 1024 / 1024} MiB in all and ${LEDGER_LIMITS.lineBytes / 1024} KiB a line.

Examples:
  ringrift stats ladder matches.jsonl --zero mcts-100
  ringrift stats ladder matches.jsonl --zero mcts-100 --anchor mcts-1000=212 --json
  grep othello6 matches.jsonl | ringrift stats ladder - --zero mcts-100
`,
    )
    .action(
      async (
        path: string,
        options: { zero?: string; anchor?: Record<string, number>; confidence: string; next: string; json?: boolean },
      ) => {
        const next = wholeOf(options.next, "--next");
        const settings: LadderOptions = {
          anchors: options.anchor ?? {},
          confidence: numberOf(options.confidence, "--confidence"),
          ...(options.zero === undefined ? {} : { zero: options.zero }),
        };
        const ladder = plackettLuce(await readMatches(path, io), settings);
        if (!options.json) return printLadder(ladder, next, io);
        const groups = ladder.groups.map(({ players, anchored }) => ({ players, anchored }));
        const answer = { games: ladder.games, confidence: settings.confidence, ratings: ladder.ratings, groups };
        io.out(`${JSON.stringify(toWire({ ...answer, nextGames: nextRatingGames(ladder, next) }))}\n`);
      },
    );
}

// What a gate would do.

interface SimulateOptions extends PlanOptions {
  readonly players: string;
  readonly elo: string;
  readonly draws: string;
  readonly seats: string;
  readonly runs: string;
  readonly seed: string;
  readonly json?: boolean;
}

/** Gates in small portions, so that Ctrl-C is heard between them; undefined when it was. */
async function simulate(
  match: SimulatedMatch,
  plan: SprtPlan & { capBlocks: number },
  runs: number,
  seed: number,
  signal: AbortSignal,
) {
  const random = seededRandom(seed);
  const sum = { runs: 0, promoted: 0, rejected: 0, inconclusive: 0, games: 0 };
  while (sum.runs < runs) {
    if (signal.aborted) return undefined;
    const part: GateStudy = studyGate(match, plan, Math.min(RUNS_AT_ONCE, runs - sum.runs), random);
    for (const key of ["runs", "promoted", "rejected", "inconclusive", "games"] as const) sum[key] += part[key];
    await new Promise((resume) => setImmediate(resume));
  }
  return {
    elo: match.elo,
    runs,
    promoteShare: sum.promoted / runs,
    rejectShare: sum.rejected / runs,
    inconclusiveShare: sum.inconclusive / runs,
    meanGames: sum.games / runs,
  };
}

function registerSimulate(stats: Command, io: CliIo): void {
  withPlan(stats.command("simulate"), "8")
    .description("what a gate would do: play it many times between players of known strength")
    .option("--players <n>", "players at the board, 2 to 4", "2")
    .option(
      "--cap <blocks>",
      "where an undecided test ends; by default 400 blocks at [0, 50] and more for finer bounds",
    )
    .option("--elo <list>", "true logistic Elo differences to try", "-50,-20,0,20,50,100")
    .option("--draws <share>", "share of drawn games", "0")
    .option("--seats <elo>", "how much an opening may favour a seat", "0")
    .option("--runs <n>", `gates for each difference, at most ${MOST_RUNS}`, "1000")
    .option("--seed <n>", "of the random numbers", "1")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  ringrift stats simulate --bounds 0,30 --elo 0,15,30
  ringrift stats simulate --players 4 --elo 0,50 --runs 10000
`,
    )
    .action(async (options: SimulateOptions) => {
      const players = wholeOf(options.players, "--players");
      const drawShare = numberOf(options.draws, "--draws");
      const runs = wholeOf(options.runs, "--runs");
      const seed = wholeOf(options.seed, "--seed");
      if (runs < 1 || runs > MOST_RUNS)
        throw new OperatingError("INVALID_NUMBER", `--runs takes 1 to ${MOST_RUNS}, not ${runs}.`);
      const asked = planOf(options);
      checkPlan(asked);
      const plan = { ...asked, capBlocks: asked.capBlocks ?? capFor(asked.bounds, asked.batchBlocks) };
      const blocks = players === 2 || drawShare > 0 ? drawBlocks(players) : winBlocks(players);
      const seatElo = numberOf(options.seats, "--seats");
      const differences = listOf(options.elo, "--elo", numberOf);
      const [cap, unit] = [plan.capBlocks, unitOf(blocks)];
      if (!options.json)
        io.out(
          `${players} players, ${plan.model} Elo [${plan.bounds.join(", ")}], at most ${cap} ${unit}, ${runs} gates each\n\n     ELO   PROMOTE    REJECT  INCONCLUSIVE   GAMES\n`,
        );
      const studies = [];
      for (const elo of differences) {
        const study = await simulate({ blocks, elo, drawShare, seatElo }, plan, runs, seed, io.signal);
        if (study === undefined) break;
        studies.push(study);
        if (options.json) continue;
        const shares = [percent(study.promoteShare), percent(study.rejectShare), percent(study.inconclusiveShare)];
        const [promote, reject, inconclusive] = shares as [string, string, string];
        const games = study.meanGames.toFixed(0);
        io.out(
          `${signed(elo, 0).padStart(8)}${promote.padStart(10)}${reject.padStart(10)}${inconclusive.padStart(14)}${games.padStart(8)}\n`,
        );
      }
      const complete = studies.length === differences.length;
      if (options.json)
        io.out(`${JSON.stringify(toWire({ players, drawShare, seatElo, seed, plan, complete, studies }))}\n`);
      else if (!complete) io.out("Stopped.\n");
    });
}

export function registerStats(program: Command, io: CliIo): void {
  const stats = program
    .command("stats")
    .description("a calculator: Elo, sequential tests, ladders, and what a gate would do");
  registerSprt(stats, io);
  registerElo(stats, io);
  registerLadder(stats, io);
  registerSimulate(stats, io);
}

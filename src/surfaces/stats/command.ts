/** `ringrift stats`: the statistics of the gate as a calculator that needs no cluster, no data folder and no setup. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { defined, type ErrorKind, messageOf, OperatingError, seededRandom } from "../../kernel/index.ts";
import {
  capFor,
  checkPlan,
  drawBlocks,
  eloAfterStopping,
  estimateElo,
  LEDGER_LIMITS,
  type Match,
  nextRatingGames,
  plackettLuce,
  readLedger,
  type SimulatedMatch,
  type SprtPlan,
  sprt,
  studyGate,
  winBlocks,
} from "../../pipeline/statistics/index.ts";
import type { CliIo } from "../cli/io.ts";
import { answer, type Shell } from "../cli/shell.ts";
import { decimal } from "../cli/values.ts";
import {
  type CountOptions,
  countsIn,
  listOf,
  numberFor,
  type PlanOptions,
  planIn,
  wholeFor,
  withConfidence,
  withCounts,
  withPlan,
  withPlayers,
} from "./options.ts";
import { eloLines, ladderText, percent, signed, sprtLines, toWire, unitOf } from "./view.ts";

const MAX_RUNS = 100_000;
/** So many gates are simulated before the process may take note of a signal. */
const RUNS_AT_ONCE = 200;

function registerElo(stats: Command, shell: Shell): void {
  withConfidence(withCounts(stats.command("elo")))
    .description("Elo with its interval, from a fixed number of games")
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
    .action((options: CountOptions & { confidence: number }) => {
      const { counts, shape } = countsIn(options);
      const estimate = estimateElo(counts, shape, options.confidence);
      answer(shell, toWire({ counts, ...estimate }), () => eloLines(counts, shape, estimate));
    });
}

function registerSprt(stats: Command, shell: Shell): void {
  withConfidence(withPlan(withCounts(stats.command("sprt")), 1, "where an undecided test ends as inconclusive"))
    .description("the promotion gate: promote, reject or continue?")
    .option(
      "--redundancy <share>",
      "share of repeated positions; above 0.5 there is no verdict",
      numberFor("--redundancy"),
      0,
    )
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
    .action((options: CountOptions & PlanOptions & { redundancy: number; confidence: number }) => {
      const { counts, shape } = countsIn(options);
      const plan = planIn(options);
      const result = sprt(counts, shape, plan, options.redundancy);
      const estimate = estimateElo(counts, shape, options.confidence);
      const afterStopping = eloAfterStopping(counts, shape, plan, options.confidence);
      const { blocks: _blocks, games: _games, ...plain } = estimate;
      answer(shell, toWire({ ...result, plan, counts, plain, afterStopping }), () =>
        sprtLines(counts, shape, plan, result, estimate, afterStopping, shell.io.columns),
      );
    });
}

async function readMatches(path: string, io: CliIo): Promise<Match[]> {
  if (path === "-") return readLedger(io.stdin, "stdin");
  const full = resolve(io.cwd, path);
  const refuse = (kind: ErrorKind, code: string, why: string, cause?: unknown) =>
    new OperatingError(kind, code, `Cannot read ${path}: ${why}.`, { cause });
  const info = await stat(full).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") throw refuse("not_found", "FILE_NOT_FOUND", "there is no such file", cause);
    throw refuse("invalid", "INVALID_FILE", messageOf(cause), cause);
  });
  if (info.isDirectory()) throw refuse("invalid", "INVALID_FILE", "it is a folder");
  return readLedger(createReadStream(full, { signal: io.signal }), path);
}

const anchorIn = (text: string, anchors: Record<string, number> = {}): Record<string, number> => {
  const split = text.lastIndexOf("=");
  if (split < 1) throw OperatingError.invalid("INVALID_ANCHOR", `--anchor takes player=elo, not "${text}".`);
  return { ...anchors, [text.slice(0, split)]: numberFor("--anchor")(text.slice(split + 1)) };
};

interface LadderCommandOptions {
  readonly zero?: string;
  readonly anchor?: Record<string, number>;
  readonly confidence: number;
  readonly next: number;
}

function registerLadder(stats: Command, shell: Shell): void {
  withConfidence(stats.command("ladder"))
    .description("ratings with errors from a file of matches (Bradley-Terry; Plackett-Luce for 3 and 4 players)")
    .argument("<matches.jsonl>", "one match per line; - means standard input")
    .option("--zero <player>", "the player whose rating is 0")
    .option("--anchor <player=elo>", "a player whose rating is given; may be repeated", anchorIn)
    .option("--next <n>", "how many useful rating games to name", wholeFor("--next"), 3)
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
    .action(async (path: string, { zero, anchor: anchors, confidence, next }: LadderCommandOptions) => {
      const matches = await readMatches(path, shell.io);
      const ladder = plackettLuce(matches, { confidence, ...defined({ zero, anchors }) });
      const nextGames = nextRatingGames(ladder, next);
      const { games, ratings } = ladder;
      const groups = ladder.groups.map(({ players, anchored }) => ({ players, anchored }));
      answer(shell, toWire({ games, confidence, ratings, groups, nextGames }), () =>
        ladderText(ladder, nextGames, shell.io),
      );
    });
}

interface SimulateOptions extends PlanOptions {
  readonly players: number;
  readonly elo: string;
  readonly draws: number;
  readonly seats: number;
  readonly runs: number;
  readonly seed: number;
}

/** Gates in small portions, so that Ctrl-C is heard between them; undefined when it was. */
async function simulate(
  match: SimulatedMatch,
  plan: SprtPlan & { capBlocks: number },
  { runs, seed }: SimulateOptions,
  signal: AbortSignal,
) {
  const random = seededRandom(seed);
  const sum = { runs: 0, promoted: 0, rejected: 0, inconclusive: 0, games: 0 };
  while (sum.runs < runs) {
    if (signal.aborted) return undefined;
    const part = studyGate(match, plan, Math.min(RUNS_AT_ONCE, runs - sum.runs), random);
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

/** Told as it is found: a study takes a while. */
async function studyAll(options: SimulateOptions, shell: Shell): Promise<void> {
  const { players, draws: drawShare, seats: seatElo, runs, seed } = options;
  if (runs < 1 || runs > MAX_RUNS)
    throw OperatingError.invalid("INVALID_NUMBER", `--runs takes 1 to ${MAX_RUNS}, not ${runs}.`);
  const asked = planIn(options);
  checkPlan(asked);
  const plan = { ...asked, capBlocks: asked.capBlocks ?? capFor(asked.bounds, asked.batchBlocks) };
  const blocks = players === 2 || drawShare > 0 ? drawBlocks(players) : winBlocks(players);
  const differences = listOf(options.elo, numberFor("--elo"));
  const print = (...lines: string[]) => {
    if (!shell.json) shell.say(...lines);
  };
  const bounds = `${plan.model} Elo [${plan.bounds.join(", ")}]`;
  print(
    `${players} players, ${bounds}, at most ${plan.capBlocks} ${unitOf(blocks)}, ${runs} gates each`,
    "",
    "     ELO   PROMOTE    REJECT  INCONCLUSIVE   GAMES",
  );
  const studies = [];
  for (const elo of differences) {
    const study = await simulate({ blocks, elo, drawShare, seatElo }, plan, options, shell.io.signal);
    if (study === undefined) break;
    studies.push(study);
    const { promoteShare, rejectShare, inconclusiveShare, meanGames } = study;
    const shares = `${percent(promoteShare).padStart(10)}${percent(rejectShare).padStart(10)}${percent(inconclusiveShare).padStart(14)}`;
    print(`${signed(elo, 0).padStart(8)}${shares}${meanGames.toFixed(0).padStart(8)}`);
  }
  const complete = studies.length === differences.length;
  answer(shell, toWire({ players, drawShare, seatElo, seed, plan, complete, studies }), () =>
    complete ? [] : "Stopped.",
  );
}

function registerSimulate(stats: Command, shell: Shell): void {
  const cap = "where an undecided test ends; by default 400 blocks at [0, 50] and more for finer bounds";
  withPlayers(withPlan(stats.command("simulate"), 8, cap))
    .description("simulate a gate many times between players of known strength")
    .option("--elo <list>", "true logistic Elo differences to try", "-50,-20,0,20,50,100")
    .option("--draws <share>", "share of drawn games", numberFor("--draws"), 0)
    .option("--seats <elo>", "how much an opening may favour a seat", decimal("--seats", 0, 10_000), 0)
    .option("--runs <n>", `gates for each difference, at most ${MAX_RUNS}`, wholeFor("--runs"), 1_000)
    .option("--seed <n>", "of the random numbers", wholeFor("--seed"), 1)
    .addHelpText(
      "after",
      `
Examples:
  ringrift stats simulate --bounds 0,30 --elo 0,15,30
  ringrift stats simulate --players 4 --elo 0,50 --runs 10000
`,
    )
    .action((options: SimulateOptions) => studyAll(options, shell));
}

export function registerStats(stats: Command, shell: Shell): void {
  for (const register of [registerSprt, registerElo, registerLadder, registerSimulate]) register(stats, shell);
}

import { z } from "zod";
import { OperatingError } from "../../kernel/index.ts";
import type { JobView } from "../../work/index.ts";
import type { LedgerBlock } from "./ledger.ts";

/** Reads a whole file of the store by its hash. Small ones only: results of matches. */
export type ReadArtifact = (file: { readonly sha256: string; readonly bytes: number }) => Promise<Uint8Array>;

/** What a job of a match was asked for. */
export interface ExpectedMatch {
  readonly candidate: string;
  readonly opponent: string;
  readonly blocks: number;
  readonly players: number;
}

export interface MatchResults {
  readonly blocks: readonly LedgerBlock[];
  readonly games: number;
  /** Share of positions that had been seen before in the job. */
  readonly redundancy: number;
}

/** What a worker puts the results of an evaluation into, among the files of the job. */
export const PAIRS_FILE = "pairs.jsonl";

const line = z.looseObject({
  candidate: z.string(),
  opponent: z.string(),
  blocks: z.array(z.looseObject({ opening: z.union([z.string().max(128), z.int()]), scores: z.array(z.number()) })),
});

const broken = (code: string, message: string, hint: string) =>
  OperatingError.invalid(code, message, { retryable: true, hint });

/** Whether a failure to read results stays one: they are wrong, whoever reads them, or they are gone. */
export const isLasting = ({ kind, retryable }: OperatingError): boolean => kind === "invalid" || !retryable;

/** A number that a job reported, whether it was whole or not. */
const metricOf = (job: JobView, name: string): number | undefined => {
  const value = job.evidence?.counts[name] ?? job.evidence?.summary?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
};

/** A score as it is counted: a loss, a share of a draw, or a win. Undefined for what no game can end with. */
function legalScore(score: number, players: number): number | undefined {
  for (const legal of [0, 1 / players, 1]) if (Math.abs(score - legal) < 1e-6) return legal;
  return undefined;
}

/** The blocks of a job from its lines, each checked: right players, every seat, scores that games can end with. */
export function parseResults(text: string, expected: ExpectedMatch): LedgerBlock[] {
  const { candidate, opponent, players } = expected;
  const blocks: LedgerBlock[] = [];
  for (const [at, raw] of text.split("\n").entries()) {
    if (raw.trim() === "") continue;
    let parsed: z.infer<typeof line>;
    try {
      parsed = line.parse(JSON.parse(raw));
    } catch (cause) {
      throw OperatingError.invalid("MATCH_RESULTS_BROKEN", `line ${at + 1} of the results is not a result`, {
        cause,
        retryable: true,
        hint: 'A line looks like {"candidate":"a","opponent":"b","blocks":[{"opening":7,"scores":[1,0]}]}.',
      });
    }
    if (parsed.candidate !== candidate || parsed.opponent !== opponent)
      throw broken(
        "MATCH_PLAYERS_WRONG",
        `the results are of ${parsed.candidate} against ${parsed.opponent}, not of ${candidate} against ${opponent}`,
        "The workload must name the players as its parameters do.",
      );
    for (const { opening, scores } of parsed.blocks) {
      const legal = scores.map((score) => legalScore(score, players));
      if (legal.length !== players || legal.includes(undefined))
        throw broken(
          "MATCH_SCORES_ILLEGAL",
          `a block of ${players} players cannot have the scores [${scores.join(", ")}]`,
          `A block has ${players} scores, one for each seat of the candidate: 0, 1/${players} or 1.`,
        );
      blocks.push({ block: blocks.length, opening: String(opening), scores: legal as number[] });
    }
  }
  return blocks;
}

/** The file of a job that says how its games ended. */
export const resultsFileOf = (job: JobView) =>
  job.evidence?.outputs.find(({ name }) => name === PAIRS_FILE || name.endsWith(`/${PAIRS_FILE}`));

/** What a completed job proves. Nothing played, or fewer blocks than asked for, is a failure with its name. */
export async function matchResults(read: ReadArtifact, job: JobView, expected: ExpectedMatch): Promise<MatchResults> {
  const games = metricOf(job, "games") ?? 0;
  if (games < 1)
    throw broken("MATCH_WITHOUT_GAMES", `job ${job.work_id} is complete without a game`, "Nothing was measured.");
  const file = resultsFileOf(job);
  if (file === undefined)
    throw broken(
      "MATCH_RESULTS_MISSING",
      `job ${job.work_id} says ${games} games and brought no ${PAIRS_FILE}`,
      "A workload tells the results of its blocks by `pairs`.",
    );
  const bytes = await read(file);
  const blocks = parseResults(new TextDecoder().decode(bytes), expected);
  if (blocks.length !== expected.blocks)
    throw broken(
      "MATCH_BLOCKS_MISSING",
      `job ${job.work_id} brought ${blocks.length} blocks, ${expected.blocks} were asked for`,
      "A block counts only when it is played from every seat.",
    );
  const redundancy = metricOf(job, "redundancy") ?? 0;
  if (redundancy < 0 || redundancy > 1)
    throw broken("MATCH_RESULTS_BROKEN", `a redundancy of ${redundancy} is no share`, "It lies within 0 and 1.");
  return { blocks, games: blocks.length * expected.players, redundancy };
}

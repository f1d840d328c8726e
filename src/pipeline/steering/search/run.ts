/**
 * A search for better parameters, as it goes from generation to generation: which games are wanted next, and what they come to. It
 * knows no queue. All candidates of a generation play the same openings against the parameters of now, so that luck falls on all
 * alike. What is found is the middle of the last generation, not its best member, and is tried once more with openings of its own: the
 * best of many is mostly the luckiest.
 */
import { isOperatingError, OperatingError, sumOf } from "../../../kernel/index.ts";
import type { ConfigPlan, Jobs, SearchOrder, StageFailure, TunedValues, Wait } from "../../stage/index.ts";
import { drawBlocks, estimateElo, MAX_REDUNDANCY } from "../../statistics/index.ts";
import { askCma, type CmaState, startCma, tellCma } from "./cma-es.ts";
import { checkValues, type Space, unitsOf, valuesAt } from "./space.ts";

export type SearchRun = {
  readonly run_id: string;
  readonly state: "searching" | "proving" | "ended" | "failed";
  readonly cma: CmaState;
  readonly jobs: Jobs;
  /** Mean scores of the parts that are in, of what is under way. */
  readonly scores: { readonly [part: string]: number };
  /** Blocks of the proof by score cell. */
  readonly counts: readonly number[];
  /** Games of the proof times the share of them that was repeated. */
  readonly repeated: number;
  /** Candidates that were tried, and games that were played in all. */
  readonly evaluations: number;
  readonly games: number;
  /** What was found; null while it is searched for. */
  readonly found: TunedValues | null;
  readonly proof: Proof | null;
  readonly failure: StageFailure | null;
  readonly waits: readonly Wait[];
  readonly since: number;
  readonly ended_at: number | null;
};

/** What the last games say of what was found, against the parameters before it: Elo with its 95 % interval. */
export type Proof = {
  readonly score: number;
  readonly elo: number;
  readonly low: number;
  readonly high: number;
  readonly games: number;
  readonly redundancy: number;
};

/** One job's worth of games: these values against those of now. */
export interface SearchPart {
  readonly name: string;
  readonly values: TunedValues;
  readonly firstBlock: number;
  readonly blocks: number;
  /** What its openings follow from, beside the seed of the plan. */
  readonly purpose: readonly (string | number)[];
}

type Tuning = ConfigPlan["tuning"];

/** A fifth of each scale to begin with. */
const FIRST_STEP = 0.2;
/** Blocks of one job of the proof. */
const PROOF_JOB_BLOCKS = 100;

export function beginSearch(order: SearchOrder, tuning: Tuning, seed: number, players: number, now: number): SearchRun {
  const { parameters } = tuning;
  checkValues(parameters, order.incumbent);
  const mean = unitsOf(parameters, order.incumbent);
  return {
    run_id: order.run_id,
    state: "searching",
    cma: startCma({ seed, mean, sigma: FIRST_STEP, bounds: mean.map(() => [0, 1] as const) }),
    jobs: {},
    scores: {},
    counts: drawBlocks(players).scores.map(() => 0),
    ...{ repeated: 0, evaluations: 0, games: 0, found: null, proof: null, failure: null, waits: [] },
    since: now,
    ended_at: null,
  };
}

/** All games of what is under way: a generation, or the proof. */
export function partsOf(run: SearchRun, order: SearchOrder, tuning: Tuning): SearchPart[] {
  if (run.state === "searching") {
    const { generation } = run.cma;
    const purpose = ["search", order.number, "generation", generation];
    return askCma(run.cma).map((units, i) => ({
      name: `g${generation}c${i}`,
      values: valuesAt(tuning.parameters, units),
      ...{ firstBlock: 0, blocks: tuning.blocks, purpose },
    }));
  }
  if (run.state !== "proving" || run.found === null) return [];
  const values = run.found;
  return proofParts(tuning.proof_blocks).map((part) => ({
    ...part,
    values,
    purpose: ["search", order.number, "proof"],
  }));
}

/** The jobs of a proof. */
export const proofParts = (blocks: number) =>
  Array.from({ length: Math.ceil(blocks / PROOF_JOB_BLOCKS) }, (_, i) => ({
    name: `v${i}`,
    firstBlock: i * PROOF_JOB_BLOCKS,
    blocks: Math.min(PROOF_JOB_BLOCKS, blocks - i * PROOF_JOB_BLOCKS),
  }));

/** What one job brought: the candidate's scores of each block, by seat. */
export interface PartResult {
  readonly blocks: readonly { readonly scores: readonly number[] }[];
  readonly games: number;
  readonly redundancy: number;
}

/** The run with the games of a part counted. */
export function countPart(run: SearchRun, part: string, result: PartResult, players: number): SearchRun {
  const { [part]: _job, ...jobs } = run.jobs;
  return { ...run, jobs, ...countGames(run, part, result, players) };
}

type Counted = Pick<SearchRun, "run_id" | "counts" | "scores" | "games" | "repeated"> & { readonly state: string };

/** Scores, cells and games with those of one more part. The cells are those of the proof alone. */
export function countGames(run: Counted, part: string, result: PartResult, players: number) {
  const total = sumOf(result.blocks, ({ scores }) => sumOf(scores));
  const score = total / (result.blocks.length * players);
  if (!Number.isFinite(score))
    throw OperatingError.invalid("SEARCH_SCORE_NOT_FINITE", `part ${part} of ${run.run_id} has no score`);
  const counts = [...run.counts];
  if (run.state === "proving")
    for (const { scores } of result.blocks) {
      const cell = Math.round(sumOf(scores) * players);
      counts[cell] = (counts[cell] ?? 0) + 1;
    }
  return {
    counts,
    scores: { ...run.scores, [part]: score },
    games: run.games + result.games,
    repeated: run.state === "proving" ? run.repeated + result.games * result.redundancy : 0,
  };
}

/** The next generation, the proof, or the end: once all parts of what was under way are in. */
export function advance(run: SearchRun, parts: readonly SearchPart[], tuning: Tuning, players: number, now: number) {
  if (parts.some(({ name }) => run.scores[name] === undefined)) return run;
  if (run.state === "proving") return prove(run, players, now);
  // It looks for the lowest.
  const cma = tellCma(
    run.cma,
    parts.map(({ name }) => -run.scores[name]!),
  );
  const told = { ...run, cma, scores: {}, jobs: {}, evaluations: run.evaluations + parts.length };
  if (cma.generation < tuning.generations) return told;
  return { ...told, state: "proving" as const, found: valuesAt(tuning.parameters, cma.mean) };
}

/** What the games of a proof say. */
export function proofOf({ counts, repeated }: Pick<SearchRun, "counts" | "repeated">, players: number): Proof {
  const { elo, score, games } = estimateElo(counts, drawBlocks(players));
  return { score, elo: elo.estimate, low: elo.low, high: elo.high, games, redundancy: repeated / games };
}

const prove = (run: SearchRun, players: number, now: number): SearchRun => ({
  ...run,
  ...{ state: "ended", scores: {}, jobs: {}, waits: [], ended_at: now },
  proof: proofOf(run, players),
});

export const failSearch = (run: SearchRun, failure: StageFailure, now: number): SearchRun => ({
  ...run,
  state: "failed",
  waits: [],
  failure,
  ended_at: now,
});

/** A failure to go on as it is kept; what is no failure of operation is thrown on. */
export function failureOf(thrown: unknown): StageFailure {
  if (!isOperatingError(thrown)) throw thrown;
  const { code, message, retryable } = thrown;
  return { code, message, retryable };
}

export type SearchVerdict =
  | { readonly outcome: "applied"; readonly values: TunedValues; readonly proof: Proof; readonly why: string }
  | { readonly outcome: "kept" | "failed"; readonly why: string };

const round = (value: number): string => String(Math.round(value));

/** What becomes of what a search has found. Without proof nothing changes. */
export function judgeSearch(
  run: Pick<SearchRun, "state" | "failure" | "found" | "proof">,
  space: Space,
): SearchVerdict {
  if (run.state === "failed") return { outcome: "failed", why: run.failure?.message ?? "it failed" };
  const { found, proof } = run;
  if (found === null || proof === null) return { outcome: "failed", why: "it ended without a proof" };
  try {
    checkValues(space, found);
  } catch (thrown) {
    return { outcome: "failed", why: failureOf(thrown).message };
  }
  const { outcome, why } = judgeProof(proof);
  return outcome === "applied" ? { outcome, values: found, proof, why } : { outcome, why };
}

/** Whether a proof is one: the lower end of the interval is above zero, and the games did not repeat each other. */
export function judgeProof({ elo, low, high, games, redundancy }: Proof): {
  readonly outcome: "applied" | "kept" | "failed";
  readonly why: string;
} {
  const words = `${round(elo)} Elo (${round(low)} to ${round(high)}) over ${games} games`;
  if (![elo, low, high].every(Number.isFinite)) return { outcome: "failed", why: "the proof is not a number" };
  if (redundancy > MAX_REDUNDANCY)
    return { outcome: "kept", why: `${words}, but ${round(100 * redundancy)} % of the positions are repeats` };
  if (!(low > 0)) return { outcome: "kept", why: `${words}: not proven better` };
  return { outcome: "applied", why: words };
}

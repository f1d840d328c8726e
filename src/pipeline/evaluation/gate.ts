/**
 * The promotion gate as pure decisions: how far apart the two hypotheses lie, how the blocks are cut into jobs, and what a
 * look at whole batches comes to.
 */
import { sumOf } from "../../kernel/index.ts";
import type { ConfigPlan } from "../stage/index.ts";
import {
  type BlockShape,
  drawBlocks,
  eloAfterStopping,
  MAX_REDUNDANCY,
  type SprtPlan,
  type SprtResult,
  sprt,
} from "../statistics/index.ts";
import type { LedgerBlock } from "./ledger.ts";
import type { GateVerdict } from "./verdicts.ts";

/** How many gains are remembered, and how many gates in a row without a promotion count as one least gain. */
const REMEMBERED = 3;
const BARREN = 3;

export type GatePlan = SprtPlan & { readonly capBlocks: number };

/**
 * The test of the next candidate. It asks for what candidates lately brought: the mean normalized Elo of the last three
 * promotions, within the plan's `least_elo1` and `elo1`. Gates that do not pass say that what is left is smaller than what is
 * asked for: three of them in a row count as a gain of `least_elo1`. A finer difference needs more blocks by the square, so
 * the plan's `most_blocks` is the cap of the widest test and grows as the bounds draw together.
 *
 * `weight` is how much a verdict counts where gains jump about (`stabilityOf`): at half the weight a promotion may be wrong half as
 * often. It is known before the first block is played, so the test keeps its error rates; it pays with more blocks.
 */
export function gateFor(
  gate: ConfigPlan["gate"],
  /** Newest first. */
  verdicts: readonly Pick<GateVerdict, "verdict" | "normalized_elo">[],
  weight = 1,
): GatePlan {
  const { elo0, elo1, least_elo1, alpha, beta, batch_blocks } = gate;
  const narrowest = Math.min(least_elo1, elo1);
  const gains: number[] = [];
  let barren = 0;
  for (const { verdict, normalized_elo } of verdicts) {
    if (gains.length >= REMEMBERED) break;
    barren = verdict === "promote" ? 0 : barren + 1;
    if (verdict === "promote") gains.push(normalized_elo);
    else if (barren % BARREN === 0) gains.push(narrowest);
  }
  const mean = gains.length === 0 ? elo1 : sumOf(gains) / gains.length;
  const upper = Math.max(elo0 + 1, Math.round(Math.min(elo1, Math.max(narrowest, mean))));
  const weighed = alpha * weight;
  // As far as the bound for a promotion moves away, so many blocks more it may take to reach it.
  const further = weight === 1 ? 1 : Math.log((1 - beta) / weighed) / Math.log((1 - beta) / alpha);
  const scale = Math.max(1, ((elo1 - elo0) / (upper - elo0)) ** 2) * further;
  const capBlocks = Math.max(1, Math.ceil((gate.most_blocks * scale) / batch_blocks)) * batch_blocks;
  return { model: "normalized", bounds: [elo0, upper], alpha: weighed, beta, batchBlocks: batch_blocks, capBlocks };
}

/** A part of a batch: which blocks of the match one job plays. */
export interface MatchPart {
  readonly name: string;
  readonly firstBlock: number;
  readonly blocks: number;
}

/** A batch cut into jobs, always alike: the same blocks have the same names whoever plays them. */
export function partsOfBatch(batch: number, batchBlocks: number, parts: number): MatchPart[] {
  const count = Math.max(1, Math.min(parts, batchBlocks));
  return Array.from({ length: count }, (_, part) => {
    const from = Math.floor((part * batchBlocks) / count);
    const to = Math.floor(((part + 1) * batchBlocks) / count);
    return { name: `b${batch}p${part}`, firstBlock: batch * batchBlocks + from, blocks: to - from };
  });
}

/** The number of the batch that a part belongs to. */
export const batchOf = (part: string): number => Number(/^b(\d+)p\d+$/.exec(part)?.[1] ?? Number.NaN);

/** Counts of blocks by score cell with more blocks added. */
export function addBlocks(counts: readonly number[], blocks: readonly LedgerBlock[], players: number): number[] {
  const sums = [...counts];
  for (const { scores } of blocks) {
    const cell = Math.round(sumOf(scores) * players);
    sums[cell] = (sums[cell] ?? 0) + 1;
  }
  return sums;
}

export const emptyCounts = (players: number): number[] => drawBlocks(players).scores.map(() => 0);

/**
 * How much a match repeats itself: the share of repeated positions within the jobs, weighted by their games, or the share of
 * repeated openings over all of it, whichever is worse. Positions that two jobs have in common are not seen.
 */
export function redundancyOfMatch(
  jobs: readonly { readonly games: number; readonly redundancy: number }[],
  openings: readonly string[],
): number {
  const games = sumOf(jobs, (job) => job.games);
  const positions = games === 0 ? 0 : sumOf(jobs, (job) => job.games * job.redundancy) / games;
  const repeated = openings.length === 0 ? 0 : 1 - new Set(openings).size / openings.length;
  return Math.min(1, Math.max(positions, repeated));
}

export type GateLook =
  | { readonly kind: "verdict"; readonly result: SprtResult }
  | { readonly kind: "continue"; readonly result: SprtResult }
  /** The games repeat each other so much that they prove nothing. */
  | { readonly kind: "redundant"; readonly result: SprtResult };

/** A look after a whole batch. */
export function lookAtGate(counts: readonly number[], players: number, plan: GatePlan, redundancy: number): GateLook {
  const result = sprt(counts, drawBlocks(players), plan, redundancy);
  if (redundancy > MAX_REDUNDANCY) return { kind: "redundant", result };
  return { kind: result.decision === "continue" ? "continue" : "verdict", result };
}

/** Whether the match would be decided if the rest of its batch went like the part that is in. */
export function looksDecided(
  counts: readonly number[],
  part: readonly LedgerBlock[],
  players: number,
  plan: GatePlan,
): boolean {
  const seen = addBlocks(emptyCounts(players), part, players);
  const scale = plan.batchBlocks / Math.max(1, part.length);
  const rest = seen.map((count) => Math.round(count * scale));
  // Whole blocks, and as many as the batch has: what rounding took or gave goes where most are.
  const largest = rest.indexOf(Math.max(...rest));
  rest[largest]! += plan.batchBlocks - sumOf(rest);
  const guessed = rest.map((count, cell) => count + (counts[cell] ?? 0));
  return lookAtGate(guessed, players, plan, 0).kind === "verdict";
}

export interface MeasuredElo {
  readonly elo: number;
  readonly elo_low: number;
  readonly elo_high: number;
  readonly normalized_elo: number;
  readonly method: string;
}

/** The Elo difference after stopping, with its interval. */
export function eloOfGate(counts: readonly number[], players: number, plan: GatePlan): MeasuredElo {
  const shape: BlockShape = drawBlocks(players);
  const { elo, normalizedElo, method } = eloAfterStopping(counts, shape, plan);
  return {
    elo: elo.estimate,
    elo_low: elo.low,
    elo_high: elo.high,
    normalized_elo: normalizedElo.estimate,
    method,
  };
}

import type { Random } from "../../kernel/index.ts";
import { type BlockShape, cellOf, type GameResult } from "./block.ts";
import { checkWithin } from "./checks.ts";
import { type SprtDecision, sprt } from "./sprt.ts";
import { checkPlan, type SprtPlan } from "./sprt-plan.ts";

/** Players of known strength, to see what the statistics make of them. */
export interface SimulatedMatch {
  readonly blocks: BlockShape;
  /** How much stronger the candidate is than each of its equal opponents. */
  readonly elo: number;
  /** The share of games that end drawn, whoever plays. */
  readonly drawShare: number;
  /** How much the first seat may gain over the last: drawn for each opening, evenly from minus to plus this. */
  readonly seatElo: number;
}

/** Plays one block: one opening, the candidate once in each seat. Returns its cell. */
function simulateBlock({ blocks, elo, drawShare, seatElo }: SimulatedMatch, random: Random): number {
  const { players, gamesPerBlock } = blocks;
  const tilt = seatElo * (2 * random.next() - 1);
  const results: GameResult[] = [];
  for (let seat = 0; seat < gamesPerBlock; seat += 1) {
    if (random.next() < drawShare) {
      results.push("draw");
      continue;
    }
    let own = 0;
    let all = 0;
    for (let other = 0; other < players; other += 1) {
      const bonus = tilt * (0.5 - other / (players - 1));
      const strength = 10 ** ((bonus + (other === seat ? elo : 0)) / 400);
      all += strength;
      if (other === seat) own = strength;
    }
    results.push(random.next() * all < own ? "win" : "loss");
  }
  return cellOf(blocks, results);
}

export function simulateBlocks(match: SimulatedMatch, count: number, random: Random): number[] {
  const counts = match.blocks.scores.map(() => 0);
  for (let block = 0; block < count; block += 1) {
    const cell = simulateBlock(match, random);
    counts[cell] = counts[cell]! + 1;
  }
  return counts;
}

export interface SimulatedGate {
  readonly decision: SprtDecision;
  readonly counts: readonly number[];
  readonly blocks: number;
}

/** Runs one gate to its end. The plan needs a cap, or the simulation might not end. */
export function simulateGate(
  match: SimulatedMatch,
  plan: SprtPlan & { readonly capBlocks: number },
  random: Random,
): SimulatedGate {
  const counts = match.blocks.scores.map(() => 0);
  for (;;) {
    for (const [cell, count] of simulateBlocks(match, plan.batchBlocks, random).entries())
      counts[cell] = counts[cell]! + count;
    const { decision, blocks } = sprt(counts, match.blocks, plan);
    if (decision !== "continue") return { decision, counts, blocks };
  }
}

export interface GateStudy {
  readonly runs: number;
  readonly promoted: number;
  readonly rejected: number;
  readonly inconclusive: number;
  readonly games: number;
}

const MAX_ELO = 2000;

/** Runs many gates and counts how they ended and how many games they took. */
export function studyGate(
  match: SimulatedMatch,
  plan: SprtPlan & { readonly capBlocks: number },
  runs: number,
  random: Random,
): GateStudy {
  checkPlan(plan);
  checkWithin(match.elo, -MAX_ELO, MAX_ELO, "SIMULATION", "The Elo difference");
  checkWithin(match.seatElo, 0, MAX_ELO, "SIMULATION", "The gain of a seat");
  checkWithin(match.drawShare, 0, 1, "SIMULATION", "The share of draws");
  const ends = { promote: 0, reject: 0, inconclusive: 0, continue: 0 };
  let blocks = 0;
  for (let run = 0; run < runs; run += 1) {
    const gate = simulateGate(match, plan, random);
    ends[gate.decision] += 1;
    blocks += gate.blocks;
  }
  return {
    runs,
    promoted: ends.promote,
    rejected: ends.reject,
    inconclusive: ends.inconclusive,
    games: blocks * match.blocks.gamesPerBlock,
  };
}

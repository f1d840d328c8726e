import { drawBlocks, sprt } from "../../../src/pipeline/statistics/index.ts";
import { gatePlan } from "../gate-plan.ts";
import type { Gate } from "./bare-loop.ts";

/** The gate that the pipeline uses, for a loop that has no pipeline: a sequential test on blocks of all seats. */
export function sprtGate(players: number, batchBlocks: number): Gate {
  const blocks = drawBlocks(players);
  const plan = gatePlan([], batchBlocks);
  return (counts, redundancy) => sprt(counts, blocks, plan, redundancy).decision;
}

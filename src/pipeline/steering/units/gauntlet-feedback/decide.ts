import { type ContentKnob, signalIn } from "../../../stage/index.ts";
import type { JudgedGate } from "../../gates.ts";
import { judgeKnob } from "../../knobs.ts";

/** Tiers have numbers: each plateau opens the next. */
export const tierName = (tier: number): string => `tier-${tier}`;

/** The factor of a knob in the iteration after the newest gate, and in that of the gate itself. */
export function factorsOf(
  knob: ContentKnob,
  gates: readonly JudgedGate[],
): { value: number; previous: number; reason: string } {
  const { iteration } = gates.at(-1)!;
  const [now, before] = [judgeKnob(knob, gates), judgeKnob(knob, gates.slice(0, -1))];
  return {
    value: now === undefined ? 1 : signalIn(now, iteration + 1),
    previous: before === undefined ? 1 : signalIn(before, iteration),
    reason: now?.reason ?? "nothing is left of what was said",
  };
}

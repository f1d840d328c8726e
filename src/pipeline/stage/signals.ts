import type { Json } from "../../kernel/index.ts";
import { defineTable, type WriteSet } from "../../router/index.ts";

/** What steering may turn. Each knob has one unit that turns it, and one that applies it. */
export const KNOBS = ["share"] as const;
export type Knob = (typeof KNOBS)[number];

/**
 * What a unit of steering says of a knob of a config: a factor, 1 where nothing is to change. It fades towards 1 with the iterations
 * of its config unless it is said again. Written by the unit that turns the knob.
 */
export type Signal = {
  readonly value: number;
  /** It is never taken for less or for more, whatever stands in `value`. */
  readonly low: number;
  readonly high: number;
  /** Iterations after which half of it is left. */
  readonly half_life: number;
  /** The iteration in which it was said. */
  readonly iteration: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly author: string;
  readonly reason: string;
  readonly evidence: { readonly [name: string]: Json };
};

/** By config and knob, see `knobKey`. */
export const signals = defineTable<Signal>("pipeline_signals");

/** A person's word on a knob, which counts until it is taken back. Written by the commands `steering hold` and `release`. */
export type SignalHold = {
  readonly value: number;
  readonly by: string;
  readonly at: number;
  readonly reason: string;
};
export const signalHolds = defineTable<SignalHold>("pipeline_signal_holds");

export const knobKey = (configKey: string, knob: Knob): string => `${configKey}/${knob}`;

const within = (value: number, low: number, high: number): number =>
  Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : 1;

/** What is left of a signal in an iteration of its config. Halving works on the factor: 4 becomes 2 and a quarter a half. */
export function signalIn(signal: Signal, iteration: number): number {
  const age = Math.max(0, iteration - signal.iteration);
  const bounded = within(signal.value, signal.low, signal.high);
  return bounded ** (0.5 ** (age / signal.half_life));
}

/** The factor that a knob has in an iteration: what a person holds it at, else what is left of its signal, else 1. */
export function knobIn(rows: Pick<WriteSet, "get">, configKey: string, knob: Knob, iteration: number): number {
  const key = knobKey(configKey, knob);
  const held = rows.get(signalHolds, key);
  if (held !== undefined) return held.value;
  const signal = rows.get(signals, key);
  return signal === undefined ? 1 : signalIn(signal, iteration);
}

import { OperatingError } from "../../kernel/index.ts";

/** Numbers come from files, flags and other machines: what is wrong with them is said with a stable code. */

export const invalid = (what: string, message: string, hint?: string): OperatingError =>
  OperatingError.invalid(`INVALID_${what}`, message, hint === undefined ? {} : { hint });

export function checkFinite(value: number, what: string, name: string): void {
  if (typeof value !== "number" || !Number.isFinite(value))
    throw invalid(what, `${name} must be a finite number, not ${String(value)}.`);
}

/** For probabilities that must leave room on both sides: error rates, confidence levels, quantiles. */
export function checkBetween(value: number, low: number, high: number, what: string, name: string): void {
  checkFinite(value, what, name);
  if (value <= low || value >= high)
    throw invalid(what, `${name} must lie between ${low} and ${high} (both excluded), not ${value}.`);
}

export function checkWithin(value: number, low: number, high: number, what: string, name: string): void {
  checkFinite(value, what, name);
  if (value < low || value > high) throw invalid(what, `${name} must lie within ${low} and ${high}, not ${value}.`);
}

export function checkCount(value: number, least: number, what: string, name: string): void {
  if (!Number.isSafeInteger(value) || value < least)
    throw invalid(what, `${name} must be a whole number of ${least} or more, not ${String(value)}.`);
}

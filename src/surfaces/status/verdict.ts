/** How all is, in one sentence: the same for the command, the page and whoever else says it. */
import { type Cause, isWell } from "../../daemons/cause.ts";
import { plural } from "../cli/text.ts";

const countOf = (troubles: readonly Cause[], level: Cause["level"]): number =>
  troubles.filter((each) => each.level === level).length;

/** Shortly after a start nobody knows whether a worker will ask: that is not yet well, and not yet wrong. */
const beginsWith = (troubles: readonly Cause[]): Cause | undefined =>
  troubles.find(({ level, code }) => level === "note" && code === "no_worker");

/** The sign before the sentence: that of the worst cause, and a tick only where all is well. */
export function markOf(troubles: readonly Cause[]): "✗" | "!" | "·" | "✓" {
  if (countOf(troubles, "bad") > 0) return "✗";
  if (!isWell(troubles)) return "!";
  return beginsWith(troubles) === undefined ? "✓" : "·";
}

export function verdictOf(troubles: readonly Cause[]): string {
  const [now, look] = [countOf(troubles, "bad"), countOf(troubles, "warn")];
  const begins = beginsWith(troubles);
  if (isWell(troubles)) return begins === undefined ? "well: nothing needs you" : `just started: ${begins.what}`;
  const needs = (n: number, what: string) => `${plural(n, "thing")} ${n === 1 ? "needs" : "need"} ${what}`;
  const parts = [...(now > 0 ? [needs(now, "you now")] : []), ...(look > 0 ? [needs(look, "a look")] : [])];
  return `${now > 0 ? "in trouble" : "needs attention"}: ${parts.join(", ")}`;
}

/** How all is, in one sentence: the same for the command, the page and whoever else says it. */
import { type Cause, isWell } from "../../daemons/cause.ts";
import { plural } from "../cli/text.ts";

export const countOf = (troubles: readonly Cause[], level: Cause["level"]): number =>
  troubles.filter((each) => each.level === level).length;

export function verdictOf(troubles: readonly Cause[]): string {
  const [now, look] = [countOf(troubles, "bad"), countOf(troubles, "warn")];
  if (isWell(troubles)) return "well: nothing needs you";
  const needs = (n: number, what: string) => `${plural(n, "thing")} ${n === 1 ? "needs" : "need"} ${what}`;
  const parts = [...(now > 0 ? [needs(now, "you now")] : []), ...(look > 0 ? [needs(look, "a look")] : [])];
  return `${now > 0 ? "in trouble" : "needs attention"}: ${parts.join(", ")}`;
}

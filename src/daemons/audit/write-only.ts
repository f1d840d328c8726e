import type { Registry } from "../unit/registry.ts";
import { type Finding, finding } from "./finding.ts";
import type { Uses } from "./uses.ts";

/** What was written a moment ago may still be read. */
const PATIENCE_MS = 60_000;

/**
 * Events whose handling so far came to nothing but words that nobody reads: not another handler, not a tick, no health check
 * and no view. Reading back what one has written, to write it again, is no use of it.
 */
export function writeOnly(
  { units }: Pick<Registry, "units">,
  { uses, outside }: Uses,
  now: number,
  patienceMs = PATIENCE_MS,
): Finding[] {
  const readers = new Map<string, Set<string>>();
  for (const { unit, trigger, reads } of uses)
    for (const thing of reads) readers.set(thing, (readers.get(thing) ?? new Set()).add(`${unit}/${trigger}`));
  const isRead = (thing: string, by: string) =>
    outside.has(thing) || [...(readers.get(thing) ?? [])].some((reader) => reader !== by);
  const heard = new Map(units.map(({ name, hears }) => [name, new Set(hears)]));
  return uses
    .filter(({ unit, trigger, acts, writes, since }) => {
      if (acts || writes.size === 0 || now - since < patienceMs) return false;
      return heard.get(unit)?.has(trigger) && ![...writes].some((thing) => isRead(thing, `${unit}/${trigger}`));
    })
    .map(({ unit, trigger, writes }) =>
      finding(
        "write_only",
        "high",
        { event: trigger, units: [unit] },
        `'${unit}' writes it into ${[...writes].sort().join(", ")}, and nobody has read that.`,
        "Have somebody act on it, or stop hearing it.",
      ),
    );
}

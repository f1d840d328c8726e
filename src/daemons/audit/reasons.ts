import type { Rows } from "../../events/index.ts";
import type { Registry } from "../unit/registry.ts";
import type { Reasons } from "../unit/shape.ts";
import { type Finding, finding } from "./finding.ts";

/** The written reasons by kind of finding: those of the units and parts themselves, and those that none can carry. */
function reasonsIn({ units, parts, excused }: Registry<Rows>): Readonly<Record<string, Reasons>> {
  const awaited = units
    .flatMap(({ awaits }) => Object.entries(awaits))
    .map(([event, emitter]) => [event, `${emitter} is to emit it, and does not exist yet`]);
  return {
    dead_subscription: { ...excused.deadSubscriptions, ...Object.fromEntries(awaited) },
    orphan: Object.assign({}, excused.orphans, ...[...units, ...parts].map(({ unheard }) => unheard)),
    unbridged: excused.unbridged ?? {},
  };
}

/** Attaches written reasons to what they excuse, and finds reasons that excuse nothing any more. */
export function excuse(registry: Registry<Rows>, findings: readonly Finding[]): Finding[] {
  const lists = reasonsIn(registry);
  const used = new Set<string>();
  const judged = findings.map((found) => {
    const reason = found.event === null ? undefined : lists[found.kind]?.[found.event];
    if (reason === undefined || reason.trim() === "") return found;
    used.add(`${found.kind}/${found.event}`);
    return { ...found, excuse: reason };
  });
  const stale = Object.entries(lists).flatMap(([kind, reasons]) =>
    Object.keys(reasons)
      .filter((event) => !used.has(`${kind}/${event}`))
      .map((event) =>
        finding(
          "stale_excuse",
          "medium",
          { event },
          `It is excused as ${kind.replace("_", " ")}, and it is none.`,
          "Remove the excuse.",
        ),
      ),
  );
  return [...judged, ...stale];
}

import type { Rows } from "../events/index.ts";
import { type Finding, finding } from "./finding.ts";
import type { Reasons, Registry } from "./registry.ts";

/** A unit or part that does not exist yet, the stage that brings it, and what it will emit. */
interface Coming<E extends string> {
  readonly unit: string;
  readonly stage: string;
  readonly emits: readonly E[];
}

/** Reasons for hearing what nobody says yet. */
export const untilTheyCome = <const E extends string>(all: readonly Coming<E>[]): { readonly [N in E]: string } =>
  Object.fromEntries(
    all.flatMap(({ unit, stage, emits }) =>
      emits.map((event) => [event, `emitted by ${unit}, which comes with the stage '${stage}'`]),
    ),
  ) as { readonly [N in E]: string };

/** Attaches written reasons to what they excuse, and finds reasons that excuse nothing any more. */
export function excuse(registry: Registry<Rows>, findings: readonly Finding[]): Finding[] {
  const { deadSubscriptions: dead = {}, orphans: orphaned = {}, unbridged: cut = {} } = registry.excused;
  const lists: Readonly<Record<string, Reasons>> = { dead_subscription: dead, orphan: orphaned, unbridged: cut };
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

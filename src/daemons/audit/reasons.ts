import type { Rows } from "../../events/index.ts";
import type { Registry } from "../unit/registry.ts";
import type { Reasons, Unheard, Unit } from "../unit/shape.ts";
import { type Finding, finding } from "./finding.ts";

const inWords = (unheard: Unheard): string =>
  "by" in unheard
    ? `${unheard.by} is to hear it, and does not exist yet`
    : `for those outside alone: ${unheard.outside}`;

/** The written reasons by kind of finding: those of the units and parts themselves, and those that none can carry. */
function reasonsIn({ units, parts, excused }: Registry<Rows>): Readonly<Record<string, Reasons>> {
  const awaited = units
    .flatMap(({ awaits }) => Object.entries(awaits))
    .map(([event, emitter]) => [event, `${emitter} is to emit it, and does not exist yet`]);
  return {
    dead_subscription: { ...excused.deadSubscriptions, ...Object.fromEntries(awaited) },
    orphan: Object.assign(
      {},
      excused.orphans,
      ...[...units, ...parts].map(({ unheard }) =>
        Object.fromEntries(Object.entries(unheard).map(([event, reason]) => [event, inWords(reason)])),
      ),
    ),
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
  return [...judged, ...stale, ...brokenPromises(registry)];
}

/** Excuses that name somebody who is to come, and who came and does not do it. */
function brokenPromises({ units, parts }: Registry<Rows>): Finding[] {
  const all = new Map<string, Pick<Unit, "emits" | "hears">>([
    ...parts.map(({ name, emits }) => [name, { emits, hears: [] }] as const),
    ...units.map((unit) => [unit.name, unit] as const),
  ]);
  const promises = [
    ...[...units, ...parts].flatMap(({ name, unheard }) =>
      Object.entries(unheard).flatMap(([event, reason]) =>
        "by" in reason ? [{ name, event, who: reason.by, verb: "hears" as const }] : [],
      ),
    ),
    ...units.flatMap(({ name, awaits }) =>
      Object.entries(awaits).map(([event, who]) => ({ name, event, who: who as string, verb: "emits" as const })),
    ),
  ];
  return promises
    .filter(({ event, who, verb }) => all.get(who)?.[verb].includes(event) === false)
    .map(({ name, event, who, verb }) =>
      finding(
        "stale_excuse",
        "high",
        { event, units: [name] },
        `'${name}' excuses it by '${who}', which exists and neither ${verb === "hears" ? "hears" : "emits"} it nor says why.`,
        `Have '${who}' do it, or name somebody who is to come.`,
      ),
    );
}

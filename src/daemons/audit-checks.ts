import type { Rows } from "../events/index.ts";
import { didYouMean } from "../kernel/index.ts";
import type { AuditBaseline } from "./audit-baseline.ts";
import type { Reasons, Registry } from "./registry.ts";
import { dependencyCircles } from "./start-order.ts";
import { type EventTies, feeds, reaches } from "./wiring.ts";

export const SEVERITIES = ["critical", "high", "medium", "low"] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface Finding {
  readonly kind: string;
  readonly severity: Severity;
  /** Whether it makes the audit fail while no reason is written down. */
  readonly fails: boolean;
  readonly event: string | null;
  readonly units: readonly string[];
  /** What is the matter, in one sentence. */
  readonly message: string;
  /** What to do, in one sentence. */
  readonly action: string;
  /** The written reason why it is right as it is. */
  readonly excuse: string | null;
}

const finding = (
  kind: string,
  severity: Severity,
  about: { event?: string; units?: readonly string[] },
  message: string,
  action: string,
): Finding => ({
  kind,
  severity,
  fails: true,
  event: about.event ?? null,
  units: about.units ?? [],
  message,
  action,
  excuse: null,
});

/** A broken tie weighs as much as the promise that is made about the event. */
const weight = ({ row }: EventTies): Severity => {
  if (row?.critical) return "critical";
  return row === undefined || row.class === "durable" ? "high" : row.class === "volatile" ? "medium" : "low";
};
const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);

export const isOrphan = (tie: EventTies): boolean =>
  tie.emitters.length > 0 &&
  !tie.consumers.some((consumer) => tie.emitters.some((emitter) => feeds(tie, emitter, consumer)));

export const deafConsumers = (tie: EventTies) =>
  tie.consumers.filter((consumer) => !tie.emitters.some((emitter) => feeds(tie, emitter, consumer)));

export const isOpen = ({ row, emitters, consumers }: EventTies): boolean =>
  row !== undefined && emitters.length === 0 && consumers.length === 0;

export const orphans = (ties: readonly EventTies[]): Finding[] =>
  ties.filter(isOrphan).map((tie) => {
    const units = names(tie.emitters);
    return finding(
      "orphan",
      weight(tie),
      { event: tie.event, units },
      `${units.join(", ")} ${units.length === 1 ? "emits" : "emit"} it and nobody hears it.`,
      "Give it a handler, stop emitting it, or excuse it with a reason.",
    );
  });

export const deadSubscriptions = (ties: readonly EventTies[]): Finding[] =>
  ties.flatMap((tie) => {
    const units = names(deafConsumers(tie));
    if (units.length === 0) return [];
    const alone = tie.emitters.length > 0 ? "nobody but itself emits it" : "nobody emits it";
    return [
      finding(
        "dead_subscription",
        weight(tie),
        { event: tie.event, units },
        `${units.join(", ")} ${units.length === 1 ? "hears" : "hear"} it and ${alone}.`,
        "Declare its emitter, list it as ingress, drop the handler, or excuse it with a reason.",
      ),
    ];
  });

export const unbridged = (ties: readonly EventTies[]): Finding[] =>
  ties.flatMap((tie) => {
    const { event, row, emitters, consumers } = tie;
    if (row === undefined) return [];
    const cut = consumers.filter((consumer) =>
      emitters.some(
        (emitter) => feeds(tie, emitter, consumer) && !reaches(row.class, emitter.placement, consumer.placement),
      ),
    );
    if (cut.length === 0) return [];
    return [
      finding(
        "unbridged",
        "high",
        { event, units: names(cut) },
        `Its class is '${row.class}', so it does not reach ${names(cut).join(", ")} in another process.`,
        "Make it volatile or durable, or move the unit to where the event is.",
      ),
    ];
  });

/** Rows say whether somebody emits them; the declarations know. */
export const rowStates = (ties: readonly EventTies[]): Finding[] =>
  ties.flatMap((tie) => {
    const { event, row, emitters } = tie;
    if (row === undefined) return [];
    if (row.provisional && emitters.some(({ placement }) => placement !== "outside"))
      return [
        finding(
          "provisional_emitted",
          "medium",
          { event, units: names(emitters) },
          `Its row is provisional, but ${names(emitters).join(", ")} emits it.`,
          "Settle its payload and remove 'provisional' from its row.",
        ),
      ];
    if (!row.provisional && emitters.length === 0)
      return [
        finding(
          "strict_unemitted",
          "high",
          { event },
          "Its row promises a settled payload, but nobody emits it.",
          "Declare its emitter, or mark its row provisional.",
        ),
      ];
    return [];
  });

export const unknownEvents = (registry: Registry<Rows>, ties: readonly EventTies[]): Finding[] =>
  ties
    .filter(({ row }) => row === undefined)
    .map(({ event, emitters, consumers }) =>
      finding(
        "unknown_event",
        "high",
        { event, units: [...names(emitters), ...names(consumers)] },
        `The catalog does not hold it.${didYouMean(event, Object.keys(registry.catalog.rows))}`,
        "Correct the name, or add the event with defineEvents.",
      ),
    );

const repeated = (pairs: readonly (readonly [key: string, owner: string])[]): [string, string[]][] => {
  const owners = new Map<string, string[]>();
  for (const [key, owner] of pairs) owners.set(key, [...(owners.get(key) ?? []), owner]);
  return [...owners].filter(([, list]) => list.length > 1);
};

export function duplicates({ units, parts }: Registry<Rows>): Finding[] {
  const own = [...units, ...parts].map(({ name }) => [name, name] as const);
  const aliases = units.flatMap((unit) => unit.alsoKnownAs.map((alias) => [alias, unit.name] as const));
  const tables = units.flatMap((unit) => unit.tables.map((table) => [table, unit.name] as const));
  return [
    ...repeated(own).map(([name, list]) =>
      finding(
        "duplicate_name",
        "critical",
        { units: [name] },
        `${list.length} units or parts are called '${name}'; they would share one cursor.`,
        "Rename all but one.",
      ),
    ),
    ...repeated([...aliases, ...own])
      .filter(([, list]) => new Set(list).size > 1)
      .map(([alias, list]) =>
        finding(
          "duplicate_alias",
          "medium",
          { units: list },
          `'${alias}' names ${list.join(" and ")}.`,
          "Give it to one.",
        ),
      ),
    ...repeated(tables).map(([table, list]) =>
      finding(
        "shared_table",
        "high",
        { units: list },
        `${list.join(" and ")} both own the table '${table}'.`,
        "Give it one owner; the other speaks to it in events.",
      ),
    ),
  ];
}

export function structure({ units }: Registry<Rows>): Finding[] {
  const byName = new Map(units.map((unit) => [unit.name, unit]));
  const found: Finding[] = dependencyCircles(units).map((circle) =>
    finding(
      "dependency_circle",
      "high",
      { units: circle },
      `${[...circle, circle[0]].join(" needs ")}.`,
      "Cut the circle where the need is weakest.",
    ),
  );
  for (const unit of units) {
    const about = { units: [unit.name] };
    for (const name of unit.dependsOn) {
      const needed = byName.get(name);
      if (needed === undefined)
        found.push(
          finding(
            "missing_dependency",
            "high",
            about,
            `It depends on '${name}', which is no unit here.`,
            "Add it, or drop the need.",
          ),
        );
      else if (needed.layer > unit.layer)
        found.push(
          finding(
            "layer_order",
            "medium",
            about,
            `It is of layer ${unit.layer} and depends on '${name}' of layer ${needed.layer}.`,
            "Raise its layer, or lower the other's.",
          ),
        );
    }
    const passive = unit.pattern === "SKIP" || unit.pattern === "DELEGATE";
    if (passive && unit.hears.length + unit.emits.length > 0)
      found.push(
        finding(
          "busy_placeholder",
          "medium",
          about,
          `Its pattern is ${unit.pattern}, but it has wiring of its own.`,
          "Choose another pattern, or move the wiring to the unit that does the work.",
        ),
      );
    if (unit.kind === "coordinator" && !passive && unit.hears.length === 0)
      found.push(
        finding(
          "no_subscriptions",
          "medium",
          about,
          "It is driven by events and hears none.",
          "Give it handlers, or remove it.",
        ),
      );
  }
  return found;
}

/** Delegated wiring: whoever is named as the one who answers must exist, and must hear. */
export function delegations({ units, delegations: table }: Registry<Rows>): Finding[] {
  const byName = new Map(units.map((unit) => [unit.name, unit]));
  const wrong = (about: { event?: string; units: readonly string[] }, message: string) =>
    finding(
      "broken_delegation",
      "high",
      about,
      message,
      "Name the unit that handles it, or give that unit the handler.",
    );
  const events = table.flatMap(({ event, to }) => {
    const unit = byName.get(to);
    if (unit === undefined)
      return [wrong({ event, units: [to] }, `It is delegated to '${to}', which is no unit here.`)];
    return unit.hears.includes(event)
      ? []
      : [wrong({ event, units: [to] }, `It is delegated to '${to}', which does not hear it.`)];
  });
  const whole = units
    .filter(
      ({ pattern, delegatesTo }) =>
        (pattern === "DELEGATE") !== (delegatesTo !== null) || (delegatesTo !== null && !byName.has(delegatesTo)),
    )
    .map(({ name, delegatesTo }) =>
      wrong(
        { units: [name] },
        delegatesTo === null ? "It delegates, but does not say to whom." : `It delegates to '${delegatesTo}' in vain.`,
      ),
    );
  return [...events, ...whole];
}

/** Ties that were written down and are gone, and open rows that became more. */
export function againstBaseline(registry: Registry<Rows>, open: readonly string[], baseline: AuditBaseline): Finding[] {
  const live = new Map<string, { emits: readonly string[]; hears: readonly string[] }>();
  for (const { name, emits } of registry.parts) live.set(name, { emits, hears: [] });
  for (const { name, emits, hears } of registry.units) live.set(name, { emits, hears });
  const lost = Object.entries(baseline.ties).flatMap(([name, ties]) =>
    (["emits", "hears"] as const).flatMap((verb) =>
      ties[verb]
        .filter((event) => !live.get(name)?.[verb].includes(event))
        .map((event) =>
          finding(
            "lost_tie",
            "high",
            { event, units: [name] },
            `'${name}' no longer ${verb} it.`,
            "Restore it, or take it out of the baseline in the same change.",
          ),
        ),
    ),
  );
  const grown = open.length > baseline.openRows;
  const more = finding(
    "open_rows_grew",
    "high",
    {},
    `${open.length} rows have neither emitter nor consumer; at most ${baseline.openRows} may.`,
    "Wire the new rows, or restore the ties that were cut.",
  );
  return grown ? [...lost, more] : lost;
}

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

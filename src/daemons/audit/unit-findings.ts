import type { Rows } from "../../events/index.ts";
import type { Registry } from "../unit/registry.ts";
import { isPlaceholder } from "../unit/registry.ts";
import { dependencyCircles } from "../unit/start-order.ts";
import { type Finding, finding } from "./finding.ts";

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
    const passive = isPlaceholder(unit);
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
  const events = table
    .filter(({ event, to }) => !byName.get(to)?.hears.includes(event))
    .map(({ event, to }) => {
      const fault = byName.has(to) ? "does not hear it" : "is no unit here";
      return wrong({ event, units: [to] }, `It is delegated to '${to}', which ${fault}.`);
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

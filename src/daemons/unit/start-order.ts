import type { Declaration } from "./shape.ts";

type Ordered = Pick<Declaration, "name" | "layer" | "dependsOn">;

/**
 * The order in which units start: lowest layer first, and within it what a unit depends on before the unit itself.
 * Dependencies that are not here are passed over; a circle is cut where it was entered. The audit names both.
 */
export function startOrder<U extends Ordered>(units: readonly U[]): U[] {
  const byName = new Map(units.map((unit) => [unit.name, unit]));
  const ordered = new Set<U>();
  const entered = new Set<U>();
  const visit = (unit: U) => {
    if (entered.has(unit)) return;
    entered.add(unit);
    for (const name of unit.dependsOn) {
      const needed = byName.get(name);
      if (needed !== undefined) visit(needed);
    }
    ordered.add(unit);
  };
  for (const unit of [...units].sort((a, b) => a.layer - b.layer)) visit(unit);
  return [...ordered];
}

/** Each circle of dependencies once, as the names on it. */
export function dependencyCircles(units: readonly Ordered[]): string[][] {
  const byName = new Map(units.map((unit) => [unit.name, unit]));
  const finished = new Set<string>();
  const circles: string[][] = [];
  const visit = (name: string, path: readonly string[]) => {
    const at = path.indexOf(name);
    if (at >= 0) {
      circles.push(path.slice(at));
      return;
    }
    if (finished.has(name)) return;
    for (const next of byName.get(name)?.dependsOn ?? []) visit(next, [...path, name]);
    finished.add(name);
  };
  for (const { name } of units) visit(name, []);
  return circles;
}

import { builtinRows, type Rows } from "../../events/index.ts";
import type { Registry } from "../unit/registry.ts";
import type { Part, Unit } from "../unit/shape.ts";
import { isOpen } from "./event-findings.ts";
import { type Finding, finding } from "./finding.ts";
import { tiesOf } from "./ties.ts";

interface RecordedTies {
  readonly emits: readonly string[];
  readonly hears: readonly string[];
}

/**
 * The wiring as it was printed: `docs/reference/wiring.json`. An event with ten consumers is still heard when one of them is
 * lost, so the graph alone does not notice; what was printed and committed does.
 */
export interface RecordedWiring {
  /** Built-in rows without emitter and consumer. */
  readonly open_rows: number;
  readonly units: Readonly<Record<string, RecordedTies & Readonly<Record<string, unknown>>>>;
  readonly parts: Readonly<Record<string, RecordedTies & Readonly<Record<string, unknown>>>>;
}

const recordUnit = (unit: Unit) => ({
  kind: unit.kind,
  layer: unit.layer,
  placement: unit.placement,
  profiles: unit.profiles,
  feature: unit.feature,
  pattern: unit.pattern,
  daemon_types: unit.daemonTypes,
  depends_on: unit.dependsOn,
  every_ms: unit.everyMs,
  tables: unit.tables,
  emits: unit.emits.toSorted(),
  hears: unit.hears.toSorted(),
  unheard: unit.unheard,
  awaits: unit.awaits,
});

const recordPart = ({ placement, emits, unheard }: Part) => ({
  placement,
  emits: emits.toSorted(),
  hears: [],
  unheard,
});

/** The wiring of a registry, to be printed. */
export const recordWiring = (registry: Registry<Rows>): RecordedWiring => ({
  open_rows: tiesOf(registry).filter((tie) => isOpen(tie) && Object.hasOwn(builtinRows, tie.event)).length,
  units: Object.fromEntries(registry.units.map((unit) => [unit.name, recordUnit(unit)])),
  parts: Object.fromEntries(registry.parts.map((part) => [part.name, recordPart(part)])),
});

/** Ties that were printed and are gone, and open rows that became more. */
export function againstRecord(registry: Registry<Rows>, recorded: RecordedWiring): Finding[] {
  const now = recordWiring(registry);
  const lost = (["units", "parts"] as const).flatMap((list) =>
    Object.entries(recorded[list]).flatMap(([name, ties]) =>
      (["emits", "hears"] as const).flatMap((verb) =>
        ties[verb]
          .filter((event) => !now[list][name]?.[verb].includes(event))
          .map((event) =>
            finding(
              "lost_tie",
              "high",
              { event, units: [name] },
              `'${name}' no longer ${verb} it.`,
              "Restore it, or print the wiring anew with 'npm run docs' in the same change.",
            ),
          ),
      ),
    ),
  );
  if (now.open_rows <= recorded.open_rows) return lost;
  const grown = finding(
    "open_rows_grew",
    "high",
    {},
    `${now.open_rows} rows have neither emitter nor consumer; ${recorded.open_rows} had when the wiring was printed.`,
    "Wire the new rows, restore the ties that were cut, or print the wiring anew with 'npm run docs'.",
  );
  return [...lost, grown];
}

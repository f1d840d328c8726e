import type { EventRow, Rows } from "../../events/index.ts";
import type { Delegation, Registry } from "../unit/registry.ts";
import { isPlaceholder, openCoordinators } from "../unit/registry.ts";
import type { Part, Unit } from "../unit/shape.ts";
import {
  deadSubscriptions,
  deafConsumers,
  isOpen,
  isOrphan,
  orphans,
  rowStates,
  unbridged,
  unknownEvents,
} from "./event-findings.ts";
import { type Finding, SEVERITIES, type Severity } from "./finding.ts";
import { excuse } from "./reasons.ts";
import { againstRecord, type RecordedWiring } from "./recorded-wiring.ts";
import { againstFacts, type RuntimeFacts } from "./runtime-facts.ts";
import { type EventTies, tiesOf } from "./ties.ts";
import { delegations, duplicates, structure } from "./unit-findings.ts";
import type { Uses } from "./uses.ts";
import { writeOnly } from "./write-only.ts";

export interface AuditOptions {
  /** The wiring as it was printed; without it nobody notices a tie that is gone while others hear or emit the event. */
  readonly recorded?: RecordedWiring;
  /** What a running system or its data folder shows; without it only the declarations are judged. */
  readonly facts?: RuntimeFacts;
  /** What handlers were seen to read, change and bring about; without it nobody knows who writes for nobody. */
  readonly uses?: { readonly seen: Uses; readonly now: number; readonly patienceMs?: number };
}

export type AuditedUnit = ReturnType<typeof auditedUnit>;
export type AuditTotals = ReturnType<typeof totalsOf> & ReturnType<typeof foundTotals>;

export interface AuditReport {
  readonly ok: boolean;
  readonly exit_code: 0 | 1;
  readonly status: "HEALTHY" | "MOSTLY HEALTHY" | "BROKEN";
  readonly verdict: string;
  readonly totals: AuditTotals;
  readonly layers: readonly { readonly layer: number; readonly units: readonly AuditedUnit[] }[];
  readonly parts: readonly Pick<Part, "name" | "placement" | "emits">[];
  readonly ingress: readonly string[];
  readonly delegations: readonly Delegation[];
  /** Events that are not seen by other processes, with what that costs. */
  readonly staying: readonly ({ readonly event: string } & Pick<EventRow, "class" | "critical">)[];
  /** Rows that no unit or part emits or hears yet, counted by category. */
  readonly open: Readonly<Record<string, number>>;
  /** Worst first. */
  readonly findings: readonly Finding[];
  readonly by_severity: Readonly<Record<Severity, number>>;
  /** Whether run-time facts were looked at. */
  readonly observed: boolean;
}

/** Judges the live declarations. A pure function: the same wiring gives the same report. */
export function auditWiring(registry: Registry<Rows>, options: AuditOptions = {}): AuditReport {
  const { uses } = options;
  const ties = tiesOf(registry);
  const open = ties.filter(isOpen);
  const findings = excuse(registry, [
    ...orphans(ties),
    ...deadSubscriptions(ties),
    ...unbridged(ties),
    ...rowStates(ties),
    ...unknownEvents(registry, ties),
    ...duplicates(registry),
    ...structure(registry),
    ...delegations(registry),
    ...(options.recorded === undefined ? [] : againstRecord(registry, options.recorded)),
    ...(options.facts === undefined ? [] : againstFacts(registry, options.facts)),
    ...(uses === undefined ? [] : writeOnly(registry, uses.seen, uses.now, uses.patienceMs)),
  ]).sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
  const failing = findings.filter(({ fails, excuse: reason }) => fails && reason === null);
  const remarks = findings.length - failing.length;
  const byCategory: Record<string, number> = {};
  for (const { row } of open) byCategory[row!.category] = (byCategory[row!.category] ?? 0) + 1;
  return {
    ok: failing.length === 0,
    exit_code: failing.length === 0 ? 0 : 1,
    status: failing.length > 0 ? "BROKEN" : remarks > 0 ? "MOSTLY HEALTHY" : "HEALTHY",
    verdict: verdictOf(failing.length, remarks),
    totals: { ...totalsOf(registry, ties), ...foundTotals(findings, uses !== undefined) },
    layers: layersOf(registry, failing),
    parts: registry.parts.map(({ name, placement, emits }) => ({ name, placement, emits })),
    ingress: registry.ingress,
    delegations: registry.delegations,
    staying: ties.flatMap(({ event, row }) =>
      row?.class === "process" ? [{ event, class: row.class, critical: row.critical }] : [],
    ),
    open: byCategory,
    findings,
    by_severity: countBySeverity(findings),
    observed: options.facts !== undefined,
  };
}

function verdictOf(failing: number, remarks: number): string {
  if (failing > 0) return failing === 1 ? "One finding has to be settled." : `${failing} findings have to be settled.`;
  if (remarks === 0) return "The wiring holds.";
  return `The wiring holds, with ${remarks} excused or for information.`;
}

function countBySeverity(findings: readonly Finding[]): Record<Severity, number> {
  const counts = { critical: 0, high: 0, medium: 0, low: 0 };
  for (const { severity, excuse: reason } of findings) if (reason === null) counts[severity] += 1;
  return counts;
}

const foundTotals = (findings: readonly Finding[], isWatched: boolean) => {
  const of = (kind: Finding["kind"]) => findings.filter((found) => found.kind === kind).length;
  return {
    /** Null where nobody looked: only what runs shows who reads what others write. */
    write_only: isWatched ? of("write_only") : null,
    stale_excuses: of("stale_excuse"),
  };
};

function totalsOf({ units, parts, catalog }: Registry<Rows>, ties: readonly EventTies[]) {
  const rows = Object.values(catalog.rows);
  const count = <T>(list: readonly T[], fits: (item: T) => boolean) => list.filter(fits).length;
  const passive = units.filter(isPlaceholder);
  const hearing = count(units, ({ hears }) => hears.length > 0);
  const staying = count(rows, (row) => row.class === "process");
  return {
    units: units.length,
    units_with_subscriptions: hearing,
    units_skipped_or_delegated: passive.length,
    units_without_subscriptions: count(units, (unit) => unit.hears.length === 0 && !passive.includes(unit)),
    parts: parts.length,
    subscriptions: units.reduce((sum, { hears }) => sum + hears.length, 0),
    emissions: [...units, ...parts].reduce((sum, { emits }) => sum + emits.length, 0),
    events: rows.length,
    events_crossing: rows.length - staying,
    events_staying: staying,
    orphans: count(ties, isOrphan),
    dead_subscriptions: count(ties, (tie) => deafConsumers(tie).length > 0),
    well_connected: count(ties, (tie) => tie.consumers.length > 0 && deafConsumers(tie).length === 0),
    open: count(ties, isOpen),
    /** Names of the coordinators' plan behind which there is no unit. */
    open_coordinators: openCoordinators(units).length,
    provisional: count(rows, ({ provisional }) => provisional),
  };
}

const auditedUnit = (unit: Unit, faulty: ReadonlySet<string>) => ({
  name: unit.name,
  kind: unit.kind,
  placement: unit.placement,
  pattern: unit.pattern,
  delegates_to: unit.delegatesTo,
  also_known_as: unit.alsoKnownAs,
  depends_on: unit.dependsOn,
  hears: unit.hears,
  emits: unit.emits,
  every_ms: unit.everyMs,
  ok: !faulty.has(unit.name),
});

function layersOf({ units }: Registry<Rows>, failing: readonly Finding[]): AuditReport["layers"] {
  const faulty = new Set(failing.flatMap((found) => found.units));
  return [...Map.groupBy(units, ({ layer }) => layer)]
    .sort(([a], [b]) => a - b)
    .map(([layer, of]) => ({ layer, units: of.map((unit) => auditedUnit(unit, faulty)) }));
}

import { builtinRows, type EventClass, type Rows } from "../events/index.ts";
import { type AuditBaseline, againstBaseline } from "./audit-baseline.ts";
import {
  deadSubscriptions,
  deafConsumers,
  isOpen,
  isOrphan,
  orphans,
  rowStates,
  unbridged,
  unknownEvents,
} from "./audit-events.ts";
import { delegations, duplicates, structure } from "./audit-units.ts";
import { isPlaceholder, openCoordinators } from "./coordinator-registry.ts";
import { excuse } from "./excuse.ts";
import { type Finding, SEVERITIES, type Severity } from "./finding.ts";
import type { Delegation, Registry } from "./registry.ts";
import { againstFacts, type RuntimeFacts } from "./runtime-facts.ts";
import type { Pattern, Placement } from "./unit.ts";
import { type EventTies, tiesOf } from "./wiring.ts";

export interface AuditOptions {
  readonly baseline?: AuditBaseline;
  /** What a running system or its data folder shows; without it only the declarations are judged. */
  readonly facts?: RuntimeFacts;
}

export interface AuditedUnit {
  readonly name: string;
  readonly kind: "coordinator" | "daemon";
  readonly placement: Placement;
  readonly pattern: Pattern | null;
  readonly delegates_to: string | null;
  readonly also_known_as: readonly string[];
  readonly depends_on: readonly string[];
  readonly hears: readonly string[];
  readonly emits: readonly string[];
  readonly every_ms: number | null;
  readonly ok: boolean;
}

export interface AuditTotals {
  readonly units: number;
  readonly units_with_subscriptions: number;
  readonly units_skipped_or_delegated: number;
  readonly units_without_subscriptions: number;
  readonly parts: number;
  readonly subscriptions: number;
  readonly emissions: number;
  readonly events: number;
  readonly events_crossing: number;
  readonly events_staying: number;
  readonly orphans: number;
  readonly dead_subscriptions: number;
  readonly well_connected: number;
  readonly open: number;
  /** Names of the coordinators' plan behind which there is no unit. */
  readonly open_coordinators: number;
  readonly provisional: number;
}

export interface AuditReport {
  readonly ok: boolean;
  readonly exit_code: 0 | 1;
  readonly status: "HEALTHY" | "MOSTLY HEALTHY" | "BROKEN";
  readonly verdict: string;
  readonly totals: AuditTotals;
  readonly layers: readonly { readonly layer: number; readonly units: readonly AuditedUnit[] }[];
  readonly parts: readonly {
    readonly name: string;
    readonly placement: Placement;
    readonly emits: readonly string[];
  }[];
  readonly ingress: readonly string[];
  readonly delegations: readonly Delegation[];
  /** Events that are not seen by other processes, with what that costs. */
  readonly staying: readonly { readonly event: string; readonly class: EventClass; readonly critical: boolean }[];
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
  const ties = tiesOf(registry);
  const open = ties.filter(isOpen);
  const own = open.filter(({ event }) => Object.hasOwn(builtinRows, event)).map(({ event }) => event);
  const findings = excuse(registry, [
    ...orphans(ties),
    ...deadSubscriptions(ties),
    ...unbridged(ties),
    ...rowStates(ties),
    ...unknownEvents(registry, ties),
    ...duplicates(registry),
    ...structure(registry),
    ...delegations(registry),
    ...(options.baseline === undefined ? [] : againstBaseline(registry, own, options.baseline)),
    ...(options.facts === undefined ? [] : againstFacts(registry, options.facts)),
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
    totals: totalsOf(registry, ties),
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

function totalsOf({ units, parts, catalog }: Registry<Rows>, ties: readonly EventTies[]): AuditTotals {
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
    well_connected: count(
      ties,
      (tie) => tie.emitters.length > 0 && tie.consumers.length > 0 && !isOrphan(tie) && deafConsumers(tie).length === 0,
    ),
    open: count(ties, isOpen),
    open_coordinators: openCoordinators(units).length,
    provisional: count(rows, ({ provisional }) => provisional),
  };
}

function layersOf({ units }: Registry<Rows>, failing: readonly Finding[]): AuditReport["layers"] {
  const faulty = new Set(failing.flatMap((found) => found.units));
  const layers = new Map<number, AuditedUnit[]>();
  for (const unit of units)
    layers.set(unit.layer, [
      ...(layers.get(unit.layer) ?? []),
      {
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
      },
    ]);
  return [...layers].sort(([a], [b]) => a - b).map(([layer, of]) => ({ layer, units: of }));
}

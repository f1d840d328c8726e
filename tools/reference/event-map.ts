/**
 * The map of events that the system was designed by, beside its wiring, edge by edge: who tells an event, and who hears it. An edge of the
 * map is drawn here, or has its reason. A reason for an edge that is drawn is a fault as well.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { declaredRegistry } from "../../src/app/registry.ts";
import { recordWiring } from "../../src/daemons/index.ts";
import { ROOT } from "../parts/root.ts";
import { notHeard, type Reason, toldByOthers } from "./event-map-reasons.ts";
import { legacySubscriptions } from "./legacy-subscriptions.ts";
import { page } from "./markdown.ts";

export interface MappedEvent {
  readonly event: string;
  readonly stage: string;
  readonly emitters: readonly string[];
  readonly consumers: readonly string[];
}

const listed = (text: string | undefined): string[] => (text ?? "").split(";").filter((name) => name !== "");

export function readMap(file = join(ROOT, "tools", "reference", "event-ownership.csv")): MappedEvent[] {
  const [, ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => {
    const [event = "", stage = "", emitters, consumers] = line.split(",");
    return { event, stage, emitters: listed(emitters), consumers: listed(consumers) };
  });
}

type Verb = "emits" | "hears";
type Ties = Readonly<Record<string, { readonly [verb in Verb]: readonly string[] }>>;

export interface Edge {
  readonly event: string;
  readonly stage: string;
  readonly unit: string;
  readonly verb: Verb;
}

export interface MapReport {
  readonly events: number;
  readonly edges: number;
  /** Edges that are drawn. */
  readonly drawn: readonly Edge[];
  /** Edges that are not drawn, with their reason. */
  readonly explained: readonly (Edge & { readonly why: string })[];
  /** Edges without either: faults. */
  readonly open: readonly Edge[];
  /** Reasons that nothing needs: faults. */
  readonly stale: readonly string[];
  /** Edges that are drawn and not in the map. */
  readonly besides: readonly Edge[];
}

const reasonFor = (reasons: readonly Reason[] = [], event: string): string | undefined =>
  reasons.find(({ events }) => events.includes(event))?.why;

/** What the subscriptions beside the Python system's say of the same. */
const legacyReason = (unit: string, event: string): string | undefined =>
  reasonFor(legacySubscriptions[unit]?.left, event);

export function compareMap(
  map: readonly MappedEvent[] = readMap(),
  wiring: { readonly units: Ties; readonly parts: Ties } = recordWiring(declaredRegistry()),
): MapReport {
  const ties: Ties = { ...wiring.parts, ...wiring.units };
  const edges = map.flatMap(({ event, stage, emitters, consumers }): Edge[] => [
    ...emitters.map((unit): Edge => ({ event, stage, unit, verb: "emits" })),
    ...consumers.map((unit): Edge => ({ event, stage, unit, verb: "hears" })),
  ]);
  const isDrawn = ({ unit, verb, event }: Edge) => ties[unit]?.[verb].includes(event) === true;
  const whyNot = ({ unit, verb, event }: Edge) =>
    verb === "emits"
      ? reasonFor(toldByOthers[unit], event)
      : (reasonFor(notHeard[unit], event) ?? legacyReason(unit, event));
  const missing = edges.filter((edge) => !isDrawn(edge));
  const explained = missing.flatMap((edge) => {
    const why = whyNot(edge);
    return why === undefined ? [] : [{ ...edge, why }];
  });
  const open = missing.filter((edge) => whyNot(edge) === undefined);
  const isNeeded = (verb: Verb, unit: string, event: string) =>
    explained.some((edge) => edge.verb === verb && edge.unit === unit && edge.event === event);
  const stale = [["emits", toldByOthers] as const, ["hears", notHeard] as const].flatMap(([verb, reasons]) =>
    Object.entries(reasons).flatMap(([unit, all]) =>
      all.flatMap(({ events }) =>
        events.filter((event) => !isNeeded(verb, unit, event)).map((event) => `${unit} ${verb} ${event}`),
      ),
    ),
  );
  const known = new Map(map.map((row) => [row.event, row]));
  const besides = Object.entries(ties).flatMap(([unit, { emits, hears }]) => [
    ...emits
      .filter((event) => known.get(event)?.emitters.includes(unit) === false)
      .map((event): Edge => ({ event, stage: known.get(event)!.stage, unit, verb: "emits" })),
    ...hears
      .filter((event) => known.get(event)?.consumers.includes(unit) === false)
      .map((event): Edge => ({ event, stage: known.get(event)!.stage, unit, verb: "hears" })),
  ]);
  return {
    events: map.length,
    edges: edges.length,
    drawn: edges.filter(isDrawn),
    explained,
    open,
    stale,
    besides,
  };
}

export const edgeWords = ({ unit, verb, event }: Edge): string => `${unit} ${verb} ${event}`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** The map beside the wiring. */
export function printEventMap(): string {
  const { events, edges, drawn, explained, open, besides } = compareMap();
  const verbs = { emits: "does not emit", hears: "does not hear" } as const;
  const byUnit = [...explained].sort((a, b) => (a.unit < b.unit ? -1 : a.unit > b.unit ? 1 : 0));
  return page(
    "# The map of events",
    "The system was designed by a map: who tells each event, and who hears it (`tools/reference/event-ownership.csv`). This compares the map with the wiring, edge by edge.",
    table(
      ["Edges", "How many"],
      [
        ["in the map", `${edges}, of ${events} events`],
        ["drawn", String(drawn.length)],
        ["not drawn, with a reason", String(explained.length)],
        ["open", String(open.length)],
        ["drawn besides the map", String(besides.length)],
      ],
    ),
    "## Not drawn, and why",
    table(
      ["Unit", "Event", "Why"],
      byUnit.map(({ unit, verb, event, why }) => [unit, `${verbs[verb]} ${event}`, why]),
    ),
  );
}

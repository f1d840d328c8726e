import type { EventClass, EventRow } from "../../events/index.ts";
import type { Registry } from "../unit/registry.ts";
import type { Part, Placement, Unit } from "../unit/shape.ts";

/** Who may say an event: a unit, a part, or somebody outside. */
interface Speaker {
  readonly name: string;
  readonly placement: Placement | "outside";
}

/** One event with all that is tied to it. */
export interface EventTies {
  readonly event: string;
  /** Undefined for a name that the catalog does not hold. */
  readonly row: EventRow | undefined;
  readonly emitters: readonly Speaker[];
  readonly consumers: readonly Unit[];
}

/** Every event of the catalog, and every other name that some declaration uses, with its ties. */
export function tiesOf(registry: Registry): EventTies[] {
  const emitters = new Map<string, Speaker[]>();
  const consumers = new Map<string, Unit[]>();
  const add = <T>(map: Map<string, T[]>, event: string, who: T) => map.set(event, [...(map.get(event) ?? []), who]);
  for (const speaker of [...registry.units, ...registry.parts] as readonly (Unit | Part)[])
    for (const event of speaker.emits) add(emitters, event, { name: speaker.name, placement: speaker.placement });
  for (const event of registry.ingress) add(emitters, event, { name: "(outside)", placement: "outside" });
  for (const unit of registry.units) for (const event of unit.hears) add(consumers, event, unit);
  const events = new Set([...Object.keys(registry.catalog.rows), ...emitters.keys(), ...consumers.keys()]);
  return [...events].map((event) => ({
    event,
    row: registry.catalog.row(event),
    emitters: emitters.get(event) ?? [],
    consumers: consumers.get(event) ?? [],
  }));
}

/**
 * Whether this emitter feeds this consumer. A unit never hears itself; of what crosses processes it hears its siblings in
 * the others, where it has any.
 */
export const feeds = (
  { row }: Pick<EventTies, "row">,
  emitter: Speaker,
  consumer: Pick<Unit, "name" | "placement">,
): boolean => emitter.name !== consumer.name || (consumer.placement !== "leader" && row?.class !== "process");

/**
 * Whether an event of this class gets from the one's process into the other's. What stays in its process reaches a unit
 * that every process has, and a unit that certainly runs in the same main process.
 */
export function reaches(eventClass: EventClass, from: Placement | "outside", to: Placement): boolean {
  if (eventClass !== "process") return true;
  if (from === "outside") return false;
  if (to === "each-process") return true;
  if (to === "each-node") return from !== "each-process";
  return from === "leader";
}

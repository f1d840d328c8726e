import type { Rows } from "../../events/index.ts";
import { didYouMean } from "../../kernel/index.ts";
import type { Registry } from "../unit/registry.ts";
import { type Finding, finding, type Severity } from "./finding.ts";
import { type EventTies, feeds, reaches } from "./ties.ts";

/** A broken tie weighs as much as the promise that is made about the event. */
const weight = ({ row }: EventTies): Severity => {
  if (row?.critical) return "critical";
  return row === undefined || row.class === "durable" ? "high" : row.class === "volatile" ? "medium" : "low";
};
const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);

export const deafConsumers = (tie: EventTies) =>
  tie.consumers.filter((consumer) => !tie.emitters.some((emitter) => feeds(tie, emitter, consumer)));

export const isOrphan = (tie: EventTies): boolean =>
  tie.emitters.length > 0 && deafConsumers(tie).length === tie.consumers.length;

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

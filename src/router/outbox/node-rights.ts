import { OperatingError } from "../../kernel/index.ts";
import type { Prepared } from "../prepare.ts";

/**
 * What only the coordinator's own runtime knows, by the key that such events are ordered by: how its units, its daemons, its
 * consumers and its leadership do. Whoever could say it from outside could make a dead unit look alive.
 */
const COORDINATORS_OWN: ReadonlySet<string> = new Set(["coordinator_name", "daemon_name", "consumer", "cluster_id"]);

/**
 * Why this event is not to be said from outside the coordinator; undefined if it may be. `speaksFor` tells whether the
 * speaker may name a node. The node asks it before it keeps an event, the coordinator before it takes one.
 */
export function whyNodeMayNot(
  { event, row }: Prepared,
  speaksFor: (nodeId: string) => boolean,
): OperatingError | undefined {
  if (row?.orderKey != null && COORDINATORS_OWN.has(row.orderKey))
    return OperatingError.denied("NOT_YOURS_TO_SAY", `only the main process may publish ${event.eventType}`, {
      hint: "Use an event about your own node instead, such as ERROR.",
    });
  const { node_id } = event.payload;
  if (typeof node_id !== "string" || speaksFor(node_id)) return undefined;
  return OperatingError.denied(
    "NOT_YOUR_NODE",
    `${event.eventType}: you cannot speak for node '${node_id.slice(0, 100)}'`,
    { hint: "Use your own node_id, or leave it out." },
  );
}

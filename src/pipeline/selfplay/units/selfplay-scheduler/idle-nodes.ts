/** Nodes that could take jobs at once: what is heard of them, and whom to ask. */
import { onEach } from "../../../../daemons/index.ts";
import type { PayloadFor, RouterEvent } from "../../../../events/index.ts";
import type { WriteSet } from "../../../../router/index.ts";
import type { StageServices } from "../../../stage/index.ts";
import { IDLE_ASK_MS, IDLE_GOOD_FOR_MS, MAX_IDLE_ASKED } from "../../limits.ts";
import { goals, idleNodes } from "../../tables.ts";

/** A node of which nothing was heard for so long is forgotten. */
const FORGOTTEN_MS = 86_400_000;

interface Heard {
  readonly rows: WriteSet;
  readonly now: number;
}
interface Asking extends Heard {
  readonly emit: { IDLE_STATE_REQUEST(payload: PayloadFor<"IDLE_STATE_REQUEST">): unknown };
}

const TOLD = ["IDLE_RESOURCE_DETECTED", "IDLE_STATE_BROADCAST"] as const;
const GONE = [
  "NODE_RETIRED",
  "NODE_UNHEALTHY",
  "NODE_RECOVERED",
  "NODE_OVERLOADED",
  "NODE_TERMINATED",
  "HOST_OFFLINE",
  "P2P_NODE_DEAD",
] as const;
type News = (typeof TOLD)[number] | (typeof GONE)[number] | "NODE_ACTIVATED";

// Named by its type: written out, the payloads of so many events are longer than a declaration may be.
export const idleNews: { readonly [N in News]: (event: RouterEvent<N>, context: Heard) => void | Promise<void> } = {
  ...onEach(TOLD, ({ payload }, { rows, now }: Heard) => {
    const { node_id, free_slots } = payload;
    const isIdle = !("idle" in payload) || payload.idle;
    const asked_at = rows.get(idleNodes, node_id)?.asked_at ?? 0;
    rows.put(idleNodes, node_id, { free_slots: isIdle ? free_slots : 0, at: now, asked_at });
  }),
  // What a node had free before it fell ill, went or came back is no room for jobs; who can work again is asked anew.
  ...onEach(GONE, ({ payload: { node_id } }, { rows }: Heard) => {
    if (rows.get(idleNodes, node_id) !== undefined) rows.delete(idleNodes, node_id);
  }),
  ...onEach(["NODE_ACTIVATED"], ({ payload: { node_id } }, { rows, now }: Heard) => {
    const known = rows.get(idleNodes, node_id);
    // What it could still take it says itself; until then it counts for nothing.
    if (known !== undefined) rows.put(idleNodes, node_id, { ...known, free_slots: 0, at: now });
  }),
};

/** While jobs wait only for room in the queue, nodes of which nothing is known are asked whether they have some. */
export function askIdle({ workersFor }: StageServices, { rows, emit, now }: Asking): void {
  for (const [node, { at }] of rows.list(idleNodes)) if (now - at > FORGOTTEN_MS) rows.delete(idleNodes, node);
  const isHeldUp = rows.list(goals).some(([, { waits }]) => waits.some((wait) => wait.for === "room_in_queue"));
  if (!isHeldUp) return;
  const unknown = workersFor("selfplay").filter((node) => {
    const known = rows.get(idleNodes, node);
    return known === undefined || (now - known.at > IDLE_GOOD_FOR_MS && now - known.asked_at > IDLE_ASK_MS);
  });
  for (const node_id of unknown.slice(0, MAX_IDLE_ASKED)) {
    const { at = 0 } = rows.get(idleNodes, node_id) ?? {};
    rows.put(idleNodes, node_id, { free_slots: 0, at, asked_at: now });
    emit.IDLE_STATE_REQUEST({ node_id, reason: "games wait for room in the queue" });
  }
}

/**
 * outbox: the journal of a node that is away from its coordinator.
 *
 * A node has no router of its own. What it says is written into one small file beside it and sent on, in order, as soon as
 * the coordinator answers; every event says how far it has come: `node` when this file has it, `cluster` when the journal
 * has it.
 *
 * It guarantees that
 * - a durable event is checked by the catalog and flushed to this node's disk when `publish` resolves; what a unit of the
 *   node changes and says in one piece of work is one commit;
 * - what was kept is sent until the coordinator has answered, oldest first, over restarts and kill -9, and counts once there
 *   because the journal knows its id;
 * - an event that the coordinator refuses is set aside with the reason, is never deleted but by a person, and holds up nobody;
 * - it is bounded in events and bytes; at the bound the newest is refused with OUTBOX_FULL, and nothing is ever dropped;
 * - its books balance: kept = forwarded + discarded + what is in it, counted in the same commits;
 * - a passing (volatile) event is sent while somebody answers, and dropped otherwise, counted.
 *
 * Several processes may write one file; one of them, the worker, sends.
 */

export type { OutboxBounds } from "../settings.ts";
export { createForwarder, type ForwardPort, type ForwardVerdict } from "./forwarder.ts";
export { whyNodeMayNot } from "./node-rights.ts";
export { createOutbox, type Outbox } from "./outbox.ts";
export { outboxModule } from "./tables.ts";

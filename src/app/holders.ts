/** What the copies of artifacts need to know of nodes: `sync` and `cluster` do not know each other. */
import type { NodeRegistry } from "../cluster/index.ts";
import type { HolderFacts } from "../sync/index.ts";

/** Tags of machines that may be taken away at any time. */
const RENTED = new Set(["rented", "ephemeral"]);
/** Whether a machine with these tags may be taken away. */
export const isRented = (tags: readonly string[] = []): boolean => tags.some((tag) => RENTED.has(tag));

export const holdersIn = (book: Pick<NodeRegistry, "list" | "nameOf">, ownTags: readonly string[]): HolderFacts[] =>
  book.list().map(({ node_id, state, local, incarnation, capabilities, load, draining }) => ({
    node_id,
    name: book.nameOf(node_id),
    isThere: local || state === "online" || state === "suspect",
    isLeaving: draining,
    isLate: !local && state === "suspect",
    isRented: isRented(local ? ownTags : capabilities.tags),
    incarnation,
    kinds: capabilities.kinds ?? [],
    freeCpus: load?.free.cpu ?? 0,
  }));

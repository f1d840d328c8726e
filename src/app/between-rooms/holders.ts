/** What the copies of artifacts need to know of nodes: `sync` and `cluster` do not know each other. */
import type { Availability, NodeRegistry } from "../../cluster/index.ts";
import type { HolderFacts } from "../../sync/index.ts";

/** Tags of machines that may be taken away at any time. */
const RENTED = new Set(["rented", "ephemeral"]);
/** Whether a machine with these tags may be taken away. */
export const isRented = (tags: readonly string[] = []): boolean => tags.some((tag) => RENTED.has(tag));

/** What a worker does that takes whatever there is. */
const ANY_WORK = ["selfplay", "export", "training", "evaluation"];

export const holdersIn = (
  book: Pick<NodeRegistry, "list" | "nameOf">,
  availability: Pick<Availability, "isThere" | "barrier">,
  ownTags: readonly string[],
  workers: readonly { readonly node_id: string; readonly kinds?: readonly string[] | undefined }[] = [],
): HolderFacts[] => {
  const kindsOf = new Map(workers.map(({ node_id, kinds }) => [node_id, kinds ?? ANY_WORK]));
  return book.list().map(({ node_id, state, local, incarnation, capabilities, load, draining, address }) => {
    const barrier = availability.barrier(node_id, "data");
    return {
      node_id,
      name: book.nameOf(node_id),
      isThere: availability.isThere(node_id, state),
      barred: barrier?.reason,
      isBarredForNow: barrier !== undefined && barrier.isDecided !== true,
      isLeaving: draining,
      isLate: !local && state === "suspect",
      isRented: isRented(local ? ownTags : capabilities.tags),
      incarnation,
      kinds: kindsOf.get(node_id) ?? capabilities.kinds ?? [],
      freeCpus: load?.free.cpu ?? 0,
      address,
    };
  });
};

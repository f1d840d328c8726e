import type { Declaration } from "./shape.ts";

/**
 * The name under which a unit consumes and speaks. It never hears what was said under its own; a unit that runs on every
 * node does hear its siblings on the others.
 */
export const consumerOf = ({ name, placement }: Pick<Declaration, "name" | "placement">, nodeId: string): string => {
  if (placement === "leader") return name;
  // Of the processes of a node, only the main one runs units.
  return placement === "each-node" ? `${name}@${nodeId}` : `${name}@${nodeId}/main`;
};

/** The unit behind a consumer or a source. */
export const unitNameOf = (identity: string): string => identity.split("@", 1)[0]!;

import type { Copies } from "./copies.ts";

/** Nodes that shall ask for their orders before they would by themselves. Lost with the process: they ask soon anyway. */
export function createNodeCalls(copies: Pick<Copies, "nodes">) {
  const called = new Set<string>();
  return {
    /** Has a node ask for its orders with its next sign of life. */
    wake(nodeId: string): void {
      if (copies.nodes().has(nodeId)) called.add(nodeId);
    },
    isWanted: (nodeId: string): boolean => called.has(nodeId),
    answered: (nodeId: string): void => void called.delete(nodeId),
  };
}

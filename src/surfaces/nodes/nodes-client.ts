/** The nodes as a program beside the main process sees them. */
import { findNode, healthyNodesOf, type NodeHealthState, nodeHealthOf } from "../../cluster/index.ts";
import { callTo, type Sender } from "../client/call.ts";
import { listNodes } from "./wire.ts";

export function nodesOver(sender: Sender<{ timeoutMs?: number }>) {
  const list = async () => (await callTo(sender, listNodes)).nodes;
  return {
    list,
    /** Of one node, by its id or its label. */
    health: async (name: string): Promise<NodeHealthState> => nodeHealthOf(findNode(await list(), name)),
    /** Ids of those that are heard in time and get work. */
    healthy: async (): Promise<string[]> => healthyNodesOf(await list()),
  };
}

export type NodesClient = ReturnType<typeof nodesOver>;

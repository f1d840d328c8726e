import { isGuest, type NodeView } from "../../cluster/index.ts";
import { unitNameOf } from "../../daemons/index.ts";
import { defined, OperatingError } from "../../kernel/index.ts";
import type { ControlPorts } from "./ports.ts";
import type { Caller } from "./route.ts";

type NamingPorts = Pick<ControlPorts, "nodes" | "tokens">;

/** What a claim says of whoever makes it. */
interface Claim extends Pick<NodeView, "node_id"> {
  readonly offer: NodeView["capabilities"];
  readonly kinds?: readonly string[] | undefined;
}

const notYours = (nodeId: string, hint: string) =>
  OperatingError.denied("NOT_YOUR_NODE", `you cannot speak for node '${nodeId.slice(0, 100)}'`, { hint });

/**
 * A node speaks for itself alone. Who runs the cluster, or sits at its socket, may speak for every node; a worker with a
 * token for those that came with the same token, and for those that nobody knows as a node. A name whose token opens nothing
 * any more, or that was left, is free.
 */
export function mayNameNode(caller: Caller, nodeId: string, { nodes, tokens }: NamingPorts): boolean {
  if (caller.scope === "operator") return true;
  if (caller.nodeId !== undefined) return nodeId === caller.nodeId;
  const row = nodes.book.row(nodeId);
  if (row === undefined) return true;
  if (!isGuest(row)) return false;
  return row.token_id === caller.tokenId || row.state === "left" || !tokens.isActive(row.token_id);
}

/** Whoever asks for work with a token is a node from here on. */
export async function enlist({ tokenId, actor, from }: Caller, claim: Claim, { nodes }: NamingPorts): Promise<void> {
  if (tokenId === null) return;
  const { node_id, offer, kinds } = claim;
  await nodes.book.enlist({
    node_id,
    tokenId,
    actor,
    address: from,
    capabilities: { ...offer, ...defined({ kinds }) },
  });
}

export function assertSpeaksFor(caller: Caller, nodeIds: readonly string[], ports: NamingPorts): void {
  for (const nodeId of nodeIds)
    if (!mayNameNode(caller, nodeId, ports))
      throw notYours(
        nodeId,
        caller.nodeId === undefined
          ? "That name belongs to another node or token. Choose another name."
          : `Name your own node_id, ${caller.nodeId}.`,
      );
}

/** Tells whether a source or consumer is a unit of this process. */
export function ownUnits({ router, daemons }: Pick<ControlPorts, "router" | "daemons">): (name: string) => boolean {
  const names = daemons.holds();
  return (name) => {
    const unit = unitNameOf(name);
    const place = name.slice(unit.length + 1);
    const here = place === "" || place === router.nodeId || place.startsWith(`${router.nodeId}/`);
    return here && names.has(unit);
  };
}

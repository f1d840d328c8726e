import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { NodeRegistry } from "./node-registry.ts";
import { isSignedBy, readNodeHeader, type SignedRequest } from "./signature.ts";

/** A node that says who it is, and has not proven it yet. */
export interface UnprovenNode {
  readonly nodeId: string;
  readonly label: string;
  /** Refuses unless the node signed exactly this, and has not said it before. */
  prove(request: SignedRequest): void;
}

export interface NodeGatePorts {
  readonly nodes: Pick<NodeRegistry, "row" | "session" | "heard" | "assertIncarnation">;
  readonly clock: Clock;
  /** A random id of this run of the main process: what was recorded before a restart is worth nothing after it. */
  readonly boot: string;
}

export type NodeGate = ReturnType<typeof createNodeGate>;

const MAX_SKEW_MS = 300_000;

/** Who a node is, by its signature: each request counts once, in one run of the coordinator, at about its time. */
export function createNodeGate({ nodes, clock, boot }: NodeGatePorts) {
  return {
    boot,
    /** Reads the header; what can be refused without the body is refused here. */
    open(header: string): UnprovenNode {
      const claim = readNodeHeader(header);
      const { nodeId } = claim;
      const row = nodes.row(nodeId);
      const session = nodes.session(nodeId);
      if (row === undefined || session === undefined)
        throw OperatingError.notFound("UNKNOWN_NODE", `no node '${nodeId}' has joined here`, {
          status: 401,
          hint: "Join again: ringrift join <url> <token>.",
        });
      if (claim.boot !== boot)
        throw OperatingError.denied("NODE_SESSION_STALE", "the coordinator has restarted: sign with its new boot id", {
          status: 401,
          showsDetails: true,
          retryable: true,
          details: { boot },
        });
      const now = clock.now();
      if (Math.abs(claim.issuedAt * 1_000 - now) > MAX_SKEW_MS)
        throw OperatingError.denied(
          "CLOCK_SKEW",
          `the clock of node ${nodeId} is ${Math.round(claim.issuedAt - now / 1_000)} s off; ${MAX_SKEW_MS / 1_000} s are allowed`,
          {
            status: 401,
            showsDetails: true,
            hint: "Set the clock of that machine (NTP).",
            details: { server_time: now / 1_000 },
          },
        );
      return {
        nodeId,
        label: row.label,
        prove(request) {
          if (!isSignedBy(session.key, claim, request))
            throw OperatingError.denied("BAD_SIGNATURE", `this request was not signed by node ${nodeId}`, {
              status: 401,
              hint: "The key, the path, the body or a header differs from what was signed.",
            });
          nodes.assertIncarnation(nodeId, claim.incarnation);
          if (!session.begin(claim.incarnation).take(claim.counter))
            throw OperatingError.denied(
              "REPLAYED_REQUEST",
              `request ${claim.counter} of node ${nodeId} was here before`,
              { status: 401, hint: "Increase the counter with every request." },
            );
          nodes.heard(nodeId);
        },
      };
    },
  };
}

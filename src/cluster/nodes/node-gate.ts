import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { NodeBook } from "./node-book.ts";
import { isSignedBy, readNodeHeader, type SignedRequest } from "./signature.ts";

/** A node that says who it is, and has not proven it yet. */
export interface UnprovenNode {
  readonly nodeId: string;
  readonly label: string;
  /** Refuses unless the node signed exactly this, and has not said it before. */
  prove(request: SignedRequest): void;
}

export interface NodeGatePorts {
  readonly book: Pick<NodeBook, "row" | "session" | "heard" | "assertIncarnation">;
  readonly clock: Clock;
  /** A random id of this run of the main process: what was recorded before a restart is worth nothing after it. */
  readonly boot: string;
  readonly mostSkewMs?: number;
}

export interface NodeGate {
  readonly boot: string;
  /** Reads the header; what can be refused without the body is refused here. */
  open(header: string): UnprovenNode;
}

const MOST_SKEW_MS = 300_000;

/** Who a node is, by its signature: each request counts once, in one run of the coordinator, at about its time. */
export function createNodeGate({ book, clock, boot, mostSkewMs = MOST_SKEW_MS }: NodeGatePorts): NodeGate {
  return {
    boot,
    open(header) {
      const claim = readNodeHeader(header);
      const { nodeId } = claim;
      const row = book.row(nodeId);
      const session = book.session(nodeId);
      if (row === undefined || session === undefined)
        throw new OperatingError("UNKNOWN_NODE", `no node '${nodeId}' has joined here`, {
          hint: "Join again: ringrift join <url> <token>.",
        });
      if (claim.boot !== boot)
        throw new OperatingError("NODE_SESSION_STALE", "the coordinator was started since: sign with its new boot id", {
          retryable: true,
          details: { boot },
        });
      const now = clock.now();
      if (Math.abs(claim.issuedAt * 1_000 - now) > mostSkewMs)
        throw new OperatingError(
          "CLOCK_SKEW",
          `the clock of node ${nodeId} is ${Math.round(claim.issuedAt - now / 1_000)} s off; ${mostSkewMs / 1_000} s are allowed`,
          { hint: "Set its clock right (NTP).", details: { server_time: now / 1_000 } },
        );
      return {
        nodeId,
        label: row.label,
        prove(request) {
          if (!isSignedBy(session.key, claim, request))
            throw new OperatingError("BAD_SIGNATURE", `this request was not signed by node ${nodeId}`, {
              hint: "The key, the path, the body or a header differs from what was signed.",
            });
          book.assertIncarnation(nodeId, claim.incarnation);
          if (!session.begin(claim.incarnation).take(claim.counter))
            throw new OperatingError("REPLAYED_REQUEST", `request ${claim.counter} of node ${nodeId} was here before`, {
              hint: "Count up with every request.",
            });
          book.heard(nodeId);
        },
      };
    },
  };
}

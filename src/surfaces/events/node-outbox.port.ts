import type { Outbox } from "../../router/outbox/index.ts";

/** The outbox of a node that has joined, as a command sees it and lets go of it. */
export interface OpenNodeOutbox extends AsyncDisposable {
  readonly outbox: Pick<Outbox, "nodeId" | "publish" | "status" | "refused" | "retry" | "discard">;
  /** What people call the node. */
  readonly label: string;
  /** The main process that it has joined. */
  readonly url: string;
  /** Whether the worker that sends is there, where the system lets us see it. */
  readonly worker: "here" | "away" | "unknown";
}

export interface NodeOutboxes {
  /** Undefined where the data folder is not that of a node, or a main process runs on it. */
  open(): Promise<OpenNodeOutbox | undefined>;
}

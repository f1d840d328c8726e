import { randomBytes } from "node:crypto";
import { cpus, hostname, platform, totalmem } from "node:os";
import { join } from "node:path";
import { createNodeGate, createRefusals, NodeBook, type NodeCapabilities } from "../cluster/index.ts";
import type { Clock, Log } from "../kernel/index.ts";
import type { Store } from "../router/index.ts";
import type { NodesPort } from "../surfaces/index.ts";
import { createArtifactStore } from "../sync/index.ts";
import type { Settings } from "./settings.ts";

export interface NodeSurroundings {
  readonly settings: Pick<Settings, "nodeId" | "nodes" | "dataDir">;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
}

/** The cluster that this coordinator leads, in events. */
export const CLUSTER_ID = "main";

/** What the machine of the coordinator has. */
export const ownCapabilities = (): NodeCapabilities => ({
  cpu: cpus().length,
  gpu: 0,
  memory_gb: Math.floor(totalmem() / 1e8) / 10,
  gpu_memory_gb: 0,
  tags: [],
  hostname: hostname(),
  platform: platform(),
});

/** The nodes of a coordinator: their book, the gate where they show who they are, and the store of what they bring. */
export function nodePortsOf({ settings, store, clock, log, version }: NodeSurroundings): NodesPort {
  const book = new NodeBook({
    store,
    clock,
    log,
    timing: settings.nodes.timing,
    localNodeId: settings.nodeId,
    version,
  });
  return {
    book,
    gate: createNodeGate({ book, clock, boot: randomBytes(12).toString("hex") }),
    refusals: createRefusals(clock),
    version,
  };
}

/** Where artifacts of a data folder lie. What its own worker has made it need not be sent. */
export const artifactStoreOf = ({ dataDir, artifacts }: Pick<Settings, "dataDir" | "artifacts">, clock: Clock) =>
  createArtifactStore({
    folder: join(dataDir, "artifacts"),
    mostBytes: artifacts.mostBytes,
    adoptFrom: join(dataDir, "worker", "jobs"),
    clock,
  });

/** Nodes that are there and may have work. */
export const nodesThatWork = (book: Pick<NodeBook, "list" | "barred">): string[] =>
  book
    .list()
    .filter(({ state, node_id }) => state === "online" && book.barred(node_id) === undefined)
    .map(({ node_id }) => node_id);

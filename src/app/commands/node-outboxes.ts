import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Clock, type Random, silentLog } from "../../kernel/index.ts";
import type { NodeOutboxes } from "../../surfaces/commands/index.ts";
import { findEndpoint } from "../../surfaces/index.ts";
import { findHolder } from "../data-folder/own-process.ts";
import type { Settings } from "../settings.ts";
import { joinedNode } from "../worker/node-identity.ts";
import { openOutboxBriefly } from "../worker/node-outbox.ts";

const workerOn = (dataDir: string): "here" | "away" | "unknown" => {
  if (process.platform !== "linux") return "unknown";
  return findHolder(join(dataDir, "worker")) === undefined ? "away" : "here";
};

/** The outbox of the folder that the settings name, where it is that of a node. */
export const nodeOutboxes = (
  settings: () => Pick<Settings, "dataDir" | "worker">,
  ports: { readonly clock: Clock; readonly random: Random },
): NodeOutboxes => ({
  async open() {
    const { dataDir, worker } = settings();
    const node = joinedNode(dataDir);
    const isMain = existsSync(join(dataDir, "coordination.db")) || findEndpoint(dataDir) !== undefined;
    if (node === undefined || isMain) return undefined;
    const outbox = await openOutboxBriefly({
      dataDir,
      nodeId: node.node_id,
      bounds: worker.outbox,
      ...ports,
      log: silentLog(),
    });
    return {
      outbox,
      label: node.label,
      url: node.url,
      worker: workerOn(dataDir),
      [Symbol.asyncDispose]: () => outbox.store.close(),
    };
  },
});

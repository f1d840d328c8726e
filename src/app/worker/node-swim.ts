/** This node as one of those that look after each other. Loaded only where the settings say so. */
import { createPrivateKey } from "node:crypto";
import { udpDatagrams } from "../../adapters/swim/index.ts";
import { type SwimPeer, startSwim } from "../../cluster/swim/index.ts";
import type { Edges } from "../../kernel/index.ts";
import type { NodeKey } from "../../surfaces/index.ts";
import type { Settings } from "../settings.ts";
import type { NodeFile } from "./node-identity.ts";
import { transferPlan } from "./serving-plan.ts";

export interface NodeSwimOptions extends Edges {
  readonly settings: Pick<Settings, "transfers" | "p2p">;
  readonly node: Pick<NodeFile, "node_id" | "url">;
  readonly key: Pick<NodeKey, "publicKey" | "toPem">;
  readonly incarnation: number;
}

const EVERYWHERE = "0.0.0.0";

/** Where others are to reach it for files, they reach it for probes too. */
export async function startNodeSwim({ settings, node, key, incarnation, clock, random, log }: NodeSwimOptions) {
  const { host, name, further } = transferPlan(settings, new URL(node.url));
  const datagrams = await udpDatagrams({ host: host ?? EVERYWHERE, port: settings.p2p.swimPort });
  log.info("this node takes probes of other nodes", { host: host ?? EVERYWHERE, udp_port: datagrams.port });
  const swim = startSwim({
    nodeId: node.node_id,
    incarnation,
    key: { publicKey: key.publicKey, privateKey: createPrivateKey(key.toPem()) },
    ...{ datagrams, clock, random, log },
  });
  return {
    /** For the coordinator, with every beat. */
    report() {
      const { known, reached, lost } = swim.view();
      return {
        host: name,
        ...(further.length === 0 ? {} : { further: [...further] }),
        port: datagrams.port,
        known,
        reached,
        lost,
      };
    },
    know: (peers: readonly SwimPeer[]) => swim.know(peers),
    close: () => swim.close(),
  };
}

export type NodeSwim = Awaited<ReturnType<typeof startNodeSwim>>;

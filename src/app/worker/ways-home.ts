/** The ways by which files come to a joined node: other nodes, its own places, and the coordinator, of several the one that leads now. */
import { defined } from "../../kernel/index.ts";
import type { NodeLink, OfferedBatch } from "../../surfaces/index.ts";
import type { Source, Wanted } from "../../sync/index.ts";
import type { NodeFile } from "./node-identity.ts";

export interface WaysHomePorts {
  readonly link: Pick<NodeLink, "place" | "isOfSeveral">;
  readonly node: Pick<NodeFile, "url" | "ca" | "fingerprint">;
  /** Disks and stores of this node's own. */
  readonly places: readonly Source[];
}

type Offered = OfferedBatch["sources"][number];

/** An address as a URL has it: one of IPv6 in brackets. */
const hostIn = (host: string): string => (host.includes(":") && !host.startsWith("[") ? `[${host}]` : host);

export function createWaysHome({ link, node, places }: WaysHomePorts) {
  /** The coordinator that is asked at the moment. */
  const office = () =>
    link.place ?? { url: new URL(node.url), trust: defined({ ca: node.ca, fingerprint: node.fingerprint }) };

  const sourceOf =
    (list: readonly Wanted[]) =>
    ({ transport, node_id: nodeId, host, port, tls, fingerprint, ticket, coming: isComing }: Offered): Source => {
      const main = office();
      // What the coordinator serves beside its API shows the certificate of its API.
      const trust = host === null ? main.trust : defined({ fingerprint: fingerprint ?? undefined });
      const url = `${tls ? "https" : "http"}://${hostIn(host ?? main.url.hostname)}:${port}`;
      return { transport, nodeId, url, ticket, list, isComing, ...trust };
    };

  const coordinatorNow = (): Source => {
    if (!link.isOfSeveral) return { transport: "coordinator" };
    const { url, trust } = office();
    return { transport: "coordinator", at: { url: url.origin, ...trust } };
  };

  return {
    office,
    /** Other nodes, then disks and stores of this node's own, then what the coordinator serves, and its API as the last. */
    waysFor({ files, sources }: OfferedBatch): Source[] {
      const home = sources.filter(({ transport, host }) => transport === "http" && host === null);
      const isFirst = home.length > 0 && home[0] === sources[0];
      const others = sources.filter((one) => !home.includes(one));
      const [before, after] = isFirst ? [home, others] : [others, home];
      return [...before.map(sourceOf(files)), ...places, ...after.map(sourceOf(files)), coordinatorNow()];
    },
  };
}

/** By which of its addresses this node reaches another one that has several, such as one in its own network and one in a VPN. */
import { connect } from "node:net";
import type { Clock } from "../../kernel/index.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Whether somebody answers there, in time. */
export type Probe = (at: Address, timeoutMs: number) => Promise<boolean>;

export const linkLimits = {
  /** An address that answered is used for so long before all are probed again. */
  freshMs: 30_000,
  probeMs: 1_000,
  /** One that was named earlier is preferred to one that answers sooner by less than this. */
  preferMs: 50,
  maxNodes: 1_000,
  told: 100,
};

/** A connection that comes about is an answer: who it is, the ticket and the certificate show. */
export const tcpProbe: Probe = ({ host, port }, timeoutMs) =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (answers: boolean) => {
      socket.destroy();
      resolve(answers);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });

interface Link {
  /** Empty where none answers. */
  readonly host: string;
  readonly of: number;
  readonly key: string;
  readonly atMs: number;
}

export function createLinks(clock: Clock, probe: Probe = tcpProbe, limits = linkLimits) {
  const known = new Map<string, Link>();
  /** Whoever wants the same at once waits for the same probes. */
  const probing = new Map<string, Promise<string | undefined>>();

  /** The first in their order of those that answer about as soon as the soonest. */
  const firstToAnswer = (hosts: readonly string[], port: number): Promise<string | undefined> =>
    new Promise((resolve) => {
      const answered = new Set<string>();
      let open = hosts.length;
      const decide = () => resolve(hosts.find((host) => answered.has(host)));
      for (const host of hosts)
        void probe({ host, port }, limits.probeMs).then((answers) => {
          open -= 1;
          if (answers) answered.add(host);
          if (open === 0 || (answers && host === hosts[0])) decide();
          else if (answers && answered.size === 1) void clock.after(limits.preferMs, decide);
        });
    });

  const find = async (nodeId: string, hosts: readonly string[], port: number, key: string) => {
    const host = await firstToAnswer(hosts, port);
    known.delete(nodeId);
    known.set(nodeId, { host: host ?? "", of: hosts.length, key, atMs: clock.monotonic() });
    if (known.size > limits.maxNodes) known.delete(known.keys().next().value!);
    return host;
  };

  return {
    /** The address to ask a node at; undefined where none answers. */
    async best(nodeId: string, hosts: readonly string[], port: number): Promise<string | undefined> {
      const key = JSON.stringify([hosts, port]);
      const link = known.get(nodeId);
      if (link?.key === key && link.host !== "" && clock.monotonic() - link.atMs < limits.freshMs) return link.host;
      const under = `${nodeId} ${key}`;
      const running = probing.get(under) ?? find(nodeId, hosts, port, key).finally(() => probing.delete(under));
      probing.set(under, running);
      return running;
    },
    /** Something went wrong there: all are probed before the next time. */
    doubt(nodeId: string): void {
      const link = known.get(nodeId);
      if (link !== undefined) known.set(nodeId, { ...link, atMs: Number.NEGATIVE_INFINITY });
    },
    /** The addresses that are used, as others are told; nothing where no node has several. */
    told: (): { readonly links?: { readonly node_id: string; readonly host: string; readonly of: number }[] } =>
      known.size === 0
        ? {}
        : { links: [...known].slice(-limits.told).map(([node_id, { host, of }]) => ({ node_id, host, of })) },
  };
}

export type Links = ReturnType<typeof createLinks>;

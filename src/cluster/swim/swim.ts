/** A member that runs: its clock, its datagrams, and a bound on what it reads. */
import { type Edges, messageOf } from "../../kernel/index.ts";
import type { Datagrams } from "./datagrams.port.ts";
import { decodeSwim, encodeSwim, type SwimKey } from "./messages.ts";
import { createSwimMember, type SwimPeer, type SwimPolicy, type SwimSend, swimDefaults } from "./swim-member.ts";

export interface SwimOptions extends Edges {
  readonly nodeId: string;
  /** Grows with every start of the node. */
  readonly incarnation: number;
  readonly key: SwimKey;
  readonly datagrams: Datagrams;
  readonly policy?: SwimPolicy;
}

const LOOKS_IN_A_PERIOD = 10;
/** Datagrams that are read in a period; what is more is dropped before its signature is looked at. */
const MAX_READ = 500;

export function startSwim({ nodeId, incarnation, key, datagrams, clock, random, log, ...rest }: SwimOptions) {
  const { policy = swimDefaults } = rest;
  const member = createSwimMember({ nodeId, incarnation }, random, policy);
  let known = new Set<string>();
  let told = "";
  let read = { at: clock.monotonic(), count: 0 };

  const sendAll = (sends: readonly SwimSend[]): void => {
    for (const { to, message } of sends) {
      const bytes = encodeSwim(key, to.node_id, message);
      for (const host of new Set([to.host, ...(to.further ?? [])])) datagrams.send({ host, port: to.port }, bytes);
    }
  };
  datagrams.listen((bytes) => {
    const now = clock.monotonic();
    if (now - read.at >= policy.periodMs) read = { at: now, count: 0 };
    read.count += 1;
    if (read.count > MAX_READ) return;
    const found = decodeSwim(bytes, nodeId, (id) => known.has(id));
    if (found !== undefined) sendAll(member.take(found.from, found.message, now));
  });

  const look = (): void => {
    try {
      sendAll(member.tick(clock.monotonic()));
      const { suspects, lost } = member.view();
      const now = JSON.stringify([suspects, lost]);
      if (now !== told) log.info("nodes that others are asked about", { suspects, lost });
      told = now;
    } catch (thrown) {
      log.warn("other nodes could not be probed", { error: messageOf(thrown) });
    }
    timer = clock.after(policy.periodMs / LOOKS_IN_A_PERIOD, look);
  };
  told = JSON.stringify([[], []]);
  let timer = clock.after(0, look);

  return {
    /** The other nodes, as the coordinator lists them. */
    know(peers: readonly SwimPeer[]): void {
      known = new Set(peers.map(({ node_id }) => node_id));
      member.know(peers, clock.monotonic());
    },
    view: () => member.view(),
    async close(): Promise<void> {
      timer.cancel();
      await datagrams.close();
    },
  };
}

export type RunningSwim = ReturnType<typeof startSwim>;

/** One member of the protocol: whom it probes, whom it suspects, and what it passes on. No sockets, no clock: both are arguments. */
import type { Random } from "../../kernel/index.ts";

export const swimDefaults = {
  /** One probe in so much time; without an answer within the second time, so many others are asked to try. */
  periodMs: 1_000,
  ackMs: 400,
  helpers: 3,
  /** Time that a suspect has to contradict. */
  suspicionMs: 5_000,
  /** Pieces of news in one message. */
  newsAtOnce: 6,
  /** Probes of others that are under way at once. */
  maxRelays: 256,
};
export type SwimPolicy = typeof swimDefaults;

/** Starts of a node count this much: whoever has started anew has contradicted everything before. */
const START = 2 ** 20;

/** A node of the list that the coordinator keeps. */
export interface SwimPeer {
  readonly node_id: string;
  readonly host: string;
  /** Further addresses of it: what is sent goes to all of them, and the way that lives carries it. */
  readonly further?: readonly string[] | undefined;
  readonly port: number;
  /** Grows with every start of the node. */
  readonly incarnation: number;
}

type PeerStatus = "alive" | "suspect" | "dead";
export interface SwimNews {
  readonly id: string;
  readonly status: PeerStatus;
  readonly incarnation: number;
}

export type SwimMessage = { readonly seq: number; readonly news: readonly SwimNews[] } & (
  | { readonly kind: "ping" | "ack" }
  /** Asks another one to try. */
  | { readonly kind: "ask"; readonly about: string }
);

/** A message and whom it is for. */
export interface SwimSend {
  readonly to: SwimPeer;
  readonly message: SwimMessage;
}

interface Known extends Omit<SwimPeer, "incarnation"> {
  incarnation: number;
  status: PeerStatus;
  since: number;
}

interface Probe {
  readonly target: string;
  readonly seq: number;
  readonly at: number;
  readonly helpers: Set<string>;
  isAnswered: boolean;
}

/** Recent probes by which a member judges whether it is cut off itself. */
const RECENT = 8;

const shuffled = <T>(all: readonly T[], random: Random): T[] => {
  const list = [...all];
  for (let i = list.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random.next() * (i + 1));
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list;
};

export function createSwimMember(
  self: { readonly nodeId: string; readonly incarnation: number },
  random: Random,
  policy: SwimPolicy = swimDefaults,
) {
  const peers = new Map<string, Known>();
  const news = new Map<string, { readonly about: SwimNews; sent: number }>();
  const relays = new Map<number, { readonly to: string; readonly seq: number; readonly until: number }>();
  let own = self.incarnation * START;
  let round: string[] = [];
  let probe: Probe | undefined;
  let nextAt = Number.NEGATIVE_INFINITY;
  const recent: boolean[] = [];

  const pass = (about: SwimNews) => void news.set(about.id, { about, sent: 0 });
  const become = (peer: Known, status: PeerStatus, incarnation: number, now: number): void => {
    Object.assign(peer, { incarnation, ...(peer.status === status ? {} : { status, since: now }) });
    pass({ id: peer.node_id, status, incarnation });
  };

  /** What one hears of another; the newer incarnation counts, and of one incarnation the worse word. */
  const hear = ({ id, status, incarnation }: SwimNews, now: number): void => {
    if (id === self.nodeId) {
      if (status === "alive" || incarnation < own) return;
      own = incarnation + 1;
      pass({ id, status: "alive", incarnation: own });
      return;
    }
    const peer = peers.get(id);
    if (peer === undefined) return;
    const isNewer = incarnation > peer.incarnation;
    const isWorse =
      incarnation === peer.incarnation && (status === "dead" ? peer.status !== "dead" : peer.status === "alive");
    if (isNewer ? status !== peer.status || status === "alive" : status !== "alive" && isWorse)
      become(peer, status, incarnation, now);
    else if (isNewer) peer.incarnation = incarnation;
  };

  /** The word about whoever is spoken to comes first: only it can contradict. */
  const newsFor = (to: string): SwimNews[] => {
    const most = 3 * Math.ceil(Math.log2(peers.size + 2));
    const { status = "alive", incarnation = 0 } = peers.get(to) ?? {};
    const first: SwimNews[] = status === "alive" ? [] : [{ id: to, status, incarnation }];
    const rest = [...news.values()]
      .filter(({ about }) => about.id !== to)
      .sort((a, b) => a.sent - b.sent)
      .slice(0, policy.newsAtOnce - first.length);
    for (const each of rest) {
      each.sent += 1;
      if (each.sent >= most) news.delete(each.about.id);
    }
    return [...first, ...rest.map(({ about }) => about)];
  };

  const send = (to: Known, message: Omit<SwimMessage, "news"> & { readonly about?: string }): SwimSend => ({
    to,
    message: { ...message, news: newsFor(to.node_id) } as SwimMessage,
  });

  const nextTarget = (): Known | undefined => {
    if (round.length === 0) round = shuffled([...peers.keys()], random);
    for (;;) {
      const id = round.pop();
      if (id === undefined) return undefined;
      const peer = peers.get(id);
      if (peer !== undefined) return peer;
    }
  };

  const note = (isAnswered: boolean): void => {
    recent.push(isAnswered);
    if (recent.length > RECENT) recent.shift();
  };

  /** The probe that is under way: others are asked, then it is judged. */
  const pursue = (now: number): SwimSend[] => {
    if (probe === undefined) return [];
    const target = peers.get(probe.target);
    if (target === undefined || probe.isAnswered || now - probe.at >= policy.periodMs) {
      if (target !== undefined) note(probe.isAnswered);
      if (target?.status === "alive" && !probe.isAnswered) become(target, "suspect", target.incarnation, now);
      probe = undefined;
      return [];
    }
    if (probe.helpers.size > 0 || now - probe.at < policy.ackMs) return [];
    const { seq, target: about } = probe;
    const able = [...peers.values()].filter(({ node_id, status }) => node_id !== about && status === "alive");
    const helpers = shuffled(able, random).slice(0, policy.helpers);
    for (const { node_id } of helpers) probe.helpers.add(node_id);
    return helpers.map((helper) => send(helper, { kind: "ask", seq, about }));
  };

  return {
    /** The list of the coordinator: whoever is not in it is nobody. */
    know(all: readonly SwimPeer[], now: number): void {
      const listed = new Map(all.filter(({ node_id }) => node_id !== self.nodeId).map((peer) => [peer.node_id, peer]));
      for (const id of peers.keys()) if (!listed.has(id)) peers.delete(id);
      for (const { node_id, host, further, port, incarnation } of listed.values()) {
        const known = peers.get(node_id);
        const least = incarnation * START;
        if (known === undefined)
          peers.set(node_id, { node_id, host, further, port, incarnation: least, status: "alive", since: now });
        else if (least > known.incarnation)
          Object.assign(known, { host, further, port, incarnation: least, status: "alive", since: now });
        else Object.assign(known, { host, further, port });
      }
    },
    tick(now: number): SwimSend[] {
      for (const [seq, { until }] of relays) if (until <= now) relays.delete(seq);
      for (const peer of peers.values())
        if (peer.status === "suspect" && now - peer.since >= policy.suspicionMs)
          become(peer, "dead", peer.incarnation, now);
      const sends = pursue(now);
      if (probe !== undefined || now < nextAt) return sends;
      const target = nextTarget();
      if (target === undefined) return sends;
      nextAt = now + policy.periodMs;
      probe = { target: target.node_id, seq: random.bits(), at: now, helpers: new Set(), isAnswered: false };
      return [...sends, send(target, { kind: "ping", seq: probe.seq })];
    },
    take(from: string, message: SwimMessage, now: number): SwimSend[] {
      const sender = peers.get(from);
      if (sender === undefined) return [];
      for (const each of message.news) hear(each, now);
      const { kind, seq } = message;
      if (kind === "ping") return [send(sender, { kind: "ack", seq })];
      if (kind === "ask") {
        const target = peers.get(message.about);
        if (target === undefined || relays.size >= policy.maxRelays) return [];
        const relayed = random.bits();
        relays.set(relayed, { to: from, seq, until: now + policy.periodMs });
        return [send(target, { kind: "ping", seq: relayed })];
      }
      if (probe?.seq === seq && (from === probe.target || probe.helpers.has(from))) probe.isAnswered = true;
      const relay = relays.get(seq);
      const asker = relay && peers.get(relay.to);
      if (relay === undefined || asker === undefined) return [];
      relays.delete(seq);
      return [send(asker, { kind: "ack", seq: relay.seq })];
    },
    /** `reached`: how many others it reaches, by its last probes; `lost`: those that nobody who was asked reaches. */
    view() {
      const lost = [...peers.values()].filter(({ status }) => status === "dead").map(({ node_id }) => node_id);
      const suspects = [...peers.values()].filter(({ status }) => status === "suspect").map(({ node_id }) => node_id);
      const share = recent.length === 0 ? 1 : recent.filter(Boolean).length / recent.length;
      return { known: peers.size, reached: Math.round(share * peers.size), suspects, lost };
    },
  };
}

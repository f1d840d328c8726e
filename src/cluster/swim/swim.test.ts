/** Nodes that look after each other, on a network of the test: the code that runs, with its signatures, on virtual time. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { rounds } from "../../../test/support/thorough.ts";
import { type Random, seededRandom, silentLog, virtualClock } from "../../kernel/index.ts";
import { nodeIdOf } from "../nodes/identity.ts";
import type { Datagrams } from "./datagrams.port.ts";
import { decodeSwim, encodeSwim } from "./messages.ts";
import { type RunningSwim, startSwim } from "./swim.ts";
import { type SwimMessage, type SwimPeer, swimDefaults } from "./swim-member.ts";

interface Node {
  readonly id: string;
  readonly port: number;
  readonly key: { readonly publicKey: string; readonly privateKey: KeyObject };
  starts: number;
  swim: RunningSwim;
  hear: (bytes: Buffer) => void;
  /** It runs, and its network takes what it sends. */
  isStopped: boolean;
}

const keys = () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
  return { id: nodeIdOf(raw), publicKey: raw.toString("base64"), privateKey };
};
/** Made once: keys cost more than all probes of a test. */
const KEYS = Array.from({ length: 12 }, keys);

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

function network(count: number, { seed = 1, loss = 0 }: { seed?: number; loss?: number } = {}) {
  const clock = virtualClock();
  const random: Random = seededRandom(seed);
  const nodes: Node[] = [];
  const cut = new Set<string>();
  const nodeAt = (port: number) => nodes.find((node) => node.port === port);
  const sent: Buffer[] = [];
  const datagramsOf = (node: Node): Datagrams => ({
    port: node.port,
    send({ port }, bytes) {
      sent.push(bytes);
      const to = nodeAt(port);
      if (to === undefined || node.isStopped || random.next() < loss) return;
      if (cut.has(`${node.id} ${to.id}`) || cut.has(`${to.id} ${node.id}`)) return;
      clock.after(1 + 20 * random.next(), () => (to.isStopped ? undefined : to.hear(bytes)));
    },
    listen(hear) {
      node.hear = hear;
    },
    close: async () => undefined,
  });
  const start = (node: Node) => {
    node.starts += 1;
    const { id: nodeId, key, starts: incarnation } = node;
    const mine = { ...clock, after: (ms: number, run: () => void) => clock.after(ms, () => !node.isStopped && run()) };
    const ports = { datagrams: datagramsOf(node), clock: mine, random, log: silentLog() };
    node.swim = startSwim({ nodeId, key, incarnation, ...ports });
    open.push(node.swim);
  };
  for (const [at, key] of KEYS.slice(0, count).entries()) {
    const node = { id: key.id, key, port: 1_000 + at, starts: 0, hear: () => undefined, isStopped: false };
    nodes.push(node as unknown as Node);
    start(nodes.at(-1)!);
  }
  const list = (): SwimPeer[] =>
    nodes.map(({ id: node_id, port, starts: incarnation }) => ({ node_id, host: "x", port, incarnation }));
  const tell = () => {
    for (const { swim } of nodes) swim.know(list());
  };
  tell();
  const lostBy = (node: Node) => nodes.filter(({ swim }) => swim.view().lost.includes(node.id)).length;
  return {
    clock,
    nodes,
    sent,
    start,
    tell,
    lostBy,
    lost: () => nodes.reduce((sum, node) => sum + lostBy(node), 0),
    sever(one: Node, others: readonly Node[]) {
      for (const other of others) cut.add(`${one.id} ${other.id}`);
    },
    heal: () => cut.clear(),
    pass(seconds: number) {
      const until = clock.now() + seconds * 1_000;
      clock.after(seconds * 1_000, () => undefined);
      while (clock.now() < until && clock.step());
    },
  };
}

describe("nodes that look after each other", () => {
  test("one that stops is lost for all others soon, and nobody else is", () => {
    const { nodes, pass, lostBy, lost } = network(8);
    pass(20);
    expect(lost()).toBe(0);
    const [gone, ...rest] = nodes as [Node, ...Node[]];
    gone.isStopped = true;
    // A round over all, the suspicion, and time for the word to go round.
    pass(8 + swimDefaults.suspicionMs / 1_000 + 12);
    expect(lostBy(gone)).toBe(rest.length);
    for (const node of rest) expect(lostBy(node)).toBe(0);
  });

  test("one line that is down makes nobody suspect: others are asked to try", () => {
    const { nodes, sever, pass, lost } = network(5);
    const [one, other] = nodes as [Node, Node];
    sever(one, [other]);
    pass(40);
    expect(lost()).toBe(0);
    for (const { swim } of nodes) expect(swim.view()).toEqual({ known: 4, reached: 4, suspects: [], lost: [] });
  });

  test("without others to ask, one line that is down is all there is to judge by", () => {
    const { nodes, sever, pass, lostBy } = network(2);
    sever(nodes[0]!, [nodes[1]!]);
    pass(20);
    expect(lostBy(nodes[1]!)).toBe(1);
  });

  test("whoever is cut off knows it by itself, is lost for the others, and contradicts when it is back", () => {
    const { nodes, sever, heal, pass, lostBy } = network(6);
    const [alone, ...rest] = nodes as [Node, ...Node[]];
    pass(10);
    sever(alone, rest);
    pass(12);
    expect(alone.swim.view().reached).toBeLessThan(0.55 * 5);
    for (const { swim } of rest) expect(swim.view().reached).toBeGreaterThan(0.55 * 5);
    pass(20);
    expect(lostBy(alone)).toBe(rest.length);
    heal();
    pass(40);
    expect(lostBy(alone)).toBe(0);
    expect(alone.swim.view()).toMatchObject({ lost: [], suspects: [], reached: 5 });
  });

  test("a node that has started anew is there at once, whatever was said of its last life", () => {
    const { nodes, pass, lostBy, start, tell } = network(5);
    const [back] = nodes as [Node];
    back.isStopped = true;
    pass(30);
    expect(lostBy(back)).toBe(4);
    back.isStopped = false;
    start(back);
    tell();
    expect(lostBy(back)).toBe(0);
    pass(30);
    expect(lostBy(back)).toBe(0);
  });

  test("a tenth of all datagrams is lost for minutes, and nobody is taken for dead", () => {
    for (let seed = 1; seed <= rounds(1, 30); seed += 1) {
      const { pass, lost } = network(6, { seed, loss: 0.1 });
      for (let minute = 0; minute < 2; minute += 1) {
        pass(60);
        expect(lost(), `seed ${seed}`).toBe(0);
      }
    }
  });

  test("whoever the coordinator no longer lists is nobody", () => {
    const { nodes, pass } = network(4);
    pass(5);
    const [first] = nodes as [Node];
    first.swim.know([]);
    expect(first.swim.view()).toEqual({ known: 0, reached: 0, suspects: [], lost: [] });
  });
});

describe("a datagram", () => {
  const [mine, theirs, stranger] = KEYS as [(typeof KEYS)[number], (typeof KEYS)[number], (typeof KEYS)[number]];
  const news = [{ id: mine.id, status: "suspect" as const, incarnation: 7 }];
  const message: SwimMessage = { kind: "ping", seq: 1, news };
  const isKnown = (id: string) => id === theirs.id;

  test("says who sent it, and what", () => {
    expect(decodeSwim(encodeSwim(theirs, mine.id, message), mine.id, isKnown)).toEqual({ from: theirs.id, message });
    const asked: SwimMessage = { kind: "ask", seq: 2, about: stranger.id, news: [] };
    expect(decodeSwim(encodeSwim(theirs, mine.id, asked), mine.id, isKnown)?.message).toEqual(asked);
  });

  test("of a stranger, for somebody else, changed on its way, or of any other shape is dropped", () => {
    const sound = encodeSwim(theirs, mine.id, message);
    expect(decodeSwim(encodeSwim(stranger, mine.id, message), mine.id, isKnown)).toBeUndefined();
    expect(decodeSwim(sound, stranger.id, isKnown)).toBeUndefined();
    for (let at = 0; at < sound.length; at += 7) {
      const bent = Buffer.from(sound);
      bent[at]! ^= 1;
      expect(decodeSwim(bent, mine.id, isKnown), `byte ${at}`).toBeUndefined();
    }
    for (const odd of ["", "{}", "x".repeat(3_000), JSON.stringify({ kind: "ping" })])
      expect(decodeSwim(Buffer.from(odd), mine.id, isKnown)).toBeUndefined();
  });

  test("passes every network in one piece, also with as much news as it may carry", () => {
    const much = Array.from({ length: swimDefaults.newsAtOnce }, (_, n) => ({
      ...{ id: KEYS[n]!.id, status: "suspect" as const, incarnation: Number.MAX_SAFE_INTEGER },
    }));
    const bytes = encodeSwim(theirs, mine.id, { kind: "ask", seq: 0xffff_ffff, about: stranger.id, news: much });
    expect(bytes.length).toBeLessThan(1_200);
  });
});

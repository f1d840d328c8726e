import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nodeKey } from "../../../../test/support/node-keys.ts";
import { rounds } from "../../../../test/support/thorough.ts";
import { sourcesWorld } from "../../../../test/unit/sync/sources-world.ts";
import { systemClock } from "../../../kernel/index.ts";
import { listClaim, signTicket } from "../../../sync/transfer/ticket.ts";
import { newFolder, type Receiver, receiver, wantedOf } from "../../../sync/transport.contract.ts";
import type { Transport, Wanted } from "../../../sync/transport.port.ts";
import { createArtifactServer } from "./artifact-server.ts";
import { httpTransport } from "./http-transport.ts";

const coordinator = generateKeyPairSync("ed25519");
const clock = systemClock();
const CHUNK = 64 * 1_024;

/** A node that fetches, and gives to others what it has and what is coming to it. */
async function startNode({ key = nodeKey(), stallMs = 30_000 } = {}) {
  const folder = newFolder();
  const here = receiver({ folder, stallMs, chunkBytes: CHUNK });
  const served = { bytes: 0 };
  const server = createArtifactServer({
    folder,
    nodeId: key.nodeId,
    key: () => coordinator.publicKey,
    clock,
    budget: {
      async spend(bytes) {
        served.bytes += bytes;
      },
    },
    growing: here.growing,
    onRefused: ({ code, message }) => expect.unreachable(`${code} ${message}`),
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const vanish = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(vanish);
  return {
    key,
    here,
    port,
    served,
    vanish,
    give(content: Uint8Array): Wanted {
      const wanted = wantedOf(content);
      mkdirSync(join(folder, wanted.sha256.slice(0, 2)), { recursive: true });
      writeFileSync(join(folder, wanted.sha256.slice(0, 2), wanted.sha256), content);
      return wanted;
    },
  };
}
type Node = Awaited<ReturnType<typeof startNode>>;

/** The way from one node to another, as the coordinator allows it. */
function way(from: Node, to: Node, wanted: Wanted, isComing = false): Transport {
  const seconds = Math.floor(Date.now() / 1_000);
  const [list, nodeId] = [[wanted], from.key.nodeId];
  const claim = {
    ...listClaim(list),
    from: nodeId,
    to: to.key.nodeId,
    issuedAt: seconds - 1,
    expiresAt: seconds + 600,
  };
  const ticket = signTicket(claim, coordinator.privateKey);
  const transport = httpTransport({
    url: `http://127.0.0.1:${from.port}`,
    nodeId,
    ticket,
    list,
    isComing,
    bearer: to.key,
  });
  onTestFinished(() => void transport.close());
  return transport;
}

const expectHere = (here: Receiver, wanted: Wanted, content: Buffer) =>
  expect(here.has(wanted)?.equals(content)).toBe(true);

test("many nodes that want one model at once make the coordinator send it a few times, and every one of them gets it", async () => {
  const content = randomBytes(2_500_000);
  const keys = Array.from({ length: rounds(20, 50) }, () => nodeKey());
  const w = await sourcesWorld(
    { model: content.length },
    keys.map(({ nodeId }) => nodeId),
    coordinator,
  );
  onTestFinished(w.close);
  const home = await startNode({ key: { ...nodeKey(), nodeId: "n1" } });
  const wanted = home.give(content);
  const nodes = new Map([["n1", home]]);
  for (const key of keys) nodes.set(key.nodeId, await startNode({ key }));
  const began = [...nodes.values()].slice(1).map((node) => {
    const [batch] = w.sources.planNamed(node.key.nodeId, [w.shaOf("model")]);
    const ways = batch!.sources.map(({ node_id, coming }) => way(nodes.get(node_id)!, node, wanted, coming));
    return node.here.fetch([wanted], ways);
  });
  for (const report of await Promise.all(began)) expect(report.arrived).toEqual([wanted.sha256]);
  for (const node of [...nodes.values()].slice(1)) expectHere(node.here, wanted, content);
  expect(home.served.bytes).toBeGreaterThanOrEqual(content.length);
  expect(home.served.bytes).toBeLessThanOrEqual(5 * content.length);
});

/** What a place sends of a file that it has, changed on its way. */
const bent = (place: string, content: Buffer, bend: (at: number) => Promise<Buffer | "hang"> | Buffer | "hang") => ({
  name: "http" as const,
  place,
  probe: async () => {},
  async *read(_: Wanted, { start, signal }: { readonly start: number; readonly signal: AbortSignal }) {
    for (let at = start; at < content.length; at += CHUNK) {
      const piece = await bend(at);
      if (piece === "hang") await new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
      else yield piece;
    }
  },
  close() {},
});

test("a wrong byte stops at the first node that gets it, and its sender is named", async () => {
  const content = randomBytes(20 * CHUNK + 7);
  const [home, first, second] = [await startNode(), await startNode(), await startNode()];
  const wanted = home.give(content);
  const asked = Promise.withResolvers<void>();
  const liar = bent("node liar", content, async (at) => {
    // Not before somebody waits for what comes.
    if (at === 5 * CHUNK) await asked.promise;
    const piece = Buffer.from(content.subarray(at, at + CHUNK));
    if (at === 8 * CHUNK) piece[9]! ^= 1;
    return piece;
  });
  const found = first.here.growing.find;
  const toFirst = first.here.fetch([wanted], [liar, way(home, first, wanted)]);
  const toSecond = second.here.fetch([wanted], [way(first, second, wanted, true)], {
    onMoved: () => asked.resolve(),
  });
  expect(found(wanted.sha256)?.bytes).toBe(content.length);
  expect((await toFirst).tries).toMatchObject([
    { place: "node liar", wrong: [{ sha256: wanted.sha256 }], error: { code: "ARTIFACT_HASH" } },
    { files: 1 },
  ]);
  const { tries, arrived } = await toSecond;
  expect(arrived).toEqual([wanted.sha256]);
  expect(tries).toMatchObject([{ place: `node ${first.key.nodeId}`, files: 1, bytes: content.length }]);
  expect(tries[0]).not.toHaveProperty("wrong");
  expectHere(second.here, wanted, content);
});

test("who is served by one that dies goes on elsewhere from where it was", async () => {
  const content = randomBytes(30 * CHUNK);
  const [home, first, second] = [await startNode(), await startNode(), await startNode()];
  const wanted = home.give(content);
  const reached = Promise.withResolvers<void>();
  const ended = new AbortController();
  const slow = bent("node slow", content, (at) => (at < 12 * CHUNK ? content.subarray(at, at + CHUNK) : "hang"));
  const toFirst = first.here.fetch([wanted], [slow, way(home, first, wanted)], { signal: ended.signal });
  let came = 0;
  const toSecond = second.here.fetch([wanted], [way(first, second, wanted, true), way(home, second, wanted)], {
    onMoved(_, bytes) {
      came += bytes;
      if (came === 12 * CHUNK) reached.resolve();
    },
  });
  await reached.promise;
  first.vanish();
  ended.abort(new Error("it was killed"));
  await expect(toFirst).rejects.toThrow();
  const { arrived, tries } = await toSecond;
  expect(arrived).toEqual([wanted.sha256]);
  expect(tries.map(({ bytes }) => bytes)).toEqual([12 * CHUNK, 18 * CHUNK]);
  expectHere(second.here, wanted, content);
});

test("who waits for the file itself is not left for its silence", async () => {
  const content = randomBytes(24 * CHUNK);
  const home = await startNode();
  const [first, second] = [await startNode({ stallMs: 400 }), await startNode({ stallMs: 300 })];
  const wanted = home.give(content);
  const silent = bent("node silent", content, (at) => (at < 4 * CHUNK ? content.subarray(at, at + CHUNK) : "hang"));
  const toFirst = first.here.fetch([wanted], [silent, way(home, first, wanted)]);
  const { tries, arrived } = await second.here.fetch([wanted], [way(first, second, wanted, true)]);
  expect(arrived).toEqual([wanted.sha256]);
  expect(tries).toMatchObject([{ place: `node ${first.key.nodeId}`, files: 1, bytes: content.length }]);
  expect((await toFirst).tries.map(({ place }) => place)).toEqual(["node silent", `node ${home.key.nodeId}`]);
});

test("a file that nobody can vouch for is passed on when it is whole", async () => {
  const content = randomBytes(18 * CHUNK + 100);
  const [first, second] = [await startNode(), await startNode()];
  const wanted = wantedOf(content);
  const only = bent("disk", content, (at) => content.subarray(at, at + CHUNK));
  const toFirst = first.here.fetch([wanted], [only]);
  const toSecond = second.here.fetch([wanted], [way(first, second, wanted, true)]);
  expect((await toFirst).arrived).toEqual([wanted.sha256]);
  expect((await toSecond).arrived).toEqual([wanted.sha256]);
});

import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nodeIdOf } from "../../../cluster/index.ts";
import { systemClock, systemRandom } from "../../../kernel/index.ts";
import { createBudget } from "../../../sync/transfer/budget.ts";
import { listClaim, signTicket, type TicketClaim } from "../../../sync/transfer/ticket.ts";
import { newFolder, receiver, transportContract, wantedOf } from "../../../sync/transport.contract.ts";
import type { Transport, Wanted } from "../../../sync/transport.port.ts";
import { createArtifactServer, type ServerRefusal } from "../http/artifact-server.ts";
import { httpTransport } from "../http/http-transport.ts";
import { PROOF_HEADER, proofOf, TICKET_HEADER } from "../http/proof.ts";
import { parkAtRelay, relayAgent } from "./relay-client.ts";
import { createRelayServer } from "./relay-server.ts";

const makeBearer = () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  return { nodeId: nodeIdOf(raw), publicKey: raw.toString("base64"), privateKey };
};
const nowSeconds = () => Math.floor(Date.now() / 1_000);

/** A node that listens nowhere, a relay, and a node that fetches. */
async function open() {
  const folder = newFolder();
  const clock = systemClock();
  const coordinator = generateKeyPairSync("ed25519");
  const [serving, fetching, stranger] = [makeBearer(), makeBearer(), makeBearer()];
  const refusals: ServerRefusal[] = [];
  const budget = createBudget({ bytesPerSecond: Number.POSITIVE_INFINITY, clock });
  const shared = {
    key: coordinator.publicKey,
    clock,
    budget,
    onRefused: (one: ServerRefusal) => void refusals.push(one),
  };
  const relay = createRelayServer({ ...shared, isKnown: (nodeId) => nodeId === serving.nodeId });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  const relayUrl = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
  const server: Server = createArtifactServer({
    ...shared,
    key: () => coordinator.publicKey,
    folder,
    nodeId: serving.nodeId,
  });
  const start = () => parkAtRelay({ relay: { url: relayUrl }, bearer: serving, server, clock, random: systemRandom() });
  let parking = start();
  await parking.ready;
  onTestFinished(async () => {
    await parking.close();
    relay.close();
    relay.closeAllConnections();
    server.closeAllConnections();
  });
  const pathOf = ({ sha256 }: Wanted) => join(folder, sha256.slice(0, 2), sha256);
  const list: Wanted[] = [];
  const ticketFor = (wanted: readonly Wanted[], more: Partial<TicketClaim> = {}) =>
    signTicket(
      {
        ...listClaim(wanted),
        from: serving.nodeId,
        to: fetching.nodeId,
        issuedAt: nowSeconds() - 1,
        expiresAt: nowSeconds() + 600,
        ...more,
      },
      coordinator.privateKey,
    );
  let current: { readonly files: number; readonly transport: Transport } | undefined;
  const now = () => {
    if (current?.files === list.length) return current.transport;
    const ticket = ticketFor(list);
    const agent = relayAgent({ url: relayUrl }, serving.nodeId, ticket, fetching);
    const { nodeId } = serving;
    const transport = httpTransport({
      url: "http://node",
      nodeId,
      ticket,
      list,
      bearer: fetching,
      name: "relay",
      agent,
    });
    onTestFinished(() => void transport.close());
    current = { files: list.length, transport };
    return transport;
  };
  const transport: Transport = {
    name: "relay",
    place: `node ${serving.nodeId}`,
    probe: (signal) => now().probe(signal),
    read: (wanted, from) => now().read(wanted, from),
    readPack: (wanted, signal) => now().readPack!(wanted, signal),
    digests: (wanted, chunkBytes, signal) => now().digests!(wanted, chunkBytes, signal),
    close() {},
  };
  return {
    relayUrl,
    transport,
    serving,
    fetching,
    stranger,
    refusals,
    ticketFor,
    async give(content: Uint8Array) {
      const wanted = wantedOf(content);
      mkdirSync(join(folder, wanted.sha256.slice(0, 2)), { recursive: true });
      writeFileSync(pathOf(wanted), content);
      if (!list.some(({ sha256 }) => sha256 === wanted.sha256)) list.push(wanted);
      return wanted;
    },
    async spoil(wanted: Wanted, content: Uint8Array | undefined) {
      if (content === undefined) rmSync(pathOf(wanted));
      else writeFileSync(pathOf(wanted), content);
    },
    async vanish() {
      await parking.close();
      server.closeAllConnections();
    },
    async comeBack() {
      parking = start();
      await parking.ready;
    },
  };
}

transportContract("a relay to a node that nobody can reach", { open });

const upgrade = (url: string, headers: Record<string, string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const outgoing = request(url, {
      agent: false,
      headers: { ...headers, connection: "Upgrade", upgrade: "ringrift-relay" },
    });
    outgoing.once("upgrade", (_, socket) => {
      socket.destroy();
      resolve(101);
    });
    outgoing.once("response", (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    outgoing.once("error", reject);
    outgoing.end();
  });

test("who is not the node, has not joined, or has no ticket for it is not put through, and is named", async () => {
  const { relayUrl, give, transport, serving, fetching, stranger, refusals, ticketFor } = await open();
  const wanted = await give(Buffer.from("x"));
  expect((await receiver().fetch([wanted], [transport])).arrived).toEqual([wanted.sha256]);
  const park = (at: number, bearer = stranger) => {
    const path = `/v1/relay/park?at=${at}`;
    return upgrade(`${relayUrl}${path}`, { [PROOF_HEADER]: proofOf(bearer, "park", "GET", path) });
  };
  expect(await park(nowSeconds())).toBe(403);
  expect(refusals.at(-1)).toMatchObject({ code: "UNKNOWN_NODE", nodeId: stranger.nodeId });
  expect(await park(nowSeconds() - 3_600, serving)).toBe(403);
  expect(refusals.at(-1)).toMatchObject({ code: "CLOCK_SKEW", nodeId: serving.nodeId });
  const to = (ticket: string, bearer = fetching) => {
    const path = `/v1/relay/to/${serving.nodeId}`;
    return upgrade(`${relayUrl}${path}`, {
      [TICKET_HEADER]: ticket,
      [PROOF_HEADER]: proofOf(bearer, ticket, "GET", path),
    });
  };
  expect(await to(ticketFor([wanted], { expiresAt: nowSeconds() - 1 }))).toBe(401);
  expect(await to(ticketFor([wanted], { from: "n0" }))).toBe(403);
  expect(await to(ticketFor([wanted]), stranger)).toBe(403);
  expect(refusals.at(-1)).toMatchObject({ code: "TICKET_OF_ANOTHER", nodeId: stranger.nodeId });
  expect(await to(ticketFor([wanted]))).toBe(101);
});

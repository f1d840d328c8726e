import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../../../../test/support/certificate.ts";
import { nodeIdOf } from "../../../cluster/index.ts";
import { systemClock } from "../../../kernel/index.ts";
import { createBudget } from "../../../sync/transfer/budget.ts";
import { listClaim, listName, signTicket, type TicketClaim } from "../../../sync/transfer/ticket.ts";
import { newFolder, receiver, transportContract, wantedOf } from "../../../sync/transport.contract.ts";
import type { Transport, Wanted } from "../../../sync/transport.port.ts";
import { type ArtifactServerOptions, createArtifactServer, type ServerRefusal } from "./artifact-server.ts";
import { httpTransport } from "./http-transport.ts";
import { PROOF_HEADER, proofOf, TICKET_HEADER } from "./proof.ts";

const makeBearer = () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  return { nodeId: nodeIdOf(raw), publicKey: raw.toString("base64"), privateKey };
};

const nowSeconds = () => Math.floor(Date.now() / 1_000);

/** A node that serves, a node that fetches, and a coordinator that signs. */
async function open(options: Partial<ArtifactServerOptions> = {}) {
  const folder = join(newFolder(), "artifacts");
  mkdirSync(folder);
  const coordinator = generateKeyPairSync("ed25519");
  const [serving, fetching] = [makeBearer(), makeBearer()];
  const refusals: ServerRefusal[] = [];
  const clock = systemClock();
  const start = async (port = 0) => {
    const server = createArtifactServer({
      folder,
      nodeId: serving.nodeId,
      key: () => coordinator.publicKey,
      clock,
      budget: createBudget({ bytesPerSecond: Number.POSITIVE_INFINITY, clock }),
      onRefused: (refusal) => void refusals.push(refusal),
      ...options,
    });
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return server;
  };
  let server = await start();
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(() => (server.listening ? stop() : undefined));
  const pathOf = ({ sha256 }: Wanted) => join(folder, sha256.slice(0, 2), sha256);
  const list: Wanted[] = [];
  const claimOf = (wanted: readonly Wanted[]): TicketClaim => ({
    ...listClaim(wanted),
    from: serving.nodeId,
    to: fetching.nodeId,
    issuedAt: nowSeconds() - 1,
    expiresAt: nowSeconds() + 600,
  });
  const transportOf = (
    wanted: readonly Wanted[],
    claim: Partial<TicketClaim> = {},
    {
      bearer = fetching,
      key = coordinator.privateKey,
      scheme = "http",
      fingerprint = undefined as string | undefined,
    } = {},
  ) => {
    const transport = httpTransport({
      url: `${scheme}://127.0.0.1:${port}`,
      nodeId: serving.nodeId,
      ticket: signTicket({ ...claimOf(wanted), ...claim }, key),
      list: wanted,
      bearer,
      fingerprint,
    });
    onTestFinished(() => void transport.close());
    return transport;
  };
  /** With a ticket for all that was given so far. */
  let current: { readonly files: number; readonly transport: Transport } | undefined;
  const now = () => {
    if (current?.files !== list.length) current = { files: list.length, transport: transportOf(list) };
    return current!.transport;
  };
  const transport: Transport = {
    name: "http",
    place: `node ${serving.nodeId}`,
    probe: (signal) => now().probe(signal),
    read: (wanted, from) => now().read(wanted, from),
    readPack: (wanted, signal) => now().readPack!(wanted, signal),
    digests: (wanted, chunkBytes, signal) => now().digests!(wanted, chunkBytes, signal),
    close() {},
  };
  return {
    folder,
    transport,
    transportOf,
    serving,
    fetching,
    refusals,
    port,
    forger: generateKeyPairSync("ed25519"),
    /** A request by hand, with a ticket for these, exactly as it is written. */
    ask(method: string, path: string, wanted: readonly Wanted[], body?: Buffer): Promise<{ readonly status: number }> {
      const ticket = signTicket(claimOf(wanted), coordinator.privateKey);
      const headers = { [TICKET_HEADER]: ticket, [PROOF_HEADER]: proofOf(fetching, ticket, method, path) };
      return new Promise((resolve, reject) => {
        const outgoing = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
          answer.resume();
          resolve({ status: answer.statusCode ?? 0 });
        });
        outgoing.once("error", reject);
        outgoing.end(body);
      });
    },
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
    vanish: stop,
    async comeBack() {
      server = await start(port);
    },
  };
}

transportContract("HTTP between nodes", { open });

const content = Buffer.from("the bytes of a model");

test("a store that is not mounted is a fault of the node, and not a lack of the file", async () => {
  const { give, folder, transportOf } = await open();
  const wanted = await give(content);
  renameSync(folder, `${folder}.away`);
  mkdirSync(folder);
  const report = await receiver().fetch([wanted], [transportOf([wanted])]);
  expect(report.failed).toMatchObject([{ code: "PLACE_NOT_THERE" }]);
});

/** Large files travel alone. */
const alone = (transport: Transport): Transport => ({ ...transport, readPack: undefined }) as unknown as Transport;

test("a ticket that is expired, of the future, of another artifact, node or bearer, or forged is refused, counted and named", async () => {
  const { give, transportOf, refusals, fetching, forger } = await open();
  const wanted = await give(content);
  const other = await give(Buffer.from("another"));
  const thief = makeBearer();
  const tries: [string, Transport, string][] = [
    ["TICKET_EXPIRED", transportOf([wanted], { expiresAt: nowSeconds() - 3_600 }), fetching.nodeId],
    ["CLOCK_SKEW", transportOf([wanted], { issuedAt: nowSeconds() + 3_600 }), fetching.nodeId],
    ["TICKET_OF_ANOTHER", transportOf([wanted], { from: "n0000000000000000" }), fetching.nodeId],
    ["TICKET_OF_ANOTHER", transportOf([wanted], {}, { bearer: thief }), thief.nodeId],
    ["TICKET_OF_ANOTHER", transportOf([wanted], { list: other.sha256 }), fetching.nodeId],
    ["TICKET_OF_ANOTHER", transportOf([wanted, other], { list: listName([other, wanted]) }), fetching.nodeId],
    ["BAD_TICKET", transportOf([wanted], {}, { key: forger.privateKey }), fetching.nodeId],
  ];
  for (const [code, transport, nodeId] of tries) {
    const here = receiver();
    refusals.length = 0;
    const report = await here.fetch([wanted], [alone(transport)]);
    expect(report.failed).toMatchObject([{ code }]);
    expect(report.failed[0]!.message).not.toBe("");
    expect(refusals).toContainEqual(expect.objectContaining({ code, nodeId, from: "127.0.0.1" }));
    expect(here.names()).toEqual([]);
  }
});

test("a node whose clock was set an hour wrong serves nobody with its own time, and everybody with the coordinator's", async () => {
  const wrong = { ...systemClock(), now: () => Date.now() + 3_600_000 };
  const { give, transportOf } = await open({ clock: wrong });
  const wanted = await give(content);
  const report = await receiver().fetch([wanted], [alone(transportOf([wanted]))]);
  expect(report.failed).toMatchObject([{ code: "TICKET_EXPIRED" }]);
});

test("no path comes from outside, a list is bounded, and who asks for more than its share waits", async () => {
  const { folder, port, give, ask, refusals } = await open({ maxOfOne: 0 });
  const wanted = await give(content);
  writeFileSync(join(folder, "..", "secret"), "secret");
  for (const path of [
    "/v1/artifacts/../../secret",
    "/v1/artifacts/..%2f..%2fsecret",
    `/v1/artifacts/${wanted.sha256}/../../secret`,
    `/v1/artifacts/${wanted.sha256.toUpperCase()}`,
    "/secret",
    "//v1/artifacts",
  ])
    expect((await ask("GET", path, [wanted])).status).toBe(404);
  expect((await ask("GET", `/v1/artifacts/${wanted.sha256}`, [wanted])).status).toBe(503);
  expect(await (await fetch(`http://127.0.0.1:${port}/v1/artifacts/${wanted.sha256}`)).json()).toMatchObject({
    code: "BAD_TICKET",
  });
  expect(refusals.at(-1)).toMatchObject({ code: "BAD_TICKET", from: "127.0.0.1" });
});

test("a list that is too long, or no list, is refused before anything is looked up", async () => {
  const { give, ask } = await open();
  const wanted = [await give(content), await give(Buffer.from("another"))];
  const list = listName(wanted);
  const put = (body: Buffer) => ask("PUT", `/v1/lists/${list}`, wanted, body);
  expect((await put(Buffer.alloc(41))).status).toBe(422);
  expect((await put(Buffer.alloc(40 * 100_001))).status).toBe(413);
  expect((await put(Buffer.alloc(80))).status).toBe(403);
  expect((await ask("POST", `/v1/packs/${list}`, wanted, Buffer.alloc(40))).status).toBe(428);
});

test("an answer that would have to be unpacked, another range, or a larger one is refused", async () => {
  const bytes = Buffer.alloc(2_000_000);
  const wanted = wantedOf(bytes);
  const liars: Record<string, Parameters<typeof createServer>[1]> = {
    UNEXPECTED_ANSWER: (_, response) =>
      void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(bytes)),
    ARTIFACT_SIZE: (_, response) =>
      void response.writeHead(200, { "content-length": 3_000_000 }).end(Buffer.alloc(3_000_000)),
  };
  for (const [code, listener] of Object.entries(liars)) {
    const server = createServer(listener!);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const bearer = makeBearer();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const transport = httpTransport({ url, nodeId: "n1", ticket: "any", list: [wanted], bearer });
    onTestFinished(() => void transport.close());
    const here = receiver();
    expect((await here.fetch([wanted], [transport])).failed).toMatchObject([
      { code, message: expect.stringContaining("n1") },
    ]);
    expect(here.names()).toEqual([]);
  }
});

test("a connection may be pinned to one certificate", async () => {
  const made = selfSigned(newFolder());
  if (made === undefined) return;
  const tls = { cert: readFileSync(made.cert, "utf8"), key: readFileSync(made.key, "utf8") };
  const { give, transportOf } = await open({ tls });
  const wanted = await give(content);
  const pinned = (fingerprint: string) => transportOf([wanted], {}, { fingerprint, scheme: "https" });
  expect((await receiver().fetch([wanted], [pinned(new X509Certificate(tls.cert).fingerprint256)])).arrived).toEqual([
    wanted.sha256,
  ]);
  expect((await receiver().fetch([wanted], [pinned("00".repeat(32))])).failed).toMatchObject([
    { code: "WRONG_CERTIFICATE" },
  ]);
});

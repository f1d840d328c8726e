import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../kernel/index.ts";
import { onBrokenConnection } from "./late-heads.ts";

const HEADERS_MS = 200;
const limits = { headersTimeout: HEADERS_MS, requestTimeout: 2 * HEADERS_MS, connectionsCheckingInterval: 20 };

/** A server with short limits, and a connection to it that both ends know of. */
async function connected(answer: RequestListener) {
  const server = createServer(limits, answer);
  const told: (string | undefined)[] = [];
  onBrokenConnection(server, systemClock(), ({ code }, socket) => {
    told.push(code);
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  await Promise.all([once(client, "connect"), once(server, "connection")]);
  return { client, told };
}

/** Nothing of this process runs for longer than a head may take. */
const pause = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * HEADERS_MS);

const received = (client: Socket): Promise<string> => text(client);

test("a request that came while the process stood still is answered", async () => {
  const { client, told } = await connected((_, outgoing) => outgoing.end("here"));
  client.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  pause();
  expect(await received(client)).toContain("here");
  expect(told).toEqual([]);
});

test("who has sent half a head is told of, also after a pause", async () => {
  const { client, told } = await connected((_, outgoing) => outgoing.end("here"));
  client.write("GET / HTTP/1.1\r\nHost: loc");
  pause();
  expect(await received(client)).toBe("");
  expect(told).toEqual(["ERR_HTTP_REQUEST_TIMEOUT"]);
});

test("a request whose head came in a pause still has to come to its end in time", async () => {
  const { client, told } = await connected((incoming) => void incoming.resume());
  client.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf");
  pause();
  expect(await received(client)).toBe("");
  expect(told).toEqual(["ERR_HTTP_REQUEST_TIMEOUT"]);
});

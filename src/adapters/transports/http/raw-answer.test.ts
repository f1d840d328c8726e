/** Answers as real servers give them, and as liars do, byte by byte where that matters. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type RawRequest, rawAnswer } from "./raw-answer.ts";

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const requestTo = (port: number, more: Partial<RawRequest> = {}): RawRequest => ({
  host: "127.0.0.1",
  port,
  method: "POST",
  path: "/v1/packs/x",
  headers: { "x-ringrift-ticket": "t" },
  body: Buffer.from("a list"),
  signal: new AbortController().signal,
  ...more,
});

async function answered(request: RawRequest): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const refused = ({ status, text }: { status: number; text: string }) => new Error(`refused: ${status} ${text}`);
  // What is lent is copied before the next is asked for.
  for await (const piece of rawAnswer(request, refused)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** Somebody who answers with just these bytes, in these pieces, once the request has come. */
const saying = (...pieces: readonly (string | Buffer)[]): Promise<number> =>
  listening(
    createServer((socket: Socket) => {
      socket.once("data", async () => {
        for (const piece of pieces) await new Promise<void>((resolve) => void socket.write(piece, () => resolve()));
        socket.end();
      });
      socket.on("error", () => undefined);
    }),
  );

test("what a real server sends comes whole, and it gets headers and body as from any client", async () => {
  const content = Buffer.alloc(3_000_000, "0123456789abcdef!");
  const seen: unknown[] = [];
  const server = createHttpServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += String(piece);
    seen.push(request.method, request.url, request.headers["x-ringrift-ticket"], body);
    response.writeHead(200, { "content-type": "application/octet-stream" });
    for (let at = 0; at < content.length; at += 700_000) response.write(content.subarray(at, at + 700_000));
    response.end();
  });
  const came = await answered(requestTo(await listening(server)));
  expect(came.equals(content)).toBe(true);
  expect(seen).toEqual(["POST", "/v1/packs/x", "t", "a list"]);
});

test("a head may come in pieces, with the first bytes behind it", async () => {
  const port = await saying("HTTP/1.1 20", "0 OK\r\ncontent-type: x\r", "\n\r", "\nabc", "def");
  expect(String(await answered(requestTo(port)))).toBe("abcdef");
});

test.each([
  ["no answer at all", ["nonsense\r\n\r\n"], /does not begin as one/],
  ["a head without an end", [`HTTP/1.1 200 OK\r\nx: ${"x".repeat(20_000)}`], /its head is too long/],
  ["frames", ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"], /it comes in 'chunked', unasked/],
  ["packed bytes", ["HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nabc"], /it comes in 'gzip', unasked/],
  ["an end before its head", ["HTTP/1.1 200 OK\r\n"], /ended before an answer came/],
  ["a refusal", ["HTTP/1.1 428 No\r\n\r\n", '{"code":"LIST_UNKNOWN"}'], /refused: 428 \{"code":"LIST_UNKNOWN"\}/],
])("%s is an error that says so", async (_, pieces, says) => {
  await expect(answered(requestTo(await saying(...pieces)))).rejects.toThrow(says);
});

test("whoever gives up ends the connection, however much more would come", async () => {
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("close", () => closed.resolve());
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const more = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(64 * 1_024)));
    };
    socket.on("drain", more);
    more();
  });
  const port = await listening(server);
  for await (const piece of rawAnswer(requestTo(port), () => new Error("refused"))) {
    expect(piece.length).toBeGreaterThan(0);
    break;
  }
  await closed.promise;
});

test("an abort ends one that waits, and nobody who listens is an error", async () => {
  const silent = await listening(createServer((socket) => void socket.on("error", () => undefined)));
  const given = new AbortController();
  const waiting = answered(requestTo(silent, { signal: given.signal }));
  given.abort(new Error("not wanted"));
  await expect(waiting).rejects.toThrow("not wanted");
  const server = createServer();
  const port = await listening(server);
  server.close();
  await once(server, "close");
  await expect(answered(requestTo(port))).rejects.toThrow("ECONNREFUSED");
});

test("a header cannot smuggle a second one", async () => {
  await expect(answered(requestTo(1, { headers: { ticket: "a\r\nx: y" } }))).rejects.toThrow("has a line break");
});

/**
 * What a node gives to other nodes: bytes of artifacts to who shows a ticket of the coordinator's and proves to be the node it names.
 * A name is a hash and nothing else, so no path comes from outside. It belongs on a thread: it reads files and sends them.
 */

import type { KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type Clock, isOperatingError, messageOf, OperatingError } from "../../../kernel/index.ts";
import {
  type Budget,
  checkTicket,
  isSha256,
  MAX_PACK_BYTES,
  MAX_PACK_FILES,
  PACK_HEAD_BYTES,
  packOf,
  prefixDigests,
  type TicketClaim,
} from "../../../sync/transfer/index.ts";
import { createDigestBook } from "./digest-book.ts";
import { createLists, decodeList, MAX_LIST_FILES } from "./lists.ts";
import { bearerOf, COMING, PROOF_HEADER, TICKET_HEADER } from "./proof.ts";
import { type ServedFilesOptions, servedFiles } from "./served-files.ts";

const MIN_CHUNK_BYTES = 1_000;
const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;

/** Somebody was turned away: why, from where, and as whom it came. */
export interface ServerRefusal {
  readonly code: string;
  readonly message: string;
  readonly from: string;
  readonly nodeId?: string;
}

/** A fault of our own is no refusal. */
export function tellRefusal(error: OperatingError, from: string, onRefused: (refusal: ServerRefusal) => void): void {
  const { kind, code, message, details } = error;
  if (kind !== "denied" && kind !== "invalid") return;
  onRefused({ code, message, from, ...(typeof details.to === "string" ? { nodeId: details.to } : {}) });
}

export interface ArtifactServerOptions extends ServedFilesOptions {
  /** The coordinator's public key; undefined until this node has heard of it. */
  readonly key: () => KeyObject | undefined;
  readonly clock: Pick<Clock, "now">;
  /** What may leave this node. */
  readonly budget: Budget;
  readonly onRefused: (refusal: ServerRefusal) => void;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Answers at once, to all and to one node. */
  readonly maxAtOnce?: number;
  readonly maxOfOne?: number;
}

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly claim: TicketClaim;
  readonly signal: AbortSignal;
}

const invalid = (message: string) => OperatingError.invalid("INVALID_REQUEST", message);

async function bodyOf(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const check = (count: number) => {
    if (count > maxBytes)
      throw OperatingError.denied("PAYLOAD_TOO_LARGE", `a list may have ${maxBytes} bytes`, { status: 413 });
  };
  check(Number(request.headers["content-length"] ?? 0));
  // Whoever sends too much is told so, and for that its connection has to stay.
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    bytes += (piece as Buffer).length;
    check(bytes);
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces);
}

/** `bytes=100-`: from where on. */
function startOf(range: string | undefined, size: number): number {
  if (range === undefined) return 0;
  const [, first = ""] = /^bytes=(\d{1,15})-$/.exec(range) ?? [];
  if (first === "") throw invalid("Range: must be 'bytes=<first>-'");
  if (Number(first) > size)
    throw OperatingError.denied("RANGE_NOT_SATISFIABLE", `the artifact has ${size} bytes`, { status: 416 });
  return Number(first);
}

/** Resolves when the system has taken all of these bytes, so that their buffer may be filled anew. */
function written(response: ServerResponse, chunk: Uint8Array, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    response.write(chunk, (failed) => {
      signal.removeEventListener("abort", stop);
      if (failed) reject(failed);
      else resolve();
    });
  });
}

export function createArtifactServer(options: ArtifactServerOptions): Server {
  const { nodeId, key, clock, budget, onRefused, maxAtOnce = 64, maxOfOne = 16 } = options;
  const files = servedFiles(options);
  const lists = createLists();
  const digestsOf = createDigestBook();
  const serving = new Map<string, number>();
  let answering = 0;
  const send = async (response: ServerResponse, bytes: AsyncIterable<Uint8Array>, signal: AbortSignal) => {
    for await (const chunk of bytes) {
      await budget.spend(chunk.length, "normal", signal);
      await written(response, chunk, signal);
    }
    response.end();
  };

  const routes: Readonly<Record<string, (asked: Asked, name: string, query: URLSearchParams) => Promise<void>>> = {
    "GET artifacts": async ({ request, response, claim, signal }, sha256, query) => {
      lists.check(claim, [sha256]);
      const { size, from } = await files.open(sha256, query.has(COMING), signal);
      const start = startOf(request.headers.range, size);
      const headers = { "content-type": "application/octet-stream", "content-length": size - start };
      if (start === 0) response.writeHead(200, headers);
      else response.writeHead(206, { ...headers, "content-range": `bytes ${start}-${size - 1}/${size}` });
      if (start === size) return void response.end();
      await send(response, from(start), signal);
    },
    "GET coming": async ({ response, claim }, sha256) => {
      lists.check(claim, [sha256]);
      await files.checkComing(sha256);
      response.writeHead(204).end();
    },
    "GET digests": async ({ response, claim }, sha256, query) => {
      lists.check(claim, [sha256]);
      const chunkBytes = Number(query.get("chunk_bytes"));
      if (!Number.isSafeInteger(chunkBytes) || chunkBytes < MIN_CHUNK_BYTES) throw invalid("chunk_bytes: too small");
      const { mtimeMs } = await files.aboutOf(sha256);
      const digests = await digestsOf(`${sha256} ${mtimeMs} ${chunkBytes}`, () =>
        prefixDigests(files.bytesOf(sha256), chunkBytes),
      );
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ digests }));
    },
    "PUT lists": async ({ request, response, claim }, list) => {
      lists.checkList(claim, list);
      const body = await bodyOf(request, MAX_LIST_FILES * PACK_HEAD_BYTES);
      lists.keep(claim, decodeList(body, MAX_LIST_FILES));
      response.writeHead(204).end();
    },
    "POST packs": async ({ request, response, claim, signal }, list) => {
      lists.checkList(claim, list);
      const wanted = decodeList(await bodyOf(request, MAX_PACK_FILES * PACK_HEAD_BYTES), MAX_PACK_FILES);
      lists.check(
        claim,
        wanted.map(({ sha256 }) => sha256),
      );
      if (wanted.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_PACK_BYTES)
        throw invalid(`a pack may have ${MAX_PACK_BYTES} bytes`);
      await files.checkStore();
      response.writeHead(200, { "content-type": "application/octet-stream" });
      await send(response, packOf(wanted, files.readInto), signal);
    },
  };

  const enter = (node: string): void => {
    const ofOne = serving.get(node) ?? 0;
    if (answering >= maxAtOnce || ofOne >= maxOfOne)
      throw OperatingError.busy("SERVING_BUSY", `${answering} answers are under way, ${ofOne} of them yours`);
    answering += 1;
    serving.set(node, ofOne + 1);
  };
  const leave = (node: string): void => {
    answering -= 1;
    const ofOne = (serving.get(node) ?? 1) - 1;
    if (ofOne === 0) serving.delete(node);
    else serving.set(node, ofOne);
  };

  /** Who asks, and what for; each is checked before a file is looked at. */
  const admit = (request: IncomingMessage): { readonly claim: TicketClaim; readonly bearer: string } => {
    const [ticket, proof] = [request.headers[TICKET_HEADER], request.headers[PROOF_HEADER]].map((given) =>
      Array.isArray(given) ? undefined : given,
    );
    const ours = key();
    if (ours === undefined)
      throw OperatingError.unavailable("SERVING_NOT_READY", `node ${nodeId} has not heard of its coordinator yet`);
    const claim = checkTicket(ticket, { key: ours, from: nodeId, nowMs: clock.now() });
    const bearer = bearerOf(proof, ticket ?? "", request.method ?? "", request.url ?? "");
    if (bearer !== claim.to)
      throw OperatingError.denied("TICKET_OF_ANOTHER", `the ticket is for node ${claim.to}, this is ${bearer}`, {
        details: { to: bearer },
      });
    return { claim, bearer };
  };

  const answer = async (request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> => {
    const { claim, bearer } = admit(request);
    const url = new URL(request.url ?? "/", "http://node");
    const [, what = "", name = "", more] = url.pathname.slice(1).split("/");
    const route = routes[`${request.method} ${what}`];
    if (!url.pathname.startsWith("/v1/") || route === undefined || more !== undefined || !isSha256(name))
      throw OperatingError.notFound("NOT_FOUND", "there is nothing here");
    enter(bearer);
    try {
      await route({ request, response, claim, signal }, name, url.searchParams);
    } finally {
      leave(bearer);
    }
  };

  const listen = (request: IncomingMessage, response: ServerResponse): void => {
    const gone = new AbortController();
    const from = request.socket.remoteAddress ?? "unknown";
    response.once("close", () => gone.abort(new Error("the other side has gone")));
    answer(request, response, gone.signal).catch((thrown: unknown) => {
      if (gone.signal.aborted) return;
      const error = isOperatingError(thrown)
        ? thrown
        : OperatingError.internal("SERVING_FAILED", messageOf(thrown), { retryable: true });
      tellRefusal(error, from, onRefused);
      const { kind, code, message, status, retryable } = error;
      // What was begun cannot be taken back, and must not look whole.
      if (response.headersSent) return void response.destroy();
      response.writeHead(status, { "content-type": "application/problem+json", connection: "close" });
      response.end(JSON.stringify({ kind, code, detail: message, retryable }));
    });
  };

  const bounds = { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, maxHeaderSize: 16_384 };
  const server =
    options.tls === undefined ? createServer(bounds, listen) : createTlsServer({ ...bounds, ...options.tls }, listen);
  server.maxConnections = 4 * maxAtOnce;
  return server;
}

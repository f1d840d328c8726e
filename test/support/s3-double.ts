/**
 * A small S3 in this process: buckets, objects, ranges, multipart uploads, and signatures that it works out by itself. The real one
 * (`test/support/swift.ts`) is asked the same questions by the same tests.
 */
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface S3Double {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** By bucket and key. */
  readonly objects: Map<string, Uint8Array>;
  /** What it takes for now, beside the true time. */
  aheadMs: number;
  /** What whoever asks for a listing gets: all there is, nothing, or an error of the server. */
  listing: "sound" | "empty" | "fails";
  stop(): Promise<void>;
  start(): Promise<void>;
}

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest();
const MAX_SKEW_MS = 900_000;
const LIST_PAGE = 3;

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** Signature version 4, as its manual tells it. */
function checkSignature(request: IncomingMessage, url: URL, keyId: string, secret: string, nowMs: number): void {
  const [, id, date, region, signedHeaders = "", signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? "",
    ) ?? [];
  if (id === undefined) throw new Refusal(403, "AccessDenied");
  if (id !== keyId) throw new Refusal(403, "InvalidAccessKeyId");
  const stamp = String(request.headers["x-amz-date"]);
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp) ?? [];
  if (Math.abs(Date.UTC(Number(y), Number(mo) - 1, Number(d), Number(h), Number(mi), Number(s)) - nowMs) > MAX_SKEW_MS)
    throw new Refusal(403, "RequestTimeTooSkewed");
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join("&");
  const headers = signedHeaders
    .split(";")
    .map((name) => `${name}:${String(request.headers[name]).trim()}\n`)
    .join("");
  const path = url.pathname
    .split("/")
    .map((part) => encode(decodeURIComponent(part)))
    .join("/");
  const canonical = [request.method, path, query, headers, signedHeaders, request.headers["x-amz-content-sha256"]].join(
    "\n",
  );
  const scope = `${date}/${region}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", stamp, scope, sha256(canonical)].join("\n");
  const key = [String(date), String(region), "s3", "aws4_request"].reduce<string | Uint8Array>(hmac, `AWS4${secret}`);
  if (hmac(key, text).toString("hex") !== signature) throw new Refusal(403, "SignatureDoesNotMatch");
}

export async function s3Double(buckets: readonly string[]): Promise<S3Double> {
  const objects = new Map<string, Uint8Array>();
  const uploads = new Map<string, Map<number, Uint8Array>>();
  const known = { accessKeyId: "test:tester", secretAccessKey: "testing" };

  /** In pages that are small, so that every test turns one. */
  const listOf = (bucket: string, query: URLSearchParams): string => {
    const after = query.get("continuation-token") ?? "";
    const all = [...objects]
      .map(([key, content]) => ({
        key: key.slice(bucket.length + 1),
        size: content.length,
        isHere: key.startsWith(`${bucket}/`),
      }))
      .filter(({ key, isHere }) => isHere && key.startsWith(query.get("prefix") ?? "") && key > after)
      .sort((a, b) => (a.key < b.key ? -1 : 1));
    const page = all.slice(0, LIST_PAGE);
    const isMore = all.length > page.length;
    const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    return `<ListBucketResult><IsTruncated>${isMore}</IsTruncated>${page
      .map(({ key, size }) => `<Contents><Key>${escaped(key)}</Key><Size>${size}</Size></Contents>`)
      .join(
        "",
      )}${isMore ? `<NextContinuationToken>${escaped(page.at(-1)!.key)}</NextContinuationToken>` : ""}</ListBucketResult>`;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://s3");
    checkSignature(request, url, known.accessKeyId, known.secretAccessKey, Date.now() + double.aheadMs);
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    if (sha256(body) !== request.headers["x-amz-content-sha256"]) throw new Refusal(400, "XAmzContentSHA256Mismatch");
    const [, bucket = "", ...rest] = decodeURIComponent(url.pathname).split("/");
    if (!buckets.includes(bucket)) throw new Refusal(404, "NoSuchBucket");
    const key = `${bucket}/${rest.join("/")}`;
    const { method } = request;
    const uploadId = url.searchParams.get("uploadId");
    const xml = (text: string) =>
      response.writeHead(200, { "content-type": "application/xml" }).end(`<?xml version='1.0'?>${text}`);
    if (method === "POST" && url.searchParams.has("uploads")) {
      const id = `upload-${uploads.size + 1}`;
      uploads.set(id, new Map());
      return void xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    if (uploadId !== null) {
      const parts = uploads.get(uploadId);
      if (parts === undefined) throw new Refusal(404, "NoSuchUpload");
      if (method === "PUT") {
        parts.set(Number(url.searchParams.get("partNumber")), body);
        return void response.writeHead(200, { etag: `"${sha256(body).slice(0, 32)}"` }).end();
      }
      uploads.delete(uploadId);
      if (method === "DELETE") return void response.writeHead(204).end();
      const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, number]) =>
        Number(number),
      );
      objects.set(key, Buffer.concat(numbers.map((number) => parts.get(number) ?? Buffer.alloc(0))));
      return void xml('<CompleteMultipartUploadResult><ETag>"whole-1"</ETag></CompleteMultipartUploadResult>');
    }
    if (method === "PUT") {
      objects.set(key, body);
      return void response.writeHead(200, { etag: `"${sha256(body).slice(0, 32)}"` }).end();
    }
    if (method === "DELETE") {
      objects.delete(key);
      return void response.writeHead(204).end();
    }
    if (url.searchParams.get("list-type") === "2") {
      if (double.listing === "fails") throw new Refusal(500, "InternalError");
      const listed = double.listing === "empty" ? "<ListBucketResult></ListBucketResult>" : undefined;
      return void xml(listed ?? listOf(bucket, url.searchParams));
    }
    const found = objects.get(key);
    if (found === undefined) throw new Refusal(404, "NoSuchKey");
    const [, first] = /^bytes=(\d+)-$/.exec(request.headers.range ?? "") ?? [];
    const start = Number(first ?? 0);
    if (first !== undefined && start >= found.length) throw new Refusal(416, "InvalidRange");
    const range = first === undefined ? {} : { "content-range": `bytes ${start}-${found.length - 1}/${found.length}` };
    response.writeHead(first === undefined ? 200 : 206, { "content-length": found.length - start, ...range });
    response.end(method === "HEAD" ? undefined : found.subarray(start));
  };

  const listen = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch((thrown: unknown) => {
      const { status, code } = thrown instanceof Refusal ? thrown : new Refusal(500, "InternalError");
      response.writeHead(status, { "content-type": "application/xml", connection: "close" });
      response.end(request.method === "HEAD" ? undefined : `<?xml version='1.0'?><Error><Code>${code}</Code></Error>`);
    });
  };
  let server = createServer(listen);
  let port = 0;
  const start = async () => {
    server = createServer(listen).listen(port, "127.0.0.1");
    await once(server, "listening");
    ({ port } = server.address() as AddressInfo);
  };
  await start();
  const double: S3Double = {
    endpoint: `http://127.0.0.1:${port}`,
    ...known,
    objects,
    aheadMs: 0,
    listing: "sound",
    start,
    async stop() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return double;
}

/** Signed requests to an S3-compatible store. The hash of the body is signed, so the store itself refuses what is not it. */
import { type IncomingMessage, request } from "node:http";
import { request as tlsRequest } from "node:https";
import type { Readable } from "node:stream";
import { AwsV4Signer } from "aws4fetch";
import { type Clock, messageOf, OperatingError, systemClock } from "../../../kernel/index.ts";
import { textOf } from "../answer-text.ts";

export interface S3Place {
  /** Such as `https://s3.example.org`; the bucket is a part of the path. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Stands before every name, such as `cluster-1/`. */
  readonly prefix?: string | undefined;
  readonly region?: string | undefined;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whose time is signed; this machine's unless given. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Of the object, behind the prefix; none for the bucket. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: { readonly bytes: number; readonly sha256: string; readonly open: () => Readable | Uint8Array };
  readonly signal: AbortSignal;
}

/** The text of the first element of this name. */
export const elementOf = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>([^<]{1,2000})</${name}>`).exec(xml)?.[1];

const WRONG_HASH: ReadonlySet<string> = new Set(["XAmzContentSHA256Mismatch", "BadDigest", "InvalidDigest"]);
const NO_ENTRY: ReadonlySet<string> = new Set([
  "SignatureDoesNotMatch",
  "InvalidAccessKeyId",
  "AccessDenied",
  "AuthorizationHeaderMalformed",
]);

/** What the store says, in the codes of this house. */
function refusalOf(place: string, status: number, xml: string): OperatingError {
  const code = elementOf(xml, "Code") ?? "";
  const said = `${place} answers ${status}${code === "" ? "" : ` ${code}`}`;
  if (code === "RequestTimeTooSkewed")
    return OperatingError.denied("CLOCK_SKEW", `${said}: the clock of this machine is off`, {
      hint: "Set the clock of this machine (NTP).",
    });
  if (WRONG_HASH.has(code))
    return OperatingError.internal("ARTIFACT_DAMAGED", `${said}: the bytes are not what the name says`);
  if (code === "NoSuchBucket" || (status === 404 && code === "NoSuchBucket"))
    return OperatingError.unavailable("PLACE_NOT_THERE", `${said}: there is no such bucket`);
  if (status === 404) return OperatingError.notFound("NOT_FOUND", said);
  if (NO_ENTRY.has(code) || status === 401 || status === 403)
    return OperatingError.denied("PLACE_REFUSED", `${said}: the key or the secret is not taken`, {
      hint: "Check the access key, its secret and its rights on the bucket.",
    });
  if (status >= 500 || status === 429) return OperatingError.unavailable("PLACE_UNREACHABLE", said);
  return OperatingError.invalid("UNEXPECTED_ANSWER", said);
}

export function s3Client(given: S3Place) {
  const {
    endpoint,
    bucket,
    prefix = "",
    region = "us-east-1",
    accessKeyId,
    secretAccessKey,
    clock = systemClock(),
  } = given;
  const place = `bucket '${bucket}' at ${new URL(endpoint).host}`;

  const urlOf = ({ key, query = {} }: Pick<S3Request, "key" | "query">): URL => {
    const url = new URL(endpoint);
    const path = [bucket, ...(key === undefined ? [] : `${prefix}${key}`.split("/"))].map(encodeURIComponent).join("/");
    url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`;
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  };

  /** The answer, if the store did what it was asked. */
  const ask = async (asked: S3Request): Promise<IncomingMessage> => {
    const { method, body, signal } = asked;
    const signer = new AwsV4Signer({
      method,
      url: urlOf(asked).href,
      headers: { ...asked.headers, "x-amz-content-sha256": body?.sha256 ?? EMPTY_SHA256 },
      accessKeyId,
      secretAccessKey,
      region,
      service: "s3",
      datetime: new Date(clock.now()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
    });
    const signed = await signer.sign();
    signal.throwIfAborted();
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = {
        ...Object.fromEntries(signed.headers),
        ...(body === undefined ? {} : { "content-length": body.bytes }),
      };
      const send = signed.url.protocol === "https:" ? tlsRequest : request;
      const outgoing = send(signed.url, { method, headers }, resolve);
      // Without a reason: its connection may be another's by now, or nobody's, and nobody there would listen to one.
      const stop = () => outgoing.destroy();
      signal.addEventListener("abort", stop, { once: true });
      outgoing.once("close", () => signal.removeEventListener("abort", stop));
      outgoing.on("error", (thrown) =>
        reject(
          signal.aborted
            ? signal.reason
            : OperatingError.unavailable("PLACE_UNREACHABLE", `${place} does not answer: ${messageOf(thrown)}`, {
                cause: thrown,
              }),
        ),
      );
      const content = body?.open();
      if (content === undefined || content instanceof Uint8Array) return void outgoing.end(content);
      content.on("error", (thrown) => outgoing.destroy(thrown));
      outgoing.once("close", () => content.destroy());
      content.pipe(outgoing);
    });
    // Whoever reads it is told; when nobody does any more, nobody need be.
    answer.on("error", () => undefined);
    const { statusCode: status = 500 } = answer;
    if (status < 300) return answer;
    throw refusalOf(place, status, await textOf(answer).catch(() => ""));
  };

  return { place, ask };
}

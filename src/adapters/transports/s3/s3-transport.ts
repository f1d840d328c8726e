/** An S3-compatible store, with artifacts as `<prefix><2 hex>/<sha256>`. */
import { createHash, hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { isOperatingError, OperatingError } from "../../../kernel/index.ts";
import type { Transport, Wanted, WriteOptions } from "../../../sync/index.ts";
import { textOf } from "../answer-text.ts";
import { DISK_MARKER } from "../disk-marker.ts";
import { elementOf, type S3Place, s3Client } from "./s3-client.ts";
import { s3Shelf } from "./s3-shelf.ts";

/** Above this a file is brought in parts: a cut costs a part, and stores limit what comes in one go. */
const PART_BYTES = 16 * 1_024 ** 2;
const MAX_PARTS = 10_000;
const MAX_MARKER_BYTES = 200;

export interface S3TransportOptions extends S3Place {
  /** What the marker must say, so that a bucket that is empty or another one is not taken for ours. */
  readonly disk: string;
  readonly partBytes?: number;
}

const keyOf = ({ sha256 }: Wanted) => `${sha256.slice(0, 2)}/${sha256}`;

export function s3Transport(options: S3TransportOptions): Transport {
  const { disk, partBytes = PART_BYTES } = options;
  const client = s3Client(options);
  const { place, ask } = client;

  const checkMarker = async (signal: AbortSignal): Promise<void> => {
    try {
      const answer = await ask({ method: "GET", key: DISK_MARKER, signal });
      const said = (await textOf(answer)).slice(0, MAX_MARKER_BYTES).trim();
      if (said === disk) return;
      throw OperatingError.unavailable("PLACE_NOT_THERE", `${place} is '${said}', not '${disk}'`);
    } catch (thrown) {
      if (!isOperatingError(thrown, "NOT_FOUND")) throw thrown;
      throw OperatingError.unavailable(
        "PLACE_NOT_THERE",
        `${place} has no ${DISK_MARKER}: it is not what it should be`,
        {
          hint: "Is this the right bucket? Missing files are ignored until it is.",
        },
      );
    }
  };

  /** In parts, which become the object all at once; each is hashed before it goes and checked by the store. */
  const writeParts = async (
    made: Wanted & { readonly path: string },
    { signal, spend }: WriteOptions,
  ): Promise<void> => {
    const key = keyOf(made);
    const each = Math.max(partBytes, Math.ceil(made.bytes / MAX_PARTS));
    const begun = await textOf(await ask({ method: "POST", key, query: { uploads: "" }, signal }));
    const uploadId = elementOf(begun, "UploadId");
    if (uploadId === undefined) throw OperatingError.invalid("UNEXPECTED_ANSWER", `${place} began no upload`);
    const file = await open(made.path, "r");
    try {
      const whole = createHash("sha256");
      const tags: string[] = [];
      for (let at = 0; at < made.bytes; at += each) {
        const bytes = Buffer.allocUnsafe(Math.min(each, made.bytes - at));
        const { bytesRead } = await file.read(bytes, 0, bytes.length, at);
        if (bytesRead !== bytes.length) throw damaged(made);
        await spend(bytes.length);
        signal.throwIfAborted();
        whole.update(bytes);
        const body = { bytes: bytes.length, sha256: hash("sha256", bytes, "hex"), open: () => bytes };
        const query = { partNumber: String(tags.length + 1), uploadId };
        const answer = await ask({ method: "PUT", key, query, body, signal });
        answer.resume();
        tags.push(answer.headers.etag ?? "");
      }
      if (whole.digest("hex") !== made.sha256) throw damaged(made);
      const list = tags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag}</ETag></Part>`).join("");
      const xml = Buffer.from(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`);
      const body = { bytes: xml.length, sha256: hash("sha256", xml, "hex"), open: () => xml };
      const ended = await textOf(await ask({ method: "POST", key, query: { uploadId }, body, signal }));
      // An error may come with a 200: the store answers before it knows.
      if (elementOf(ended, "ETag") === undefined)
        throw OperatingError.unavailable(
          "PLACE_UNREACHABLE",
          `${place} did not put the parts together: ${elementOf(ended, "Code")}`,
        );
    } catch (thrown) {
      const late = new AbortController().signal;
      await ask({ method: "DELETE", key, query: { uploadId }, signal: late }).then(
        (answer) => answer.resume(),
        () => undefined,
      );
      throw thrown;
    } finally {
      await file.close();
    }
  };

  return {
    name: "s3",
    place,
    probe: checkMarker,
    async *read(wanted, { start, signal }) {
      const range = `bytes ${start}-`;
      try {
        const headers: Record<string, string> = start === 0 ? {} : { range: `bytes=${start}-` };
        const answer = await ask({ method: "GET", key: keyOf(wanted), headers, signal });
        if (start > 0 && !(answer.headers["content-range"] ?? "").startsWith(range)) {
          answer.destroy();
          throw OperatingError.invalid("UNEXPECTED_ANSWER", `${place} sends another range than was asked for`);
        }
        if (Number(answer.headers["content-length"]) > wanted.bytes - start) {
          answer.destroy();
          throw OperatingError.invalid(
            "ARTIFACT_SIZE",
            `${place} has more than the ${wanted.bytes} bytes of ${wanted.sha256}`,
          );
        }
        yield* answer as AsyncIterable<Uint8Array>;
      } catch (thrown) {
        signal.throwIfAborted();
        if (isOperatingError(thrown, "NOT_FOUND")) {
          await checkMarker(signal);
          throw OperatingError.notFound("ARTIFACT_NOT_FOUND", `${place} has no artifact ${wanted.sha256}`);
        }
        if (isOperatingError(thrown)) throw thrown;
        throw OperatingError.unavailable("PLACE_UNREACHABLE", `${place} broke off`, { cause: thrown });
      }
    },
    async write(made, given) {
      const { signal, spend } = given;
      await checkMarker(signal);
      try {
        const there = await ask({ method: "HEAD", key: keyOf(made), signal });
        there.resume();
        if (Number(there.headers["content-length"]) === made.bytes) return;
      } catch (thrown) {
        if (!isOperatingError(thrown, "NOT_FOUND")) throw thrown;
      }
      if (made.bytes > partBytes) return writeParts(made, given);
      await spend(made.bytes);
      signal.throwIfAborted();
      // The store hashes what comes and compares it to what was signed.
      const body = {
        bytes: made.bytes,
        sha256: made.sha256,
        open: () => (made.bytes === 0 ? new Uint8Array() : createReadStream(made.path, { end: made.bytes - 1 })),
      };
      (await ask({ method: "PUT", key: keyOf(made), body, signal })).resume();
    },
    shelf: s3Shelf(client, options.prefix ?? "", checkMarker),
    close() {},
  };
}

const damaged = ({ sha256 }: Wanted) =>
  OperatingError.internal("ARTIFACT_DAMAGED", `the file of ${sha256} is damaged and was not brought`, {
    retryable: true,
  });

/** Makes a bucket a place for artifacts; one that is known by another name is left alone. */
export async function markBucket(options: S3TransportOptions, signal: AbortSignal): Promise<void> {
  const { place, ask } = s3Client(options);
  const said = await ask({ method: "GET", key: DISK_MARKER, signal }).then(textOf, (thrown: unknown) => {
    if (isOperatingError(thrown, "NOT_FOUND")) return undefined;
    throw thrown;
  });
  if (said?.trim() === options.disk) return;
  if (said !== undefined)
    throw OperatingError.conflict("PLACE_TAKEN", `${place} is '${said.slice(0, MAX_MARKER_BYTES).trim()}'`, {
      hint: "Use another bucket or prefix, or its own name.",
    });
  const text = Buffer.from(`${options.disk}\n`);
  const body = { bytes: text.length, sha256: hash("sha256", text, "hex"), open: () => text };
  (await ask({ method: "PUT", key: DISK_MARKER, body, signal })).resume();
}

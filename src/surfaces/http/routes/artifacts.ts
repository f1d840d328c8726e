import { z } from "zod";
import { OperatingError } from "../../../kernel/index.ts";
import type { ArtifactStat } from "../../../sync/index.ts";
import { Reply, type Route, route } from "../route.ts";

const tag = "artifacts";
const params = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex"),
});
const stat = z.object({
  sha256: z.string(),
  size: z.int().nullable().describe("Null while only a part is there."),
  received: z.int().describe("Bytes that need not be sent again."),
});

/** `bytes 0-99/1000`, or all of it. */
function placeOf(header: string | undefined, length: number): { offset: number; size: number } {
  if (header === undefined) return { offset: 0, size: length };
  const [, first = "", last = "", size = ""] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(header) ?? [];
  if (first === "" || Number(last) - Number(first) + 1 !== length)
    throw new OperatingError("INVALID_REQUEST", "Content-Range: must be 'bytes first-last/size', and fit the length");
  return { offset: Number(first), size: Number(size) };
}

/** The one range that is asked for, if any. */
function rangeOf(header: string | undefined, size: number): { start: number; end: number; partial: boolean } {
  const whole = { start: 0, end: size, partial: false };
  if (header === undefined) return whole;
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header);
  if (found === null) return whole;
  const [, first = "", last = ""] = found;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  if (start >= end)
    throw new OperatingError("RANGE_NOT_SATISFIABLE", `the artifact has ${size} bytes; '${header}' asks beyond them`);
  return { start, end, partial: true };
}

const headersOf = ({ size, received }: ArtifactStat) => ({
  "accept-ranges": "bytes",
  "x-artifact-received": String(received),
  "x-artifact-complete": size === null ? "no" : "yes",
});

const streamOf = (bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> => {
  const from = bytes[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await from.next();
      if (done) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    async cancel() {
      await from.return?.();
    },
  });
};

export const artifactRoutes: readonly Route[] = [
  route({
    id: "putArtifact",
    method: "PUT",
    path: "/v1/artifacts/{sha256}",
    tag,
    summary: "Brings a file under its hash, whole or from where it stopped (Content-Range). Twice is once.",
    scope: "worker",
    limit: "upload",
    record: "no",
    params,
    bytes: true,
    answers: {
      201: { about: "It is whole, and in its place.", schema: stat },
      202: { about: "A part of it is there; go on after what was received.", schema: stat },
    },
    needs: ["artifacts"],
    async handle({ ports, params: { sha256 }, headers, upload }) {
      const { bytes, length, proven } = upload!;
      const found = await ports.artifacts!.write({
        ...placeOf(headers["content-range"], length),
        sha256,
        bytes,
        length,
        accept: (bodySha256) => upload!.prove(bodySha256),
        keepPart: proven,
      });
      return new Reply(found.size === null ? 202 : 201, found);
    },
  }),
  route({
    id: "adoptArtifact",
    method: "POST",
    path: "/v1/artifacts/{sha256}/adopt",
    tag,
    summary:
      "Takes a file of this machine under its hash without sending it; only through the socket of the data folder.",
    scope: "worker",
    limit: "upload",
    record: "no",
    params,
    body: z.strictObject({
      file: z.string().min(1).max(4_096).describe("Where it lies, inside the folder of the worker's jobs."),
      bytes: z.int().min(0),
    }),
    answers: { 201: { about: "It is whole, and in its place.", schema: stat } },
    needs: ["artifacts"],
    async handle({ ports, params: { sha256 }, body, caller }) {
      if (caller.from !== "socket")
        throw new OperatingError("ARTIFACT_NOT_ADOPTED", "files are adopted from the machine they lie on", {
          hint: "Send its bytes instead.",
        });
      return new Reply(201, await ports.artifacts!.adopt({ sha256, ...body }));
    },
  }),
  route({
    id: "getArtifact",
    method: "GET",
    path: "/v1/artifacts/{sha256}",
    tag,
    summary: "The bytes of a file, or a range of them; to HEAD how much of it is there.",
    scope: "read",
    limit: "upload",
    params,
    answers: {
      200: { about: "All bytes.", schema: z.string(), type: "application/octet-stream" },
      206: { about: "The range.", schema: z.string(), type: "application/octet-stream" },
    },
    needs: ["artifacts"],
    async handle({ ports, params: { sha256 }, headers, method }) {
      const found = await ports.artifacts!.stat(sha256);
      const type = { "content-type": "application/octet-stream" };
      if (method === "HEAD" && (found.size !== null || found.received > 0))
        return new Response(null, {
          headers: {
            ...type,
            ...headersOf(found),
            ...(found.size === null ? {} : { "content-length": String(found.size) }),
          },
        });
      if (found.size === null)
        throw new OperatingError("ARTIFACT_NOT_FOUND", `there is no artifact ${sha256}`, {
          ...(found.received > 0 ? { hint: `${found.received} bytes of it have come.` } : {}),
        });
      const { start, end, partial } = rangeOf(headers.range, found.size);
      return new Response(streamOf(ports.artifacts!.read(sha256, start, end)), {
        status: partial ? 206 : 200,
        headers: {
          ...type,
          ...headersOf(found),
          "content-length": String(end - start),
          ...(partial ? { "content-range": `bytes ${start}-${end - 1}/${found.size}` } : {}),
        },
      });
    },
  }),
];

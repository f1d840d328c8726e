import { defined, isOperatingError, OperatingError } from "../../kernel/index.ts";
import { type ArtifactStat, type ArtifactStore, awaitedFiles } from "../../sync/index.ts";
import { shareTooSmall } from "../http/access.ts";
import type { ControlPorts } from "../http/ports.ts";
import { type Caller, callerKey, handle, type Route } from "../http/route.ts";
import { pipelineOf } from "../pipeline/routes.ts";
import { filesShared } from "../web/view-routes.ts";
import * as wire from "./wire.ts";
import { adoptArtifact, getArtifact, putArtifact } from "./wire.ts";

/** `bytes 0-99/1000`, or all of it. */
function placeOf(header: string | undefined, length: number): { offset: number; size: number } {
  if (header === undefined) return { offset: 0, size: length };
  const [, first = "", last = "", size = ""] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(header) ?? [];
  if (first === "" || Number(last) - Number(first) + 1 !== length)
    throw OperatingError.invalid(
      "INVALID_REQUEST",
      "Content-Range: must be 'bytes first-last/size', and fit the length",
    );
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
    throw OperatingError.denied(
      "RANGE_NOT_SATISFIABLE",
      `the artifact has ${size} bytes; '${header}' asks beyond them`,
      { status: 416 },
    );
  return { start, end, partial: true };
}

const headersOf = ({ size, received }: ArtifactStat) => ({
  "content-type": "application/octet-stream",
  "accept-ranges": "bytes",
  "x-artifact-received": String(received),
  "x-artifact-complete": size === null ? "no" : "yes",
});

/** The first bytes come before the answer begins: what is damaged is refused with its reason, and is no line that breaks off. */
const streamOf = async (bytes: AsyncIterable<Uint8Array>): Promise<ReadableStream<Uint8Array>> => {
  const from = bytes[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array> | undefined = await from.next();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = first ?? (await from.next());
      first = undefined;
      if (done) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    async cancel() {
      await from.return?.();
    },
  });
};

/** The bytes of a file of this store, or a range of them; of one that is still coming only how much is there. */
export async function answerFile(
  files: Pick<ArtifactStore, "stat" | "read">,
  { sha256, range, method, from }: { sha256: string; range: string | undefined; method: string; from?: string },
): Promise<Response> {
  const found = await files.stat(sha256, from);
  const { size, received } = found;
  if (method === "HEAD" && (size !== null || received > 0))
    return new Response(null, {
      headers: { ...headersOf(found), ...(size === null ? {} : { "content-length": String(size) }) },
    });
  if (size === null)
    throw OperatingError.notFound("ARTIFACT_NOT_FOUND", `there is no artifact ${sha256}`, {
      ...(received > 0 ? { hint: `${received} bytes of it have come.` } : {}),
    });
  const { start, end, partial } = rangeOf(range, size);
  return new Response(await streamOf(files.read(sha256, start, end)), {
    status: partial ? 206 : 200,
    headers: {
      ...headersOf(found),
      "content-length": String(end - start),
      ...(partial ? { "content-range": `bytes ${start}-${end - 1}/${size}` } : {}),
    },
  });
}

/** Who looks with a link gets the files that its views show: to know the hash of another one opens nothing. */
function checkShared(ports: ControlPorts, sha256: string, { sharedPath }: Pick<Caller, "sharedPath">): void {
  if (sharedPath === undefined) return;
  const files = filesShared(sharedPath);
  if (files === "any") return;
  const model = pipelineOf(ports).model(sha256);
  if (model === undefined || (files.configKey ?? model.config_key) !== model.config_key)
    throw shareTooSmall(sharedPath);
}

export const artifactRoutes: readonly Route[] = [
  handle(putArtifact, async ({ ports, params: { sha256 }, headers, upload, caller }) => {
    const { bytes, length, accept } = upload!;
    const sent = { ...placeOf(headers["content-range"], length), sha256, bytes, length, accept };
    const found = await ports.artifacts.write({ ...sent, from: callerKey(caller) }).catch((thrown: unknown) => {
      const actual = isOperatingError(thrown, "ARTIFACT_HASH") ? thrown.details.actual : undefined;
      if (typeof actual === "string") ports.copies.cameWrong({ nodeId: caller.nodeId ?? null, sha256, actual });
      // Its bytes are right, and it is no file that anybody can read.
      if (isOperatingError(thrown, "ARTIFACT_STRUCTURE"))
        ports.copies.cameWrong({
          nodeId: caller.nodeId ?? null,
          sha256,
          actual: sha256,
          fault: String(thrown.details.fault),
        });
      throw thrown;
    });
    return found.size === null ? Response.json(found, { status: 202 }) : found;
  }),
  handle(adoptArtifact, ({ ports, params: { sha256 }, body, caller }) => {
    if (caller.from !== "socket")
      throw OperatingError.denied("ARTIFACT_NOT_ADOPTED", "files can only be adopted on the machine that has them", {
        status: 422,
        hint: "Send its bytes instead.",
      });
    return ports.artifacts.adopt({ sha256, ...body });
  }),
  handle(getArtifact, ({ ports, params: { sha256 }, headers: { range }, method, caller }) => {
    checkShared(ports, sha256, caller);
    return answerFile(ports.artifacts, { sha256, range, method, from: callerKey(caller) }).catch((thrown: unknown) => {
      // Whoever needs it asks again soon, and does not take it for lost.
      if (isOperatingError(thrown, "ARTIFACT_NOT_FOUND") && ports.library.isAwaited(sha256))
        throw awaitedFiles([sha256]);
      throw thrown;
    });
  }),
  handle(wire.listArtifacts, async ({ ports, query }) => ({ artifacts: await ports.library.list(defined(query)) })),
  handle(wire.showArtifact, ({ ports, params: { id } }) => ports.library.show(id)),
  handle(wire.listOrphans, ({ ports }) => ({ orphans: ports.library.orphans() })),
  handle(wire.getCopies, ({ ports }) => ports.library.overview()),
  handle(wire.verifyArtifact, ({ ports, params: { id } }) => ports.library.verify(id)),
  handle(wire.pinArtifact, ({ ports, params: { id }, body }) => ports.library.pin(id, !body.release, body.dry_run)),
  handle(wire.freeArtifact, ({ ports, params: { id }, body }) => ports.library.free(id, body.dry_run)),
];

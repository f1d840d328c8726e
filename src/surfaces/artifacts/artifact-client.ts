/** Files by their hash, to and from the main process: sent in parts, each from where the last one ended, so that a cut costs one part. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import type { ArtifactPort, MadeFile } from "../../work/worker/index.ts";
import { sendTo } from "../client/call.ts";
import type { SendOptions } from "../client/connections.ts";
import type { NodeLink } from "../client/node-link.ts";
import { addressOf } from "../http/wire.ts";
import { adoptArtifact, getArtifact, putArtifact } from "./wire.ts";

const PART_BYTES = 32 * 2 ** 20;
/** A part takes a minute at half a megabyte a second. */
const PART_MS = 120_000;

/** How much of it is there; all of it counts as its whole size. */
async function receivedOf(link: NodeLink, { sha256, bytes }: MadeFile, signal: AbortSignal): Promise<number> {
  const there = await link.head(addressOf(getArtifact, { params: { sha256 } }), { line: "file", signal });
  if (there === undefined) return 0;
  if (there["x-artifact-complete"] === "yes") return bytes;
  const received = Number(there["x-artifact-received"] ?? 0);
  // A part that is longer than the whole belongs to something else: begin anew.
  return Number.isSafeInteger(received) && received > 0 && received < bytes ? received : 0;
}

async function hashOfPart(file: string, start: number, end: number): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file, { start, end: end - 1 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Beside the main process a file need not be sent: it is told where it lies. False if it must be sent after all. */
async function adopted(link: NodeLink, { sha256, file, bytes }: MadeFile, signal: AbortSignal): Promise<boolean> {
  try {
    const options = { line: "file", timeoutMs: PART_MS, signal } as const;
    await sendTo(link, adoptArtifact, { params: { sha256 }, body: { file, bytes } }, options);
    return true;
  } catch (thrown) {
    if (isOperatingError(thrown) && thrown.retryable) throw thrown;
    return false;
  }
}

/** The bytes of a file by its hash, as they come. */
export const fetchArtifact = (
  link: Pick<NodeLink, "get">,
  sha256: string,
  options: Omit<SendOptions, "line">,
): Promise<Readable> => link.get(addressOf(getArtifact, { params: { sha256 } }), { ...options, line: "file" });

/** What is there already is not sent again. */
export function artifactsOver(link: NodeLink, partBytes = PART_BYTES): ArtifactPort {
  return {
    async upload(made, signal) {
      const { file, sha256, bytes, kind } = made;
      if (link.isLocal && (await adopted(link, made, signal))) return;
      const found = await stat(file).catch(() => undefined);
      let at = await receivedOf(link, made, signal);
      if (at === bytes && bytes > 0) return;
      if (found?.size !== bytes)
        throw OperatingError.invalid("ARTIFACT_FILE_LOST", `${file} does not exist any more, or has changed`, {
          hint: "Somebody removed it from the worker's data folder; the job runs again.",
        });
      do {
        const [start, end] = [at, Math.min(bytes, at + partBytes)];
        const isWhole = start === 0 && end === bytes;
        const body = {
          open: () => createReadStream(file, { start, ...(end > start ? { end: end - 1 } : {}) }),
          bytes: end - start,
          sha256: isWhole ? sha256 : await hashOfPart(file, start, end),
          headers: {
            "x-artifact-kind": kind,
            ...(isWhole ? {} : { "content-range": `bytes ${start}-${end - 1}/${bytes}` }),
          },
        };
        await link.put(addressOf(putArtifact, { params: { sha256 } }), body, {
          line: "file",
          timeoutMs: PART_MS,
          signal,
        });
        at = end;
      } while (at < bytes);
    },
  };
}

/** Files by their hash, to the main process and from it. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { OperatingError } from "../../kernel/index.ts";
import type { ArtifactPort } from "../../work/worker/index.ts";
import type { NodeLink } from "./node-link.ts";

/** A file of a gigabyte over a slow line takes its time; a line that stands still is noticed by the next look. */
const FILE_MS = 30 * 60_000;

const pathOf = (sha256: string): string => `/v1/artifacts/${sha256}`;

/** Puts a file where others find it. What is there already is not sent again. */
export function artifactsOver(link: NodeLink): ArtifactPort {
  return {
    async upload({ file, sha256, bytes, kind }, signal) {
      const there = await link.head(pathOf(sha256), { line: "file", signal });
      if (there !== undefined && Number(there["content-length"]) === bytes) return;
      const found = await stat(file).catch(() => undefined);
      if (found?.size !== bytes)
        throw new OperatingError("ARTIFACT_FILE_LOST", `${file} is not there any more, or has been changed`, {
          hint: "Somebody removed it from the worker's data folder; the job runs again.",
        });
      const body = { open: () => createReadStream(file), bytes, sha256, headers: { "x-artifact-kind": kind } };
      await link.put(pathOf(sha256), body, { line: "file", timeoutMs: FILE_MS, signal });
    },
  };
}

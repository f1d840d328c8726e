/** A file over the line to the main process of this machine: what a worker beside it needs, and nothing more. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Clock, OperatingError } from "../../kernel/index.ts";
import { fetchArtifact, type NodeLink } from "../../surfaces/index.ts";
import type { BringFile } from "./inputs.ts";

const FETCH_MS = 30 * 60_000;

export const bringOverLine =
  (line: Pick<NodeLink, "get">, folder: string, clock: Clock): BringFile =>
  async (sha256, signal, { maxRate, onBytes }) => {
    const path = join(folder, sha256);
    const half = `${path}.part`;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const source = await fetchArtifact(line, sha256, { timeoutMs: FETCH_MS, signal });
    const hash = createHash("sha256");
    const beganMs = clock.monotonic();
    let bytes = 0;
    const through = new Transform({
      transform(chunk: Buffer, _, done) {
        hash.update(chunk);
        bytes += chunk.length;
        onBytes?.(bytes);
        const aheadMs = maxRate === undefined ? 0 : (bytes / maxRate) * 1_000 - (clock.monotonic() - beganMs);
        if (aheadMs <= 0) done(null, chunk);
        else clock.after(aheadMs, () => done(null, chunk));
      },
    });
    try {
      await pipeline(source, through, createWriteStream(half, { mode: 0o600 }), { signal });
      const found = hash.digest("hex");
      if (found !== sha256) throw OperatingError.unavailable("ARTIFACT_BROKEN", `what came has the SHA-256 ${found}`);
      await rename(half, path);
    } catch (thrown) {
      await rm(half, { force: true });
      throw thrown;
    }
  };

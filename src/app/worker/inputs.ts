/** Inputs by their hash, kept on this node: a model serves many jobs and is fetched once. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { NodeLink } from "../../surfaces/index.ts";

export interface Inputs {
  readonly folder: string;
  /** Where the file of this hash lies; it is fetched if it is not here. */
  at(sha256: string, signal: AbortSignal): Promise<string>;
}

const FETCH_MS = 30 * 60_000;
const MOST_BYTES = 50e9;
/** What was used so lately may be in use by a job. */
const KEEP_MS = 24 * 3_600_000;

export function keepInputs(folder: string, link: NodeLink, clock: Clock): Inputs {
  const fetching = new Map<string, Promise<string>>();

  const fetchOne = async (sha256: string, path: string, signal: AbortSignal): Promise<string> => {
    const half = `${path}.part`;
    const source = await link.get(`/v1/artifacts/${sha256}`, { line: "file", timeoutMs: FETCH_MS, signal });
    const hash = createHash("sha256");
    const through = new Transform({
      transform(chunk: Buffer, _, done) {
        hash.update(chunk);
        done(null, chunk);
      },
    });
    try {
      await pipeline(source, through, createWriteStream(half, { mode: 0o600 }), { signal });
      const found = hash.digest("hex");
      if (found !== sha256)
        throw new OperatingError("ARTIFACT_BROKEN", `what came has the SHA-256 ${found}`, { retryable: true });
      await rename(half, path);
    } catch (thrown) {
      await rm(half, { force: true });
      throw thrown;
    }
    return path;
  };

  /** The longest unused go first, as far as room is needed. */
  const tidy = async (): Promise<void> => {
    const files = await Promise.all(
      (await readdir(folder)).map(async (name) => ({
        name,
        about: await stat(join(folder, name)).catch(() => undefined),
      })),
    );
    let bytes = files.reduce((sum, { about }) => sum + (about?.size ?? 0), 0);
    for (const { name, about } of files.sort((a, b) => (a.about?.mtimeMs ?? 0) - (b.about?.mtimeMs ?? 0))) {
      if (bytes <= MOST_BYTES || about === undefined || clock.now() - about.mtimeMs < KEEP_MS) return;
      await rm(join(folder, name), { force: true });
      bytes -= about.size;
    }
  };

  return {
    folder,
    async at(sha256, signal) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, sha256);
      if ((await stat(path).catch(() => undefined)) !== undefined) {
        const now = clock.now() / 1_000;
        await utimes(path, now, now);
        return path;
      }
      const under = fetching.get(sha256);
      if (under !== undefined) return under;
      const fetched = fetchOne(sha256, path, signal).finally(() => fetching.delete(sha256));
      fetching.set(sha256, fetched);
      await tidy();
      return fetched;
    },
  };
}

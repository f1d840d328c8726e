import { createHash, hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { OperatingError, systemCode } from "../../kernel/index.ts";

const pathOf = (dataDir: string, sha256: string): string => join(dataDir, "artifacts", sha256.slice(0, 2), sha256);

const goneOr = (thrown: unknown, what: string): unknown =>
  systemCode(thrown) !== "ENOENT"
    ? thrown
    : OperatingError.notFound("FILE_GONE", `${what} is not in the data folder any more`, {
        hint: "It was freed or set aside: 'ringrift trace' shows what happened.",
      });

const damaged = (what: string) =>
  OperatingError.conflict("MODEL_CORRUPTED", `${what} is damaged`, {
    hint: "'ringrift why' and 'ringrift alerts' show what happens with it.",
  });

/** The bytes of a file of the data folder, if they are what its name says. */
export async function readArtifact(dataDir: string, sha256: string, what: string): Promise<Buffer> {
  const bytes = await readFile(pathOf(dataDir, sha256)).catch((thrown: unknown) => {
    throw goneOr(thrown, what);
  });
  if (hash("sha256", bytes, "hex") === sha256) return bytes;
  throw damaged(what);
}

/** Copies a file of any size out of the data folder and answers how many bytes it has, if they are what its name says; else no copy stays. */
export async function copyArtifact(
  dataDir: string,
  sha256: string,
  what: string,
  to: string,
  signal: AbortSignal,
): Promise<number> {
  const seen = createHash("sha256");
  let bytes = 0;
  const watched = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      seen.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  };
  const source = createReadStream(pathOf(dataDir, sha256));
  const target = createWriteStream(to, { flags: "wx", mode: 0o600, flush: true });
  try {
    await pipeline(source, watched, target, { signal });
    if (seen.digest("hex") !== sha256) throw damaged(what);
    return bytes;
  } catch (thrown) {
    await rm(to, { force: true });
    throw goneOr(thrown, what);
  }
}

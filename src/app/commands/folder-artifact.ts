import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatingError, systemCode } from "../../kernel/index.ts";

/** The bytes of a file of the data folder, if they are what its name says. */
export async function readArtifact(dataDir: string, sha256: string, what: string): Promise<Buffer> {
  const bytes = await readFile(join(dataDir, "artifacts", sha256.slice(0, 2), sha256)).catch((thrown: unknown) => {
    if (systemCode(thrown) !== "ENOENT") throw thrown;
    throw OperatingError.notFound("FILE_GONE", `${what} is not in the data folder any more`, {
      hint: "It was freed, or set aside: 'ringrift trace' tells what became of it.",
    });
  });
  if (hash("sha256", bytes, "hex") === sha256) return bytes;
  throw OperatingError.conflict("MODEL_CORRUPTED", `${what} is damaged`, {
    hint: "'ringrift why' and 'ringrift alerts' tell what is done about it.",
  });
}

import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Unix socket paths may have 107 bytes; a deep data folder gets its socket in the temporary folder instead. */
export const socketPathFor = (dataDir: string): string => {
  const beside = join(dataDir, "ringrift.sock");
  return Buffer.byteLength(beside) < 100 ? beside : join(tmpdir(), `ringrift-${randomBytes(8).toString("hex")}.sock`);
};

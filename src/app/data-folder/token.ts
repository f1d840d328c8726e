import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { TOKEN_FILE } from "../../surfaces/index.ts";

/**
 * A file appears whole or not at all, under its own name and not where a link of that name points. It is on the disk, and its
 * name in the folder too, before it counts: a number that goes back after a loss of power would be taken for a replay.
 */
export const writeWhole = (path: string, text: string): void => {
  rmSync(`${path}.new`, { force: true });
  writeFileSync(`${path}.new`, text, { mode: 0o600, flag: "wx", flush: true });
  renameSync(`${path}.new`, path);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
};

/** An empty or short token (a start that was cut off, a full disk) would let everybody in: it is made anew. */
export const readToken = (dataDir: string): string => {
  const path = join(dataDir, TOKEN_FILE);
  const kept = existsSync(path) ? readFileSync(path, "utf8").trim() : "";
  if (/^[\w-]{32,}$/.test(kept)) {
    chmodSync(path, 0o600);
    return kept;
  }
  const token = randomBytes(32).toString("base64url");
  writeWhole(path, `${token}\n`);
  return token;
};

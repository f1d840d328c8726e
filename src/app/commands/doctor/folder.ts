/** The data folder: is it there, is it ours, and who may look into it? */
import { existsSync, lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { TOKEN_FILE } from "../../../surfaces/index.ts";
import { type Check, type Finding, fail, ok, warn } from "./finding.ts";

const octal = (mode: number) => `0${(mode & 0o777).toString(8).padStart(3, "0")}`;

export const checkFolder: Check = ({ dataDir, place, exists }) => {
  if (!exists) return ok("data folder", `${dataDir} does not exist yet; the first start makes it in ${place}`);
  const { mode, uid } = statSync(dataDir);
  if (!statSync(dataDir).isDirectory())
    return fail("data folder", `${dataDir} is not a folder`, "Choose another with --data-dir or RINGRIFT_DATA_DIR.");
  const own = process.getuid?.();
  if (own !== undefined && uid !== own && own !== 0)
    return fail(
      "data folder",
      `${dataDir} belongs to user ${uid}, and we are ${own}`,
      "Run as its owner, or change the owner.",
    );
  if ((mode & 0o077) !== 0)
    return warn("data folder", `${dataDir} is open to others (${octal(mode)})`, `chmod 700 ${dataDir}`);
  return ok("data folder", `${dataDir} (${octal(mode)})`);
};

/** Whoever reads the token may write over the port. */
export const checkSecrets: Check = ({ dataDir, running }) => {
  const found: Finding[] = [];
  const token = join(dataDir, TOKEN_FILE);
  if (existsSync(token)) {
    const { mode, size } = statSync(token);
    if ((mode & 0o077) !== 0)
      found.push(fail("token", `${token} can be read by others (${octal(mode)})`, `chmod 600 ${token}`));
    else if (size < 32) found.push(warn("token", `${token} is too short to be one`, "The next start makes a new one."));
    else found.push(ok("token", `readable only by its owner (${octal(mode)})`));
  }
  const socket = running?.socket_path;
  if (socket !== undefined && existsSync(socket)) {
    const { mode } = lstatSync(socket);
    found.push(
      (mode & 0o077) === 0
        ? ok("socket", `open only to its owner (${octal(mode)})`)
        : fail("socket", `${socket} is open to others (${octal(mode)})`, `chmod 600 ${socket}`),
    );
  }
  return found;
};

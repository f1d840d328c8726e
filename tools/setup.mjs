// Installs the dependencies (Node 24 among them) when they are missing or older than the lockfile.
// Plain JavaScript for the machine's own Node, whichever that is.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const stamp = join(root, "node_modules", ".installed");
const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
  const { stderr } = process;
  const doing = "Setting up: installing dependencies (about a minute, once) ...";
  stderr.write(doing);
  const begun = Date.now();
  // On a slow machine it takes minutes: somebody who watches sees that it goes on.
  const ticking = stderr.isTTY
    ? setInterval(() => stderr.write(`\r${doing} ${Math.round((Date.now() - begun) / 1_000)} s`), 1_000)
    : undefined;
  const npm = process.env.npm_execpath;
  const [command, before] = npm?.endsWith(".js") ? [process.execPath, [npm]] : ["npm", []];
  const args = [...before, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const installing = spawn(command, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(installing, "close").catch((error) => [error.message]);
  clearInterval(ticking);
  stderr.write("\n");
  if (code !== 0) {
    stderr.write("Setting up failed: 'npm ci' did not succeed. Is the npm registry reachable?\n");
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}

const local = join(root, "node_modules", ".bin", "node");
const major = Number(process.versions.node.split(".")[0]);
if (!existsSync(local) && major < 24) {
  process.stderr.write(
    `This machine has Node ${process.versions.node}; RingRift needs 24 or newer, and the npm registry has no build of it\n` +
      "for this platform. Install Node 24 yourself (nodejs.org, brew, nvm ...), then run the command again.\n",
  );
  process.exit(1);
}

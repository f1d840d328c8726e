// Installs the dependencies (Node 24 among them) when they are missing or older than the lockfile.
// Plain JavaScript for the machine's own Node, whichever that is.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const stamp = join(root, "node_modules", ".installed");
const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
  process.stderr.write("Setting up: installing dependencies (about a minute, once) ...\n");
  const npm = process.env.npm_execpath;
  const [command, before] = npm?.endsWith(".js") ? [process.execPath, [npm]] : ["npm", []];
  const done = spawnSync(
    command,
    [...before, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    {
      cwd: root,
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  if (done.status !== 0) {
    process.stderr.write("Setting up failed: 'npm ci' did not succeed. Is the npm registry reachable?\n");
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

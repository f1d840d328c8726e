/** The coordinator of the fleet bench, in a process of its own: it says where it listens, and ends with its parent. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bootstrapCoordination } from "../../../src/app/bootstrap.ts";
import { readSettings } from "../../../src/app/settings.ts";
import { silentLog } from "../../../src/kernel/index.ts";

const dataDir = process.argv[2]!;
const main = await bootstrapCoordination({
  settings: readSettings(process.env, dataDir, { dataDir, port: 0 }),
  log: silentLog(),
});
const token = readFileSync(join(dataDir, "token"), "utf8").trim();
process.stdout.write(`${JSON.stringify({ port: main.api.port, token })}\n`);
process.stdin.resume().once("end", () => void main.shutdown().then(() => process.exit(0)));

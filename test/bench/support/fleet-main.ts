/** The coordinator of the fleet bench, in a process of its own: it says where it listens, and ends with its parent. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bootstrapCoordination } from "../../../src/app/bootstrap.ts";
import { readSettings } from "../../../src/app/settings.ts";
import { silentLog } from "../../../src/kernel/index.ts";
import { cpuUs } from "./measure.ts";

const dataDir = process.argv[2]!;
const main = await bootstrapCoordination({
  settings: readSettings(process.env, dataDir, { dataDir, port: 0 }),
  log: silentLog(),
});
const token = readFileSync(join(dataDir, "token"), "utf8").trim();
process.stdout.write(`${JSON.stringify({ port: main.api.port, token })}\n`);
/** What it has computed so far, in all its threads, whenever its parent says a line. */
createInterface({ input: process.stdin }).on("line", () => {
  process.stdout.write(`${JSON.stringify({ cpuUs: cpuUs() })}\n`);
});
process.stdin.once("end", () => void main.shutdown().then(() => process.exit(0)));

/** The built-in games as a program of the workload protocol: one core, one job at a time. */
import { systemClock } from "../../kernel/index.ts";
import { serveWorkload } from "../process/index.ts";
import { arenaWorkload } from "./workload.ts";

const code = await serveWorkload(arenaWorkload(), {
  clock: systemClock(),
  input: process.stdin,
  write: (line) => void process.stdout.write(line),
  log: (line) => void process.stderr.write(`${line}\n`),
});
// The last words first.
process.stdout.write("", () => process.exit(code));

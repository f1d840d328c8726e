/** The built-in games as a program that does harm; its one argument says which. */
import { systemClock } from "../../../kernel/index.ts";
import { EXIT_BAD_INPUT, serveWorkload } from "../../process/index.ts";
import { POISONS } from "./declaration.ts";
import { poisonedArenaWorkload } from "./poisoned-workload.ts";

const poison = POISONS.find((each) => each === process.argv[2]);
if (poison === undefined) {
  process.stderr.write(`This program does harm on purpose; say which: ${POISONS.join(", ")}.\n`);
  process.exit(EXIT_BAD_INPUT);
}
const code = await serveWorkload(poisonedArenaWorkload(poison), {
  clock: systemClock(),
  input: process.stdin,
  write: (line) => void process.stdout.write(line),
  log: (line) => void process.stderr.write(`${line}\n`),
});
// The last words first.
process.stdout.write("", () => process.exit(code));

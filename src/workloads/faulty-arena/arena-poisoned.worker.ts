/** The built-in games as a program that does harm; its one argument says which. */
import { EXIT_BAD_INPUT, serveProcess } from "../process/index.ts";
import { POISONS } from "./declaration.ts";
import { poisonedArenaWorkload } from "./poisoned-workload.ts";

const poison = POISONS.find((each) => each === process.argv[2]);
if (poison === undefined) {
  process.stderr.write(`This program does harm on purpose; say which: ${POISONS.join(", ")}.\n`);
  process.exit(EXIT_BAD_INPUT);
}
await serveProcess(poisonedArenaWorkload(poison));

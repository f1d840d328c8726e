import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { isOperatingError, messageOf } from "../../src/kernel/index.ts";

export { OperatingError } from "../../src/kernel/index.ts";

/** The folder of the repository. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Runs a tool, which answers with its exit code. An error of operation is told in two lines; anything else is a bug of the tool and shows where. */
export async function reportAndExit(run: () => Promise<number> | number): Promise<void> {
  try {
    process.exitCode = await run();
  } catch (thrown) {
    process.exitCode = 1;
    if (!isOperatingError(thrown)) throw thrown;
    process.stderr.write(`error: ${messageOf(thrown)}\n${thrown.hint === undefined ? "" : `  ${thrown.hint}\n`}`);
    if (thrown.code.startsWith("USAGE")) process.exitCode = 2;
  }
}

import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isOperatingError, messageOf } from "../../src/kernel/index.ts";

export { OperatingError } from "../../src/kernel/index.ts";

/** The folder of the repository. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The script behind a command of a development dependency, to be run by the Node that runs us. */
export const scriptOf = (command: string): string => realpathSync(join(ROOT, "node_modules", ".bin", command));

/** Whether the module with this URL is the program that was started, and not imported by another. */
export const isProgram = (url: string): boolean =>
  process.argv[1] !== undefined && url === pathToFileURL(realpathSync(process.argv[1])).href;

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

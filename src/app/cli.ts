/** The program `ringrift`. Imported, it only offers itself; started, by itself or through bin/ringrift.js, it runs. */
import { realpathSync } from "node:fs";
import { userInfo } from "node:os";
import { fileURLToPath } from "node:url";
import { systemClock, systemRandom } from "../kernel/index.ts";
import type { CliPorts } from "./commands/commands.ts";
import { runCli } from "./commands/run.ts";
import { openTerminal } from "./commands/terminal.ts";

export { createProgram } from "./commands/program.ts";
export { runCli } from "./commands/run.ts";

const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number without a name.
    return `uid-${process.getuid?.() ?? "unknown"}`;
  }
};

export const systemPorts = (): CliPorts => ({ clock: systemClock(), random: systemRandom(), actor: userName() });

const wasStarted = (): boolean => {
  const [, entry] = process.argv;
  if (entry === undefined) return false;
  try {
    // Beside a bundle that a checkout keeps, `bin` is a link.
    const ours = [import.meta.url, new URL("../../bin/ringrift.js", import.meta.url).href];
    return ours.some((url) => realpathSync(fileURLToPath(url)) === realpathSync(entry));
  } catch {
    return false;
  }
};

if (wasStarted()) {
  const ports = systemPorts();
  const terminal = openTerminal(process, ports.clock);
  process.exitCode = await runCli(process.argv.slice(2), terminal.io, ports);
  terminal.release();
  // What was forced may have left something behind that would keep the process alive.
  if (terminal.forced) process.exit();
}

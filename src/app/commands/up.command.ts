import type { Command } from "commander";
import { type Shell, wholeNumber } from "../../surfaces/cli/index.ts";
import { bootstrapCoordination } from "../bootstrap.ts";
import type { SettingOverrides, Settings } from "../settings.ts";

/** Resolves when the signal aborts. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** `ringrift up`: the main process, in the foreground, until it is told to stop. */
export function registerUp(program: Command, shell: Shell, readSettings: (given: SettingOverrides) => Settings): void {
  program
    .command("up")
    .description("run the main process in the foreground until SIGTERM or Ctrl-C")
    .option("--port <n>", "port of the API; 0 picks a free one", wholeNumber("--port", 0, 65_535))
    .action(async ({ port }: { port?: number }) => {
      const { signal } = shell.io;
      const settings = readSettings({ port });
      const coordination = await bootstrapCoordination({ settings, clock: shell.clock });
      try {
        const { api } = coordination;
        const about = { pid: process.pid, port: api.port, socket_path: api.socketPath, data_dir: settings.dataDir };
        if (shell.json) shell.print({ status: "ready", ...about });
        else shell.say(`ready pid ${about.pid} port ${about.port} socket ${about.socket_path}`);
        await Promise.race([aborted(signal), coordination.stopRequested]);
      } finally {
        await coordination.shutdown();
      }
      if (shell.json) shell.print({ status: "stopped" });
      else shell.say("stopped");
    });
}

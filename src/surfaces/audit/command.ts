import type { Command } from "commander";
import { printAudit } from "../../daemons/index.ts";
import type { Judge } from "../cli/journal-view.port.ts";
import { negative, type Shell } from "../cli/shell.ts";

/** `ringrift audit`: exit code 1 when something has to be settled. */
export function registerAudit(command: Command, shell: Shell, judge: Judge): void {
  command
    .option("--declared", "check only the declarations, without a running process or a data folder")
    .action(async ({ declared }: { declared?: boolean }) => {
      using view = declared === true ? undefined : await shell.journals.viewIfAny();
      const report = view === undefined ? await judge(undefined) : await view.audit(judge);
      if (shell.json) shell.print({ from: view?.from ?? null, ...report });
      else shell.io.out(printAudit(report));
      if (!report.ok) throw negative();
    });
}

import type { Command } from "commander";
import { type AuditReport, printAudit } from "../../daemons/index.ts";
import type { Judge } from "./journal-view.port.ts";
import { negative, type Shell } from "./shell.ts";

/** `ringrift audit`: exit code 1 when something has to be settled. */
export function registerAudit(program: Command, shell: Shell, judge: Judge): void {
  program
    .command("audit")
    .description(
      "judge the wiring: units, subscriptions, orphans, dead and unbridged events; exit code 1 when it fails",
    )
    .option("--declared", "judge the declarations alone; look at no running process and no data folder")
    .action(async ({ declared }: { declared?: boolean }) => {
      const view = declared === true ? undefined : await shell.journals.viewIfAny();
      let report: AuditReport;
      try {
        report = view === undefined ? await judge(undefined) : await view.audit(judge);
      } finally {
        view?.close();
      }
      if (shell.json) shell.print({ from: view?.from ?? null, ...report });
      else shell.io.out(printAudit(report));
      if (!report.ok) throw negative();
    });
}

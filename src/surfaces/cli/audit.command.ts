import type { Command } from "commander";
import { type AuditReport, printAudit, type RuntimeFacts } from "../../daemons/index.ts";
import { negative, type Shell } from "./shell.ts";

/** Judges the declarations of the code that runs here, with what was seen of them at run time where that is known. */
export type AuditPort = (facts: RuntimeFacts | undefined) => Promise<AuditReport>;

/** `ringrift audit`: exit code 1 when something has to be settled. */
export function registerAudit(program: Command, shell: Shell, audit: AuditPort): void {
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
        report = await audit(await view?.runtimeFacts());
      } finally {
        view?.close();
      }
      if (shell.json) shell.print({ from: view?.from ?? null, ...report });
      else shell.io.out(printAudit(report));
      if (!report.ok) throw negative();
    });
}

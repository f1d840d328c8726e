import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { plural, printable } from "../cli/text.ts";
import { sentence, wholeNumber } from "../cli/values.ts";
import { costLines, machineLines, planLines, statusLines, usd } from "./view.ts";
import { getFleet, getFleetCost, lowerFleet, planFleet, raiseFleet, reconcileFleet } from "./wire.ts";

const DRY = "nothing was changed: this was a dry run";

interface UpOptions {
  readonly provider?: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

interface DownOptions extends Omit<UpOptions, "provider"> {
  readonly all?: boolean;
  readonly force?: boolean;
}

function registerLooks(fleet: Command, shell: Shell): void {
  fleet
    .command("status", { isDefault: true })
    .description("show rented machines, providers and money; 'ringrift fleet' does the same")
    .action(() => showAnswer(shell, getFleet, {}, (status) => statusLines(status, shell)));
  fleet
    .command("plan")
    .description("show what would be rented, for how much, and why not something else; rents nothing")
    .argument("[count]", "how many machines; default: 1", wholeNumber("count", 1, 100))
    .option("--provider <name>", "only of this provider")
    .action((count: number | undefined, { provider }: UpOptions) =>
      showAnswer(shell, planFleet, { body: { count, provider } }, (plan) => planLines(plan, shell)),
    );
  fleet
    .command("cost")
    .description("show what the fleet cost, by day, provider and machine, and for 1,000 games")
    .option("--days <n>", "how many days back, today included; default: 7", wholeNumber("--days", 1, 365))
    .action(({ days }: { days?: number }) =>
      showAnswer(shell, getFleetCost, { query: { days } }, (cost) => costLines(cost, shell)),
    );
  fleet
    .command("reconcile")
    .description("ask all providers for their machines now, and show what they and the ledger disagree about")
    .option("--dry-run", "only show it")
    .action(({ dryRun: dry_run }: UpOptions) =>
      showAnswer(shell, reconcileFleet, { body: { dry_run } }, ({ differences, failed, applied }) => [
        ...differences.map(
          ({ provider, machine_id, label, what }) =>
            `${printable(provider)} ${printable(label ?? machine_id ?? "")}: ${what}`,
        ),
        ...failed.map(({ provider, message }) => shell.paint.red(`${printable(provider)}: ${printable(message)}`)),
        ...(differences.length + failed.length === 0 ? ["providers and ledger agree"] : []),
        ...(applied ? [] : [DRY]),
      ]),
    );
}

/** `ringrift fleet`: machines from elsewhere. */
export function registerFleet(fleet: Command, shell: Shell): void {
  registerLooks(fleet, shell);
  fleet
    .command("up")
    .description("rent machines, as far as the budget allows; they join by themselves")
    .argument("<count>", "how many machines", wholeNumber("count", 1, 100))
    .option("--provider <name>", "only of this provider")
    .option("--reason <text>", "the reason; it is kept in the ledger", sentence("--reason"))
    .option("--dry-run", "only show what would be rented")
    .action((count: number, { provider, reason, dryRun: dry_run }: UpOptions) =>
      showAnswer(
        shell,
        raiseFleet,
        { body: { count, provider, reason, dry_run } },
        ({ machines, would, refusal, applied }) => [
          ...(applied
            ? [`${plural(machines.length, "machine is", "machines are")} rented now`, ...machineLines(machines, shell)]
            : would.map(
                (offer) =>
                  `would rent ${printable(offer.offer_id)} at ${printable(offer.provider)} for ${usd(offer.price_usd_hour)} an hour`,
              )),
          ...(refusal === null
            ? []
            : [
                shell.paint.yellow(
                  `${machines.length + would.length === 0 ? "none" : "not all"} of them: ${printable(refusal)}`,
                ),
              ]),
          ...(applied ? [] : [DRY]),
        ],
      ),
    );
  fleet
    .command("down")
    .description("return machines: they are drained, send home what lies only there, and are ended")
    .argument("[machines...]", "their labels, the ends of them, or their nodes")
    .option("--all", "all of them")
    .option("--force", "at once, whatever lies there; jobs go back to the queue")
    .option("--reason <text>", "the reason; it is kept in the ledger", sentence("--reason"))
    .option("--dry-run", "only show which would go")
    .action((machines: string[], { all, force, reason, dryRun: dry_run }: DownOptions) => {
      if (all !== true && machines.length === 0)
        throw OperatingError.invalid("USAGE", "no machine is named", {
          hint: "Name machines, or give --all. 'ringrift fleet status' lists them.",
        });
      return showAnswer(shell, lowerFleet, { body: { machines, all, force, reason, dry_run } }, (done) => [
        ...(done.machines.length === 0 ? ["there is nothing to return"] : machineLines(done.machines, shell)),
        ...(done.applied ? [] : [DRY]),
      ]);
    });
}

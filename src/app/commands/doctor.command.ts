import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { messageOf } from "../../kernel/index.ts";
import {
  answer,
  type ConfigReport,
  createMainProcesses,
  negative,
  plural,
  printable,
  type Shell,
  wrapText,
} from "../../surfaces/commands/index.ts";
import { checkArtifacts } from "./doctor/artifacts.ts";
import { checkDisk, checkSpace } from "./doctor/disk.ts";
import { checkResults, describeFalseResult, findFalseResults, repairFalseResults } from "./doctor/false-results.ts";
import { type Check, type Finding, fail, ok, type Patient, warn } from "./doctor/finding.ts";
import { checkFolder, checkSecrets } from "./doctor/folder.ts";
import { checkJournal, checkLeftovers } from "./doctor/journal.ts";
import { checkClock, checkLimits, checkMemory, checkNode, checkPort } from "./doctor/machine.ts";

const checks: readonly Check[] = [
  checkNode,
  checkFolder,
  checkSecrets,
  checkSpace,
  checkDisk,
  checkJournal,
  checkArtifacts,
  checkLeftovers,
  checkResults,
  checkPort,
  checkClock,
  checkMemory,
  checkLimits,
];

const nearest = (path: string): string => (existsSync(path) || dirname(path) === path ? path : nearest(dirname(path)));

function settingsFindings({ problems, notices, settings, file }: ConfigReport): Finding[] {
  const hint = "'ringrift config check' lists every problem.";
  if (problems.length > 0) return problems.map(({ message }) => fail("settings", message, hint));
  if (notices.length > 0) return notices.map((notice) => warn("settings", notice, hint));
  const set = settings.filter(({ origin }) => origin.kind !== "default").length;
  return [ok("settings", `${set} of ${settings.length} are set; ${file ?? "no file"}`)];
}

/** A check that cannot be made says so; the others are made all the same. */
async function made(check: Check, patient: Patient): Promise<readonly Finding[]> {
  try {
    return [await check(patient)].flat();
  } catch (thrown) {
    return [fail("check", `could not be made: ${messageOf(thrown)}`, "Is the data folder ours to look at?")];
  }
}

const MARK = { ok: "✓", warn: "!", fail: "✗" } as const;

function draw(findings: readonly Finding[], { paint, width }: Shell): string[] {
  const wide = Math.max(...findings.map(({ check }) => check.length));
  const edge = " ".repeat(wide + 4);
  const color = { ok: paint.green, warn: paint.yellow, fail: paint.red };
  const wrapped = (text: string) => wrapText(printable(text), width - wide - 4);
  return findings.flatMap(({ check, status, message, hint }) => {
    const [first = "", ...rest] = wrapped(message);
    const todo = hint === null ? [] : wrapped(hint).map(paint.dim);
    const head = `${color[status](`${MARK[status]} ${check.padEnd(wide)}`)}  ${first}`;
    return [head, ...[...rest, ...todo].map((line) => `${edge}${line}`)];
  });
}

type Place = Pick<Patient, "dataDir" | "port" | "host" | "secure">;

interface DoctorPorts {
  inspect(): ConfigReport;
  /** What the settings say, also where others of them are wrong. */
  where(): Place;
}

/** `ringrift doctor --repair`: what it would mend, and with `--yes` that it did. */
function repair(dataDir: string, isMeant: boolean, shell: Shell): void {
  const found = isMeant ? repairFalseResults(dataDir) : findFalseResults(dataDir);
  const results = found.map(describeFalseResult);
  const what = `${plural(results.length, "result")} that cannot be true`;
  answer(shell, { repaired: isMeant, results }, () => {
    if (results.length === 0) return shell.paint.green("there is nothing to repair");
    return isMeant
      ? [`rejected ${what}:`, ...results, "", "'ringrift train' plays their games again."]
      : [`would reject ${what}:`, ...results, "", "Nothing is changed yet: 'ringrift doctor --repair --yes' does it."];
  });
}

/** `ringrift doctor`: what could keep it from running well here, and what to do about it. */
export function registerDoctor(command: Command, shell: Shell, ports: DoctorPorts): void {
  command
    .option("--repair", "show what it would repair in the data folder, without changing anything")
    .option("--yes", "with --repair: repair it; the main process must not be running")
    .action(async (options: { repair?: boolean; yes?: boolean }) => {
      const place = ports.where();
      const { dataDir } = place;
      if (options.repair === true) return repair(dataDir, options.yes === true, shell);
      using main = await createMainProcesses(() => dataDir).find();
      const patient: Patient = {
        ...place,
        place: nearest(dataDir),
        exists: existsSync(dataDir),
        running: main?.endpoint,
        clock: shell.clock,
      };
      const findings = settingsFindings(ports.inspect());
      for (const check of checks) findings.push(...(await made(check, patient)));
      const count = (status: Finding["status"]) => findings.filter((each) => each.status === status).length;
      const [failed, warned] = [count("fail"), count("warn")];
      answer(shell, { ok: failed === 0, data_dir: dataDir, running: main !== undefined, findings }, () => {
        const words = [
          ...(failed > 0 ? [`${plural(failed, "check")} failed`] : []),
          ...(warned > 0 ? [plural(warned, "warning")] : []),
        ];
        return [...draw(findings, shell), "", words.join(", ") || shell.paint.green("all is well here")];
      });
      if (failed > 0) throw negative();
    });
}

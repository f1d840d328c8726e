import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { messageOf } from "../../kernel/index.ts";
import {
  type ConfigReport,
  createMainProcesses,
  negative,
  plural,
  printable,
  type Shell,
  wrapText,
} from "../../surfaces/cli/index.ts";
import { checkDisk, checkSpace } from "./doctor/disk.ts";
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
  checkLeftovers,
  checkPort,
  checkClock,
  checkMemory,
  checkLimits,
];

const nearest = (path: string): string => (existsSync(path) || dirname(path) === path ? path : nearest(dirname(path)));

function settingsFindings({ problems, notices, settings, file }: ConfigReport): Finding[] {
  const hint = "'ringrift config check' lists all that is wrong.";
  if (problems.length > 0) return problems.map(({ message }) => fail("settings", message, hint));
  if (notices.length > 0) return notices.map((notice) => warn("settings", notice, hint));
  const set = settings.filter(({ origin }) => origin.kind !== "default").length;
  return [ok("settings", `${set} of ${settings.length} are set; ${file ?? "no file"}`)];
}

/** A check that cannot be made says so; the others are made all the same. */
async function made(check: Check, patient: Patient): Promise<readonly Finding[]> {
  try {
    return await check(patient);
  } catch (thrown) {
    return [fail("check", `could not be made: ${messageOf(thrown)}`, "Is the data folder ours to look at?")];
  }
}

const MARK = { ok: "✓", warn: "!", fail: "✗" } as const;

function draw(findings: readonly Finding[], { paint, say, width }: Shell): void {
  const wide = Math.max(...findings.map(({ check }) => check.length));
  const edge = " ".repeat(wide + 4);
  const color = { ok: paint.green, warn: paint.yellow, fail: paint.red };
  for (const { check, status, message, hint } of findings) {
    const [first = "", ...rest] = wrapText(printable(message), width - wide - 4);
    say(`${color[status](`${MARK[status]} ${check.padEnd(wide)}`)}  ${first}`);
    for (const line of rest) say(`${edge}${line}`);
    if (hint !== null) for (const line of wrapText(printable(hint), width - wide - 4)) say(`${edge}${paint.dim(line)}`);
  }
}

export interface DoctorPorts {
  inspect(): ConfigReport;
  /** What the settings say, also where others of them are wrong. */
  where(): { readonly dataDir: string; readonly port: number };
}

/** `ringrift doctor`: what could keep it from running well here, and what to do about it. */
export function registerDoctor(program: Command, shell: Shell, ports: DoctorPorts): void {
  program
    .command("doctor")
    .description(
      "look at Node, settings, data folder, disk, journal, port, clock, memory and limits; exit code 1 when something fails",
    )
    .action(async () => {
      const { dataDir, port } = ports.where();
      const main = await createMainProcesses(() => dataDir).find();
      main?.close();
      const patient: Patient = {
        dataDir,
        place: nearest(dataDir),
        exists: existsSync(dataDir),
        running: main?.endpoint,
        port,
        clock: shell.clock,
        env: shell.io.env,
      };
      const findings = settingsFindings(ports.inspect());
      for (const check of checks) findings.push(...(await made(check, patient)));
      const count = (status: Finding["status"]) => findings.filter((each) => each.status === status).length;
      const [failed, warned] = [count("fail"), count("warn")];
      if (shell.json) shell.print({ ok: failed === 0, data_dir: dataDir, running: main !== undefined, findings });
      else {
        draw(findings, shell);
        const words = [
          ...(failed > 0 ? [`${plural(failed, "check")} failed`] : []),
          ...(warned > 0 ? [`${plural(warned, "warning")}`] : []),
        ];
        shell.say("");
        shell.say(words.length === 0 ? shell.paint.green("all is well here") : words.join(", "));
      }
      if (failed > 0) throw negative();
    });
}

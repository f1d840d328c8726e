import type { Command } from "commander";
import { didYouMean, OperatingError, suggest } from "../../kernel/index.ts";
import { askMain } from "../cli/main-process.ts";
import { negative, type Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { plural, printable } from "../cli/text.ts";
import type { ConfigReport, ConfigRow } from "../http/settings-report.ts";
import type { Answer } from "../http/wire.ts";
import { compareNodeSettings } from "../nodes/wire.ts";
import { getSettings } from "../system/wire.ts";

/** What these commands need to know about settings; the composition root has the schema. */
export interface ConfigPort {
  /** Looks at flags, environment and file as they are now. */
  inspect(): ConfigReport;
}

const originText = ({ kind, place }: ConfigRow["origin"]): string => {
  if (place === null) return kind;
  return kind === "file" ? printable(place) : `${kind} ${printable(place)}`;
};

const valueText = ({ value, sound }: ConfigRow): string => {
  if (!sound) return "(wrong)";
  return value === null ? "(none)" : printable(String(value));
};

/** Whoever leaves the group out means the last word of a key. */
function withoutGroup(asked: string, { settings }: ConfigReport): string {
  const keys = settings.map(({ key }) => key).filter((key) => suggest(asked, [key.split(".").at(-1)!]).length > 0);
  return keys.length === 0 ? "" : ` Did you mean ${keys.slice(0, 3).join(" or ")}?`;
}

/** One setting by its key or variable, or all of a group such as `router`. */
function chosen(report: ConfigReport, asked: string): readonly ConfigRow[] {
  const group = report.settings.filter(({ key }) => key.startsWith(`${asked}.`));
  if (group.length > 0) return group;
  const one = report.settings.find(({ key, variable }) => key === asked || variable === asked);
  if (one !== undefined) return [one];
  const known = report.settings.flatMap(({ key, variable }) => {
    if (asked.startsWith("RINGRIFT_")) return [variable];
    return asked.includes(".") ? [key] : [key, key.split(".")[0]!];
  });
  throw OperatingError.notFound(
    "UNKNOWN_SETTING",
    `there is no setting '${printable(asked)}'.${didYouMean(asked, new Set(known)) || withoutGroup(asked, report)}`,
    {
      hint: "'ringrift config show' lists them all.",
    },
  );
}

const aside = (report: ConfigReport, shell: Shell): void => {
  for (const notice of report.notices) shell.note(`notice: ${printable(notice)}`);
  if (report.problems.length > 0)
    shell.note(`${plural(report.problems.length, "problem")}: 'ringrift config check' says what is wrong`);
};

/** A single value stands alone on its line, for scripts; it is refused where it is wrong. */
function showOne(row: ConfigRow, report: ConfigReport, shell: Shell, origin: boolean): void {
  if (!row.sound) {
    const problem = report.problems.find(({ keys }) => keys.includes(row.key));
    throw OperatingError.invalid("INVALID_SETTING", problem?.message ?? `${row.key} is wrong`, {
      hint: "'ringrift config check' lists every problem.",
    });
  }
  if (shell.json) {
    shell.print(row);
    return;
  }
  const value = row.value === null ? "" : printable(String(row.value));
  shell.say(origin ? `${value}\t${originText(row.origin)}` : value);
}

function showAll(rows: readonly ConfigRow[], report: ConfigReport, shell: Shell, origin: boolean): void {
  if (shell.json) {
    shell.print({ ...report, settings: rows });
    return;
  }
  const { paint } = shell;
  const head = ["KEY", "VALUE", "UNIT", "ORIGIN"].map(paint.bold);
  const lines = rows.map((row) => [
    row.key,
    row.sound ? valueText(row) : paint.red(valueText(row)),
    row.unit ?? "",
    originText(row.origin),
  ]);
  const columns = origin ? 4 : 3;
  shell.say(
    ...tableLines(
      [head, ...lines].map((cells) => cells.slice(0, columns)),
      shell,
    ),
  );
}

function check(report: ConfigReport, shell: Shell): void {
  const { problems, notices, file, settings } = report;
  const ok = problems.length === 0;
  if (shell.json) shell.print({ ok, file, problems, notices });
  else {
    for (const { message } of problems) shell.say(printable(message));
    for (const notice of notices) shell.say(`notice: ${printable(notice)}`);
    const set = settings.filter(({ origin }) => origin.kind !== "default").length;
    const from = file === null ? "no file" : printable(file);
    shell.say(ok ? `ok: ${set} of ${settings.length} settings are set; ${from}` : plural(problems.length, "problem"));
  }
  if (!ok) throw negative();
}

/** What a restart would change: flags, environment and file as they are here, against what the process runs with. */
function diff(running: ConfigReport, here: ConfigReport, shell: Shell): void {
  const now = new Map(running.settings.map((row) => [row.key, row]));
  const changes = here.settings.flatMap((row) => {
    const before = now.get(row.key);
    return before !== undefined && row.sound && String(before.value) === String(row.value)
      ? []
      : [{ before, after: row }];
  });
  if (shell.json)
    shell.print({
      changes: changes.map(({ before, after }) => ({
        key: after.key,
        running: before?.value ?? null,
        here: after.value,
        origin: after.origin,
      })),
    });
  else if (changes.length === 0) shell.say("a restart from here would change no setting");
  else
    shell.say(
      ...tableLines(
        [
          ["KEY", "RUNNING", "AFTER A RESTART", "FROM"],
          ...changes.map(({ before, after }) => [
            after.key,
            before === undefined ? "(unknown)" : valueText(before),
            valueText(after),
            originText(after.origin),
          ]),
        ],
        shell,
      ),
    );
  if (changes.length > 0) throw negative();
}

/** What is set on one machine and not on another, or otherwise. */
function diffNodes(answer: Answer<typeof compareNodeSettings>, shell: Shell): void {
  const { nodes, unknown, differences } = answer;
  if (shell.json) shell.print(answer);
  else {
    const text = ({ value }: { readonly value?: string | number | boolean | null | undefined }) =>
      value === undefined ? shell.paint.dim("default") : printable(String(value ?? "(none)"));
    if (differences.length > 0)
      shell.say(
        ...tableLines(
          [
            ["KEY", ...nodes.map(({ node }) => printable(node))],
            ...differences.map(({ key, values }) => [printable(key), ...values.map(text)]),
          ],
          shell,
        ),
      );
    else if (nodes.length > 1)
      shell.say(`${plural(nodes.length - 1, "node")} and the main process have the same settings`);
    else shell.say("no node has reported its settings");
    if (unknown.length > 0)
      shell.note(`not known, since they have not reported them: ${unknown.map(printable).join(", ")}`);
  }
  if (differences.length > 0) throw negative();
}

interface ShowOptions {
  readonly origin?: boolean;
  readonly here?: boolean;
}

export function registerConfig(command: Command, shell: Shell, config: ConfigPort): void {
  command
    .command("show")
    .description(
      "show the settings of the running process, or of one that would start here: flags override the environment, then the file, then defaults",
    )
    .argument("[key]", "one setting, such as router.handler_timeout, or a group, such as router")
    .option("--origin", "show where each value came from")
    .option("--here", "show what a process started here would use, even while one is running")
    .addHelpText(
      "after",
      `
Examples:
  ringrift config show --origin
  ringrift config show router.handler_timeout
`,
    )
    .action(async (asked: string | undefined, { origin = false, here = false }: ShowOptions) => {
      const own = config.inspect();
      // What is wrong here is shown first: with it nobody can be asked.
      const isOwn = here || own.problems.length > 0;
      using main = isOwn ? undefined : await shell.main.find();
      const report = main === undefined ? own : await main.call(getSettings);
      const rows = asked === undefined ? report.settings : chosen(report, asked);
      const [only] = rows;
      if (rows.length === 1 && only !== undefined) showOne(only, report, shell, origin);
      else showAll(rows, report, shell, origin);
      if (shell.json) return;
      const whose =
        main === undefined
          ? `what a start from here would have${isOwn ? "" : ": nothing runs on this data folder"}`
          : `what the process that runs has (pid ${main.endpoint.pid}); 'ringrift config show --here' shows what a start would have`;
      if (rows.length > 1) shell.note(whose);
      aside(report, shell);
    });

  command
    .command("diff")
    .description("show which settings a restart from here would change; exit code 1 if there are any")
    .option("--nodes", "show which settings differ between the main process and the nodes that joined it instead")
    .action(({ nodes = false }: { readonly nodes?: boolean }) =>
      askMain(shell.main, async (main) => {
        if (nodes) diffNodes(await main.call(compareNodeSettings), shell);
        else diff(await main.call(getSettings), config.inspect(), shell);
      }),
    );

  command
    .command("check")
    .description("check flags, environment and file, and list every problem; exit code 1 if there is one")
    .action(() => check(config.inspect(), shell));
}

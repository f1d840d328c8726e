/**
 * The frame of `npm run bench` and `npm run soak`: a folder of modules, each with
 *
 *   export const about = "one line";                       // shown by --list; else the first sentence of its comment
 *   export function run(options) { return result; }        // may be async; the result is data
 *   export const tiny = { rounds: 1 };                     // options with which run() takes seconds, for `npm test`
 *   export function print(result) { return "a table"; }    // optional; without it the result is shown as JSON
 *   export const shownBy = "test/chaos/kill.test.ts";      // optional: what `npm test` runs of it, in place of the tiny size
 *
 * A module fails by throwing, or with a result whose `ok` is false. Goals in its result that are not met are said and
 * counted, and are no failure. Each runs in a process of its own, so that one's heap and compiled code never colour
 * another's numbers, and a crash ends that one alone; whatever is left of it then is ended.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { defined, didYouMean } from "../../src/kernel/index.ts";
import { patience } from "../../test/support/patience.ts";
import { OperatingError, ROOT, readArguments } from "./root.ts";
import { type Goals, sayGoals, sumOfGoals } from "./suite-goals.ts";
import { type Outcome, type RunOptions, runModule } from "./suite-module.ts";

export interface Suite {
  readonly name: string;
  readonly folder: string;
  readonly reports: string;
  readonly about: string;
  /** How long a module that has its result may take to end. */
  readonly leaveMs?: number;
}

interface Entry {
  readonly name: string;
  readonly file: string;
  readonly about: string;
  /** A file that runs it as well, in `npm test`: once is enough there. */
  readonly shownBy?: string;
}

interface Report {
  readonly suite: string;
  readonly started_at: string;
  readonly machine: Readonly<Record<string, string | number>>;
  /** At the tiny size numbers mean nothing: it only shows that everything still runs. */
  readonly tiny: boolean;
  readonly goals: Goals;
  readonly outcomes: readonly Outcome[];
}

/** What a module may take at its tiny size on a machine of the usual speed. */
const TINY_LIMIT_MS = 90_000;

const HAS_RUN = /^export (async )?(function\*? run\b|const run\b)|^export \{[^}]*\brun\b[^}]*\}/m;
const ABOUT = /^export const about\s*=\s*(["'`])(.*?)\1/m;
const SHOWN_BY = /^export const shownBy\s*=\s*(["'`])(.*?)\1/m;
const COMMENT = /^\/\*\*([\s\S]*?)\*\//;

function aboutOf(source: string): string {
  const comment =
    COMMENT.exec(source)?.[1]
      ?.replaceAll(/\s*\n\s*\* ?/g, " ")
      .trim() ?? "";
  return ABOUT.exec(source)?.[2] ?? /^.*?(?=[.:] |[.:]?$)/.exec(comment)?.[0] ?? "";
}

/** The modules of a folder that export `run`; others are their helpers. */
function entriesIn(folder: string): Entry[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith(".ts") && !/\.(test|contract|d)\.ts$/.test(file))
    .map((file) => ({ file: join(folder, file), source: readFileSync(join(folder, file), "utf8") }))
    .filter(({ source }) => HAS_RUN.test(source))
    .map(({ file, source }) => ({
      name: basename(file, ".ts"),
      file,
      about: aboutOf(source),
      ...defined({ shownBy: SHOWN_BY.exec(source)?.[2] }),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** One of the two imports the other: otherwise nothing of the module is shown there. */
function checkShown({ name, file, shownBy }: Entry, root: string): void {
  const there = join(root, shownBy!);
  const imports = (from: string, what: string) =>
    existsSync(from) &&
    [...readFileSync(from, "utf8").matchAll(/ from "([^"]+)"/g)].some(
      ([, path]) => join(dirname(from), path!) === what,
    );
  if (!imports(there, file) && !imports(file, there))
    throw OperatingError.internal("SUITE_NOT_SHOWN", `${name} says that ${shownBy} runs it, which does not import it`);
}

/** `rounds=20` becomes `{ rounds: 20 }`: what reads as JSON is taken so, the rest as text. */
function settingsOf(pairs: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw OperatingError.invalid("USAGE", `--set wants key=value, not '${pair}'`);
      const text = pair.slice(at + 1);
      try {
        return [pair.slice(0, at), JSON.parse(text)];
      } catch {
        return [pair.slice(0, at), text];
      }
    }),
  );
}

function chosen(entries: readonly Entry[], names: readonly string[], suite: Suite): readonly Entry[] {
  if (entries.length === 0)
    throw OperatingError.internal("SUITE_EMPTY", `there is no ${suite.name} in ${suite.folder}`, {
      hint: "A module there that exports run() becomes one.",
    });
  const known = entries.map(({ name }) => name);
  for (const name of names)
    if (!known.includes(name))
      throw OperatingError.invalid("USAGE_NAME", `there is no ${suite.name} '${name}'.${didYouMean(name, known)}`, {
        hint: `There are: ${known.join(", ")}.`,
      });
  return names.length === 0 ? entries : entries.filter(({ name }) => names.includes(name));
}

const usage = (suite: Suite): string => `Usage: npm run ${suite.name} -- [name ...] [options]

${suite.about[0]!.toUpperCase()}${suite.about.slice(1)}. Without a name, all of them.

  --list             names and what each is about
  --set key=value    an option for run(), as often as needed
  --tiny             each at its smallest, several at once: does it still run? Goals do not count
  --json             the report as JSON on standard output, and nothing else there
  --help             this text

The report is kept in ${suite.reports}/, unless tiny. Exit codes: 0 all held and every goal was met, 1 one failed, 2 wrong
arguments, 3 all held and a goal was missed.
`;

const yesNo = { type: "boolean", default: false } as const;
const options = {
  list: yesNo,
  json: yesNo,
  tiny: yesNo,
  help: yesNo,
  set: { type: "string", multiple: true },
} as const;

const machine = (): Report["machine"] => ({
  node: process.version,
  platform: `${process.platform}-${process.arch}`,
  cpu: cpus()[0]?.model ?? "unknown",
  cores: availableParallelism(),
  memory_gb: Math.round(totalmem() / 2 ** 30),
});

function save(report: Report, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const text = `${JSON.stringify(report, null, 2)}\n`;
  const file = join(folder, `${report.started_at.replaceAll(":", "-")}.json`);
  writeFileSync(file, text);
  writeFileSync(join(folder, "latest.json"), text);
  return file;
}

/** One after the other, so that none disturbs another's numbers; at the tiny size as many at once as there are cores. */
async function runEntries(
  entries: readonly Entry[],
  { options, tiny, leaveMs }: Pick<RunOptions, "options" | "tiny" | "leaveMs">,
  tell: { readonly begun: (entry: Entry) => void; readonly ended: (entry: Entry, outcome: Outcome) => void },
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let next = 0;
  const lane = async () => {
    while (next < entries.length) {
      const at = next;
      next += 1;
      const entry = entries[at]!;
      tell.begun(entry);
      const limit = tiny ? { limitMs: patience(TINY_LIMIT_MS) } : {};
      outcomes[at] = await runModule(entry.name, entry.file, { options, tiny, leaveMs, ...limit });
      tell.ended(entry, outcomes[at]);
    }
  };
  await Promise.all(Array.from({ length: tiny ? availableParallelism() : 1 }, lane));
  return outcomes;
}

const head = (suite: Suite, { name, about }: Entry): string => `\n${suite.name} ${name}${about && `: ${about}`}\n`;

function shown(outcome: Outcome, tiny: boolean): string {
  const lines: string[] = [];
  if (!tiny && outcome.printed !== undefined) lines.push(outcome.printed.trimEnd());
  else if (!tiny && outcome.result !== undefined) lines.push(JSON.stringify(outcome.result, null, 2));
  if (outcome.error !== undefined) lines.push(outcome.error);
  const goals = tiny ? "" : sayGoals(outcome.goals);
  lines.push(
    `${outcome.ok ? "ok" : "FAILED"}${goals && `, ${goals},`} in ${(outcome.duration_ms / 1000).toFixed(1)} s`,
    ...(tiny ? [] : outcome.goals.missed.map((what) => `  missed: ${what}`)),
  );
  return `${lines.join("\n")}\n`;
}

function list(entries: readonly Entry[], json: boolean): string {
  const rows = entries.map(({ name, about }) => ({ name, about }));
  if (json) return `${JSON.stringify(rows)}\n`;
  return rows.map(({ name, about }) => `${name.padEnd(24)} ${about}\n`).join("");
}

export async function runSuite(suite: Suite, args: readonly string[], root = ROOT): Promise<number> {
  const { values, positionals } = readArguments({ args, allowPositionals: true, options });
  const { tiny } = values;
  if (values.help) {
    process.stdout.write(usage(suite));
    return 0;
  }
  const entries = entriesIn(join(root, suite.folder));
  if (values.list) {
    process.stdout.write(list(entries, values.json));
    return 0;
  }
  const wanted = chosen(entries, positionals, suite);
  // Who names one wants to see it run.
  const isShownElsewhere = ({ shownBy }: Entry) => tiny && positionals.length === 0 && shownBy !== undefined;
  const elsewhere = wanted.filter(isShownElsewhere);
  const picked = wanted.filter((entry) => !isShownElsewhere(entry));
  for (const entry of elsewhere) checkShown(entry, root);
  const given = settingsOf(values.set ?? []);
  const startedAt = new Date().toISOString();
  // Under --json standard output belongs to the report alone; people read along on standard error.
  const say = (text: string) => void (values.json ? process.stderr : process.stdout).write(text);
  for (const entry of elsewhere) say(`${head(suite, entry)}shown by ${entry.shownBy}\n`);
  const outcomes = await runEntries(
    picked,
    { options: given, tiny, leaveMs: suite.leaveMs },
    {
      begun: (entry) => (tiny ? undefined : say(head(suite, entry))),
      ended: (entry, outcome) => say(`${tiny ? head(suite, entry) : ""}${shown(outcome, tiny)}`),
    },
  );
  const goals = tiny ? { total: 0, missed: [] } : sumOfGoals(outcomes.map((outcome) => outcome.goals));
  const report: Report = { suite: suite.name, started_at: startedAt, machine: machine(), tiny, goals, outcomes };
  const file = tiny ? undefined : save(report, join(root, suite.reports));
  if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
  const failed = outcomes.filter(({ ok }) => !ok).map(({ name }) => name);
  say(
    `\n${outcomes.length - failed.length} held, ${failed.length} failed${failed.map((name) => ` ${name}`).join(",")}`,
  );
  if (goals.total > 0) say(`; ${sayGoals(goals)}`);
  say(file === undefined ? "\n" : `; report in ${relative(process.cwd(), file)}\n`);
  if (failed.length > 0) return 1;
  return goals.missed.length > 0 ? 3 : 0;
}

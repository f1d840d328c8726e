/**
 * The frame of `npm run bench` and `npm run soak`: a folder of modules, each with
 *
 *   export const about = "one line";                       // shown by --list; else the first sentence of its comment
 *   export function run(options) { return result; }        // may be async; the result is data
 *   export function print(result) { return "a table"; }    // optional; without it the result is shown as JSON
 *
 * A module fails by throwing, or with a result whose `ok` is false; with one whose `met` is false it holds, but missed a
 * goal of speed, and that is said. Each runs in a process of its own, so that one's heap
 * and compiled code never colour another's numbers, and a crash ends that one alone.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { basename, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { didYouMean, messageOf } from "../../src/kernel/index.ts";
import { OperatingError, ROOT } from "./root.ts";
import { type Outcome, runModule } from "./suite-module.ts";

interface Suite {
  readonly name: string;
  readonly folder: string;
  readonly reports: string;
  readonly about: string;
}

interface Entry {
  readonly name: string;
  readonly file: string;
  readonly about: string;
}

interface Report {
  readonly suite: string;
  readonly started_at: string;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly outcomes: readonly Outcome[];
}

const HAS_RUN = /^export (async )?(function\*? run\b|const run\b)|^export \{[^}]*\brun\b[^}]*\}/m;
const ABOUT = /^export const about\s*=\s*(["'`])(.*?)\1/m;
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
    .map(({ file, source }) => ({ name: basename(file, ".ts"), file, about: aboutOf(source) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `rounds=20` becomes `{ rounds: 20 }`: what reads as JSON is taken so, the rest as text. */
function settingsOf(pairs: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new OperatingError("USAGE", `--set wants key=value, not '${pair}'`);
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
    throw new OperatingError("SUITE_EMPTY", `there is no ${suite.name} in ${suite.folder}`, {
      hint: "A module there that exports run() becomes one.",
    });
  const known = entries.map(({ name }) => name);
  for (const name of names)
    if (!known.includes(name))
      throw new OperatingError("USAGE_NAME", `there is no ${suite.name} '${name}'.${didYouMean(name, known)}`, {
        hint: `There are: ${known.join(", ")}.`,
      });
  return names.length === 0 ? entries : entries.filter(({ name }) => names.includes(name));
}

const usage = (suite: Suite): string => `Usage: npm run ${suite.name} -- [name ...] [options]

${suite.about[0]!.toUpperCase()}${suite.about.slice(1)}. Without a name, all of them.

  --list             names and what each is about
  --set key=value    an option for run(), as often as needed
  --json             the report as JSON on standard output, and nothing else there
  --help             this text

The report is kept in ${suite.reports}/. Exit codes: 0 all held, 1 one failed, 2 wrong arguments.
`;

const parse = (args: readonly string[]) => {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        list: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
        set: { type: "string", multiple: true, default: [] },
      },
    });
  } catch (thrown) {
    throw new OperatingError("USAGE", messageOf(thrown), { cause: thrown, hint: "Try --help." });
  }
};

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

const missed = ({ ok, result }: Outcome): boolean =>
  ok && typeof result === "object" && result !== null && (result as { met?: unknown }).met === false;

export async function runSuite(suite: Suite, args: readonly string[], root = ROOT): Promise<number> {
  const { values, positionals } = parse(args);
  if (values.help) {
    process.stdout.write(usage(suite));
    return 0;
  }
  const entries = entriesIn(join(root, suite.folder));
  if (values.list) {
    const list = entries.map(({ name, about }) => ({ name, about }));
    process.stdout.write(
      values.json
        ? `${JSON.stringify(list)}\n`
        : list.map(({ name, about }) => `${name.padEnd(24)} ${about}\n`).join(""),
    );
    return 0;
  }
  const picked = chosen(entries, positionals, suite);
  const options = settingsOf(values.set);
  const startedAt = new Date().toISOString();
  const outcomes: Outcome[] = [];
  // Under --json standard output belongs to the report alone; people read along on standard error.
  const say = (text: string) => void (values.json ? process.stderr : process.stdout).write(text);
  for (const entry of picked) {
    say(`\n${suite.name} ${entry.name}${entry.about && `: ${entry.about}`}\n`);
    const outcome = await runModule(entry.name, entry.file, options);
    outcomes.push(outcome);
    if (outcome.printed !== undefined) say(`${outcome.printed.trimEnd()}\n`);
    else if (outcome.result !== undefined) say(`${JSON.stringify(outcome.result, null, 2)}\n`);
    if (outcome.error !== undefined) say(`${outcome.error}\n`);
    const verdict = !outcome.ok ? "FAILED" : missed(outcome) ? "ok, with a goal MISSED," : "ok";
    say(`${verdict} in ${(outcome.duration_ms / 1000).toFixed(1)} s\n`);
  }
  const report: Report = { suite: suite.name, started_at: startedAt, machine: machine(), outcomes };
  const file = save(report, join(root, suite.reports));
  if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
  const failed = outcomes.filter(({ ok }) => !ok).map(({ name }) => name);
  say(
    `\n${outcomes.length - failed.length} held, ${failed.length} failed${failed.map((name) => ` ${name}`).join(",")}`,
  );
  const short = outcomes.filter(missed).map(({ name }) => name);
  if (short.length > 0) say(`; a goal was missed in ${short.join(", ")}`);
  say(`; report in ${relative(process.cwd(), file)}\n`);
  return failed.length === 0 ? 0 : 1;
}

import type { Command } from "commander";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import { adviceWords } from "../cli/advice.ts";
import { askEither } from "../cli/answers.ts";
import type { Answering } from "../cli/main-process.ts";
import { answer, negative, type Shell } from "../cli/shell.ts";
import { duration, printable, shorten, valueText, wrapText } from "../cli/text.ts";
import type { RawAnswer } from "../http/wire.ts";
import type { getWhy as route, Why } from "./wire.ts";

const text = (value: unknown): string => {
  if (value === null || value === undefined) return "";
  return printable(valueText(value));
};

const todo = ({ advice, hint }: Why["gates"][number]): string => adviceWords(advice ?? null) || (hint ?? "");

const INDENT = 7;
const LABEL = 9;

/** A label and a text that may be broken, each line under the one before. */
function labelled(label: string, said: string, width: number): string[] {
  if (said === "") return [];
  return wrapText(said, width - INDENT - LABEL).map((line, i) => `${(i === 0 ? label : "").padEnd(LABEL)}${line}`);
}

/** How far it is: `12 of 32`, or what is and what is needed where that is no number. */
function progressWords({ actual, required }: Why["gates"][number]): string {
  const [is, needed] = [text(actual), text(required)];
  const between = [is, needed].every((each) => Number.isFinite(Number(each))) ? " of " : "; needed: ";
  return [is, needed].filter((each) => each !== "").join(between);
}

/** The chain of gates, drawn: what passes, and at the first that does not, what is and what must be. */
export function whyLines(report: Why, shell: Pick<Shell, "paint" | "width" | "clock">): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const width = Math.min(shell.width, 120);
  const span = (at: number | null) => (at === null ? "" : duration(Math.max(0, now - at)));
  const lines = report.gates.flatMap((gate, i) => {
    const isLast = i === report.gates.length - 1;
    const branch = paint.dim(isLast ? "└─" : "├─");
    const name = printable(gate.gate);
    if (gate.passed) {
      const room = width - INDENT - name.length - 2;
      const actual = text(gate.actual);
      const beside = actual === "" || room < 8 ? "" : paint.dim(`  ${shorten(actual, room)}`);
      return [`  ${branch} ${paint.green(`✓ ${name}`)}${beside}`];
    }
    if (gate.in_progress === true) {
      const words = progressWords(gate);
      return [`  ${branch} ${shorten(`· ${name}  ${words}`, width - INDENT)}`];
    }
    const below = [
      ...labelled("is", text(gate.actual), width),
      ...labelled("must be", text(gate.required), width),
      ...labelled("since", span(gate.since), width),
      ...labelled("do", printable(todo(gate)), width),
    ];
    const stem = isLast ? " " : paint.dim("│");
    return [`  ${branch} ${paint.red(`✗ ${name}`)}`, ...below.map((line) => `  ${stem}    ${line}`)];
  });
  const { cause } = report;
  const since = span(report.since);
  const [first = "", ...rest] = wrapText(
    `${printable(report.label ?? report.subject)} (${printable(report.kind)}): ${printable(report.verdict)}${since === "" ? "" : `, for ${since}`}`,
    width,
  );
  const color = isRefused(report) ? paint.red : paint.green;
  // The gates say it too; where the way to the root is long, it comes first.
  const isDeep = cause != null && cause.because.length > 1;
  const root = isDeep
    ? [
        ...labelled("do", adviceWords(cause.advice), width).map((line) => `  ${line}`),
        ...labelled("path", cause.because.map(({ subject }) => printable(subject)).join(" > "), width).map(
          (line) => `  ${paint.dim(line)}`,
        ),
      ]
    : [];
  return [paint.bold(color(first)), ...rest.map((line) => paint.bold(color(line))), ...root, ...lines];
}

/** Work in progress is no refusal. */
const isRefused = ({ cause }: Pick<Why, "cause">): boolean => cause != null && cause.level !== "note";

async function whyOf(main: Answering, subject: string): Promise<RawAnswer<typeof route>> {
  const { getWhy } = await import("./wire.ts");
  return main.raw(getWhy, { params: { subject } }).catch((thrown: unknown) => {
    if (!isOperatingError(thrown, "UNKNOWN_UNIT")) throw thrown;
    const hint =
      "See 'ringrift pipeline', 'ringrift queue', 'ringrift nodes', 'ringrift artifacts' and 'ringrift daemons list'.";
    throw OperatingError.notFound(thrown.code, thrown.message, { hint, cause: thrown });
  });
}

/** The configs that train here; none where the process has no pipeline. */
async function configsOf(main: Answering): Promise<string[]> {
  const { getPipeline } = await import("../pipeline/wire.ts");
  try {
    return (await main.call(getPipeline)).configs.map(({ config_key }) => config_key);
  } catch (thrown) {
    if (isOperatingError(thrown) && thrown.kind === "unavailable") return [];
    throw thrown;
  }
}

/** Without a subject: every root of what is wrong anywhere, then each config with its gates. */
async function whyAll(shell: Shell, main: Answering): Promise<void> {
  const [{ getWhy }, { getOverview }, { troubleLines }, { verdictOf }] = await Promise.all([
    import("./wire.ts"),
    import("../status/wire.ts"),
    import("../status/view.ts"),
    import("../status/verdict.ts"),
  ]);
  // A folder alone has no process to ask what is wrong with it.
  const status = main.leftAt === undefined ? await main.raw(getOverview) : undefined;
  const configs: RawAnswer<typeof route>[] = [];
  for (const subject of await configsOf(main)) configs.push(await whyOf(main, subject));
  const causes = status === undefined ? [] : main.read(getOverview, status).causes;
  answer(shell, { causes: status?.causes ?? [], configs }, () => [
    ...(status === undefined ? [] : [shell.paint.bold(verdictOf(causes)), ...troubleLines(causes, shell)]),
    ...configs.flatMap((config) => ["", ...whyLines(main.read(getWhy, config), shell)]),
    ...(configs.length === 0 ? ["", "no config trains here: start one with 'ringrift train'"] : []),
  ]);
  if (causes.some(({ level }) => level !== "note") || configs.some(isRefused)) throw negative();
}

/** `ringrift why`: what stands between a subject and its work, the root of it first. */
export function registerWhy(command: Command, shell: Shell): void {
  command
    .argument("[subject]", "a config, a job (w17), a node, a file by its hash, a daemon or unit; default: all configs")
    .action((subject?: string) =>
      askEither(shell, async (main) => {
        if (subject === undefined) return whyAll(shell, main);
        const { getWhy } = await import("./wire.ts");
        const raw = await whyOf(main, subject);
        answer(shell, raw, () => whyLines(main.read(getWhy, raw), shell));
        if (isRefused(main.read(getWhy, raw))) throw negative();
      }),
    );
}

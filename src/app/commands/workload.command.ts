import type { Command } from "commander";
import { defined } from "../../kernel/index.ts";
import {
  answer,
  decimal,
  negative,
  plural,
  printable,
  type Shell,
  wholeNumber,
} from "../../surfaces/commands/index.ts";
import type { CheckResult, WorkloadConsole } from "../../workloads/process/index.ts";

interface CheckOptions {
  readonly jobs?: string;
  readonly env: readonly string[];
  readonly seed: number;
  readonly hello: number;
  readonly silence: number;
  readonly grace: number;
  readonly keep?: boolean;
}

const SHOWN_LOG_LINES = 20;

const EXAMPLES = `
Examples:
  $ ringrift workload check -- python3 trainer.py --device cpu
  $ ringrift workload check --jobs tiny-jobs.json --env CUDA_VISIBLE_DEVICES -- ./selfplay
`;

const WORDS = { passed: "ok  ", failed: "FAIL", skipped: "skip" } as const;

export function registerWorkload(command: Command, shell: Shell, workloads: WorkloadConsole): void {
  const line = ({ name, status, detail }: CheckResult): string => {
    const { paint } = shell;
    const word = { passed: paint.green, failed: paint.red, skipped: paint.yellow }[status](WORDS[status]);
    return `${word}  ${printable(name).padEnd(26)}  ${printable(detail)}`;
  };

  command
    .command("check")
    .description("test a program against all rules of the workload protocol; exit code 1 if it breaks one")
    .argument("<command...>", "the program and its arguments, after --")
    .option("--jobs <file>", "JSON list of tiny jobs, instead of the examples in the program's hello message")
    .option(
      "--env <name>",
      "an environment variable to pass to the program; repeat it for more",
      (name: string, before: string[]) => [...before, name],
      [],
    )
    .option("--seed <n>", "seed of the jobs", wholeNumber("--seed", 0, Number.MAX_SAFE_INTEGER), 1)
    .option("--hello <seconds>", "how long the program may take to say hello", decimal("--hello", 0.1, 600), 30)
    .option("--silence <seconds>", "how long a job may send no message", decimal("--silence", 0.1, 86_400), 60)
    .option("--grace <seconds>", "how long a cancelled job may take to end", decimal("--grace", 0.1, 3_600), 10)
    .option("--keep", "keep the folder in which the jobs ran")
    .addHelpText("after", EXAMPLES)
    .action(async ([file = "", ...args]: string[], options: CheckOptions) => {
      const report = await workloads.check({
        command: file,
        args,
        ...defined({ jobsFile: options.jobs }),
        envAllow: options.env,
        seed: options.seed,
        helloSeconds: options.hello,
        silenceSeconds: options.silence,
        graceSeconds: options.grace,
        keep: options.keep === true,
        onResult: (result) => {
          if (!shell.json) shell.say(line(result));
        },
        signal: shell.io.signal,
      });
      answer(shell, report, () => {
        const count = (status: CheckResult["status"]) => report.results.filter((each) => each.status === status).length;
        const log = report.ok ? "" : report.stderr_tail.trimEnd();
        const last = log.split("\n").slice(-SHOWN_LOG_LINES);
        return [
          ...(log === "" ? [] : ["", "The end of its log:", ...last.map((text) => `  ${printable(text)}`)]),
          "",
          `${plural(count("passed"), "rule")} kept, ${count("failed")} broken, ${count("skipped")} not tried`,
          ...(report.folder === undefined ? [] : [`The jobs ran in ${report.folder}`]),
        ];
      });
      if (!report.ok) throw negative();
    });

  const documents = [
    ["messages", "the messages of the workload protocol", workloads.messages, workloads.messagesSchema],
    ["declaration", "the fields of a workload declaration", workloads.declaration, workloads.declarationSchema],
  ] as const;
  for (const [name, what, table, schema] of documents)
    command
      .command(name)
      .description(`print ${what}: a Markdown table, or JSON Schema with --json`)
      .action(() => (shell.json ? shell.print(schema()) : shell.io.out(table())));
}

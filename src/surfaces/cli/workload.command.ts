import type { Command } from "commander";
import { negative, type Shell } from "./shell.ts";
import { plural, printable } from "./text.ts";
import { decimal, wholeNumber } from "./values.ts";

interface CheckedRule {
  readonly name: string;
  readonly status: "passed" | "failed" | "skipped";
  readonly detail: string;
}

/** What these commands need to know about workloads; the process room gives it, through the composition root. */
export interface WorkloadPort {
  check(request: {
    readonly command: string;
    readonly args: readonly string[];
    readonly jobsFile?: string;
    readonly envAllow: readonly string[];
    readonly seed: number;
    readonly helloSeconds: number;
    readonly silenceSeconds: number;
    readonly graceSeconds: number;
    readonly keep: boolean;
    readonly onResult: (result: CheckedRule) => void;
    readonly signal: AbortSignal;
  }): Promise<{
    readonly ok: boolean;
    readonly results: readonly CheckedRule[];
    readonly stderr_tail: string;
    readonly folder?: string;
  }>;
  messages(): string;
  messagesSchema(): Record<string, unknown>;
  declaration(): string;
  declarationSchema(): Record<string, unknown>;
}

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

export function registerWorkload(program: Command, shell: Shell, workloads: WorkloadPort): void {
  const command = program
    .command("workload")
    .description("programs of your own as workloads: try them, read the protocol");

  const line = ({ name, status, detail }: CheckedRule): string => {
    const { paint } = shell;
    const word = { passed: paint.green, failed: paint.red, skipped: paint.yellow }[status](WORDS[status]);
    return `${word}  ${printable(name).padEnd(26)}  ${printable(detail)}`;
  };

  command
    .command("check")
    .description("try a program against all rules of the workload protocol; exit code 1 when it breaks one")
    .argument("<command...>", "the program and its arguments, after --")
    .option("--jobs <file>", "JSON list of tiny jobs, instead of the examples that the program tells in its hello")
    .option(
      "--env <name>",
      "an environment variable that the program may see; may be repeated",
      (name: string, before: string[]) => [...before, name],
      [],
    )
    .option("--seed <n>", "seed of the jobs", wholeNumber("--seed", 0, Number.MAX_SAFE_INTEGER), 1)
    .option("--hello <seconds>", "how long the program may take to say hello", decimal("--hello", 0.1, 600), 30)
    .option("--silence <seconds>", "how long a job may say nothing", decimal("--silence", 0.1, 86_400), 60)
    .option("--grace <seconds>", "how long a cancelled job may take to end", decimal("--grace", 0.1, 3_600), 10)
    .option("--keep", "keep the folder in which the jobs ran")
    .addHelpText("after", EXAMPLES)
    .action(async ([file = "", ...args]: string[], options: CheckOptions) => {
      const report = await workloads.check({
        command: file,
        args,
        ...(options.jobs === undefined ? {} : { jobsFile: options.jobs }),
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
      if (shell.json) shell.print(report);
      else {
        const count = (status: CheckedRule["status"]) => report.results.filter((each) => each.status === status).length;
        if (!report.ok && report.stderr_tail.trim() !== "") {
          shell.say("\nThe end of its log:");
          for (const text of report.stderr_tail.trimEnd().split("\n").slice(-SHOWN_LOG_LINES))
            shell.say(`  ${printable(text)}`);
        }
        shell.say(
          `\n${plural(count("passed"), "rule")} kept, ${count("failed")} broken, ${count("skipped")} not tried`,
        );
        if (report.folder !== undefined) shell.say(`The jobs ran in ${report.folder}`);
      }
      if (!report.ok) throw negative();
    });

  command
    .command("messages")
    .description("print the messages of the workload protocol: a Markdown table, or JSON Schema with --json")
    .action(() => {
      if (shell.json) shell.print(workloads.messagesSchema());
      else shell.io.out(workloads.messages());
    });

  command
    .command("declaration")
    .description("print what the declaration of a workload may say: a Markdown table, or JSON Schema with --json")
    .action(() => {
      if (shell.json) shell.print(workloads.declarationSchema());
      else shell.io.out(workloads.declaration());
    });
}

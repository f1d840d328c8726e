import type { Command } from "commander";
import { type Json, messageOf, OperatingError } from "../../kernel/index.ts";
import type { JobSpecInput } from "../../work/index.ts";
import { JOB_ORDERS, JOB_STATES, type JobOrder } from "../../work/states.ts";
import { URGENCIES, type Urgency } from "../../work/urgency.ts";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { decimal, lengthOfTime, oneOf, sentence, wholeNumber } from "../cli/values.ts";
import { jobDetails, jobLines, orderedLine, statsLines } from "./view.ts";
import { addWork, cancelWork, getWork, getWorkStats, type Job, listWork, retryWork } from "./wire.ts";

interface ListOptions {
  readonly state?: Job["state"];
  readonly configKey?: string;
  readonly kind?: string;
  readonly node?: string;
  readonly limit: number;
  readonly order: JobOrder;
}

const ORDER_WORDS: Readonly<Record<JobOrder, string>> = {
  newest: "newest first",
  oldest: "oldest first",
  urgent: "most urgent first",
};

interface AddOptions {
  readonly configKey?: NonNullable<JobSpecInput["config_key"]>;
  readonly urgency?: Urgency;
  readonly payload?: string;
  readonly count: number;
  readonly cpu?: number;
  readonly gpu?: number;
  readonly memory?: number;
  readonly node?: string;
  readonly timeout?: number;
}

// Named one by one: what holds for all commands is among the options as well, and is no part of the question.
const list = (options: ListOptions, shell: Shell) => {
  const { configKey: config_key, kind: work_type, node: node_id, state, limit, order } = options;
  return showAnswer(shell, listWork, { query: { state, limit, order, config_key, work_type, node_id } }, ({ jobs }) => {
    if (jobs.length === 0) return "no job fits";
    const more = jobs.length < limit ? "" : `; no more than ${limit} are listed (--limit)`;
    return [...jobLines(jobs, shell), "", shell.paint.dim(`${ORDER_WORDS[order]} (--order)${more}`)];
  });
};

const payloadOf = (text: string): Record<string, Json> => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, Json>;
  } catch (cause) {
    throw OperatingError.invalid("INVALID_OPTION", `--payload is not JSON: ${messageOf(cause)}`, { cause });
  }
  throw OperatingError.invalid("INVALID_OPTION", "--payload is an object in JSON, as in '{\"games\": 100}'");
};

const add = (kind: string, options: AddOptions, shell: Shell) => {
  const { configKey, urgency, payload, count, cpu, gpu, memory, node, timeout } = options;
  const job = {
    work_type: kind,
    requested_by: shell.actor,
    needs: { cpu, gpu, memory_gb: memory },
    config_key: configKey,
    urgency,
    payload: payload === undefined ? undefined : payloadOf(payload),
    target_nodes: node === undefined ? undefined : [node],
    timeout_seconds: timeout === undefined ? undefined : timeout / 1_000,
  };
  const jobs = Array.from({ length: count }, () => job);
  return showAnswer(shell, addWork, { body: { jobs } }, ({ added }) => added.map(({ work_id }) => work_id));
};

interface OrderOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

const order = (route: typeof cancelWork | typeof retryWork, id: string, options: OrderOptions, shell: Shell) => {
  const { reason = `asked for by ${shell.actor}`, dryRun } = options;
  const body = { reason, dry_run: dryRun };
  return showAnswer(shell, route, { params: { id }, body }, (job) => orderedLine(job, reason), "job");
};

/** `ringrift queue`: the work that is to be done, is done, or could not be. */
export function registerQueue(queue: Command, shell: Shell): void {
  const which = ["<job>", "its id, as in w17"] as const;
  queue
    .command("list", { isDefault: true })
    .description("list jobs, the newest first; this is what 'ringrift queue' does")
    .option("--state <state>", `only those that are ${JOB_STATES.join(", ")}`, oneOf("--state", JOB_STATES))
    .option("--config-key <config>", "only those of a config")
    .option("--kind <kind>", "only those of a kind")
    .option("--node <node>", "only those that a node holds or has done")
    .option("--order <order>", `which come first: ${JOB_ORDERS.join(", ")}`, oneOf("--order", JOB_ORDERS), "newest")
    .option("--limit <n>", "list at most so many", wholeNumber("--limit", 1, 1_000), 50)
    .action((options: ListOptions) => list(options, shell));
  queue
    .command("show")
    .description("all of one: where it is, what came of it, and the last of its standard error")
    .argument(...which)
    .action((id: string) => showAnswer(shell, getWork, { params: { id } }, (job) => jobDetails(job, shell), "job"));
  queue
    .command("add")
    .description("add jobs of a kind; their ids are printed")
    .argument("<kind>", "selfplay, training, evaluation, or another that is declared")
    .option("--config-key <config>", "the config they are for")
    .option("--urgency <urgency>", URGENCIES.join(", "), oneOf("--urgency", URGENCIES))
    .option("--payload <json>", "what the executor is given, as JSON")
    .option("--count <n>", "so many of them", wholeNumber("--count", 1, 1_000), 1)
    .option("--cpu <n>", "processors that each needs", decimal("--cpu", 0, 4_096))
    .option("--gpu <n>", "accelerators that each needs", decimal("--gpu", 0, 64))
    .option("--memory <gb>", "memory that each needs, in GB", decimal("--memory", 0, 65_536))
    .option("--node <node>", "the only node that may do it")
    .option("--timeout <time>", "longest time of one attempt, as in 30min", lengthOfTime("--timeout"))
    .action((kind: string, options: AddOptions) => add(kind, options, shell));
  const orders = [
    ["cancel", cancelWork, "take a job back; whoever runs it is told to stop"],
    ["retry", retryWork, "let a job that failed or was cancelled be tried again, with all its attempts"],
  ] as const;
  for (const [verb, route, description] of orders)
    queue
      .command(verb)
      .description(description)
      .argument(...which)
      .option("--reason <text>", "why; kept on record", sentence("--reason"))
      .option("--dry-run", "only say what would change")
      .action((id: string, options: OrderOptions) => order(route, id, options, shell));
  queue
    .command("stats")
    .description("how much waits and for how long, by config, kind and state")
    .action(() => showAnswer(shell, getWorkStats, {}, (stats) => statsLines(stats, shell)));
}

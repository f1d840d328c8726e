import type { Command } from "commander";
import { type Json, messageOf, OperatingError } from "../../kernel/index.ts";
import type { JobSpecInput } from "../../work/index.ts";
import { JOB_ORDERS, JOB_STATES, type JobOrder } from "../../work/job/states.ts";
import { URGENCIES, type Urgency } from "../../work/job/urgency.ts";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { decimal, lengthOfTime, oneOf, sentence, wholeNumber } from "../cli/values.ts";
import {
  curveLines,
  failureLines,
  forecastLines,
  jobDetails,
  jobLines,
  loadLines,
  orderedLine,
  statsLines,
} from "./view.ts";
import {
  addWork,
  cancelWork,
  forecastWork,
  getCurve,
  getLoadForecast,
  getWork,
  getWorkStats,
  type Job,
  listFailures,
  listWork,
  retryWork,
} from "./wire.ts";

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
    if (jobs.length === 0) return "no jobs";
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
  throw OperatingError.invalid("INVALID_OPTION", "--payload must be a JSON object, for example '{\"games\": 100}'");
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
  const which = ["<job>", "its id, for example w17"] as const;
  queue
    .command("list", { isDefault: true })
    .description("list jobs, newest first; 'ringrift queue' does the same")
    .option("--state <state>", `only in this state: ${JOB_STATES.join(", ")}`, oneOf("--state", JOB_STATES))
    .option("--config-key <config>", "only of this config")
    .option("--kind <kind>", "only of this kind")
    .option("--node <node>", "only jobs that this node holds or has done")
    .option("--order <order>", `sort order: ${JOB_ORDERS.join(", ")}`, oneOf("--order", JOB_ORDERS), "newest")
    .option("--limit <n>", "list at most this many", wholeNumber("--limit", 1, 1_000), 50)
    .action((options: ListOptions) => list(options, shell));
  queue
    .command("show")
    .description("show one job: its state, its result, and the end of its standard error")
    .argument(...which)
    .action((id: string) => showAnswer(shell, getWork, { params: { id } }, (job) => jobDetails(job, shell), "job"));
  queue
    .command("add")
    .description("add jobs of a kind, and print their ids")
    .argument("<kind>", "selfplay, training, evaluation, or another that is declared")
    .option("--config-key <config>", "the config that the jobs are for")
    .option("--urgency <urgency>", URGENCIES.join(", "), oneOf("--urgency", URGENCIES))
    .option("--payload <json>", "input of the executor, as JSON")
    .option("--count <n>", "how many jobs to add", wholeNumber("--count", 1, 1_000), 1)
    .option("--cpu <n>", "processors that each job needs", decimal("--cpu", 0, 4_096))
    .option("--gpu <n>", "accelerators that each job needs", decimal("--gpu", 0, 64))
    .option("--memory <gb>", "memory that each job needs, in GB", decimal("--memory", 0, 65_536))
    .option("--node <node>", "the only node that may do the jobs")
    .option("--timeout <time>", "longest time of one attempt, for example 30min", lengthOfTime("--timeout"))
    .action((kind: string, options: AddOptions) => add(kind, options, shell));
  const orders = [
    ["cancel", cancelWork, "cancel a job; if a node is running it, that node is told to stop"],
    ["retry", retryWork, "try a failed or cancelled job again, with all its attempts"],
  ] as const;
  for (const [verb, route, description] of orders)
    queue
      .command(verb)
      .description(description)
      .argument(...which)
      .option("--reason <text>", "the reason; it is recorded", sentence("--reason"))
      .option("--dry-run", "only show what would change")
      .action((id: string, options: OrderOptions) => order(route, id, options, shell));
  queue
    .command("failures")
    .description("show what fails, by kind and cause: how many jobs, first and last seen, and on which nodes")
    .action(() => showAnswer(shell, listFailures, {}, ({ failures }) => failureLines(failures, shell)));
  queue
    .command("stats")
    .description("count jobs and show how long they wait, by config, kind and state")
    .action(() => showAnswer(shell, getWorkStats, {}, (stats) => statsLines(stats, shell)));
  queue
    .command("curve")
    .description("show the per-step metrics of a job: what its program said while it ran, as in losses")
    .argument(...which)
    .action((id: string) => showAnswer(shell, getCurve, { params: { id } }, (answer) => curveLines(answer, shell)));
  queue
    .command("next")
    .description("show which jobs the queue would hand out next, to which node and why; nothing is handed out")
    .action(() => showAnswer(shell, forecastWork, {}, (forecast) => forecastLines(forecast, shell)));
  queue
    .command("forecast")
    .description("show how many slots the work of the next 24 hours will fill, and how far such forecasts were off")
    .action(() => showAnswer(shell, getLoadForecast, {}, (forecast) => loadLines(forecast, shell)));
}

import type { Command } from "commander";
import { messageOf, OperatingError } from "../../kernel/index.ts";
import { JOB_STATES, type JobView, URGENCIES } from "../../work/index.ts";
import { askMain } from "./main-process.ts";
import type { Paint } from "./paint.ts";
import type { Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { ago, duration, moment, number, plural, printable, printableLines } from "./text.ts";
import { decimal, lengthOfTime, oneOf, wholeNumber } from "./values.ts";

interface ListOptions {
  readonly state?: string;
  readonly configKey?: string;
  readonly kind?: string;
  readonly node?: string;
  readonly limit: number;
}

interface AddOptions {
  readonly configKey?: string;
  readonly urgency?: string;
  readonly payload?: string;
  readonly count: number;
  readonly cpu?: number;
  readonly gpu?: number;
  readonly memory?: number;
  readonly node?: string;
  readonly timeout?: number;
}

const stateColor = (paint: Paint, state: string): ((text: string) => string) => {
  if (state === "failed") return paint.red;
  if (state === "completed") return paint.green;
  if (state === "running" || state === "claimed") return paint.cyan;
  return state === "delayed" || state === "blocked" ? paint.yellow : paint.dim;
};

/** What a reader wants to know next to the state. */
const noteOf = (job: JobView, nowMs: number): string => {
  if (job.state === "running" || job.state === "claimed") {
    const done = job.progress === null ? "" : `${Math.round(job.progress * 100)} %, `;
    return `${done}on ${printable(job.node_id ?? "")} for ${duration(Math.max(0, nowMs - (job.claimed_at ?? 0) * 1_000))}`;
  }
  if (job.failure !== null) return printable(job.failure.error);
  return job.node_id === null ? "" : `by ${printable(job.node_id)}`;
};

function jobLines(jobs: readonly JobView[], shell: Pick<Shell, "paint" | "clock" | "width">): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const rows = jobs.map((job): Cell[] => [
    { text: job.work_id, paint: paint.yellow },
    { text: printable(job.work_type) },
    { text: printable(job.config_key ?? "") },
    { text: job.urgency },
    { text: job.state, paint: stateColor(paint, job.state) },
    { text: `${job.attempts}/${job.max_attempts}`, align: "right" },
    { text: ago(job.queued_at * 1_000, now) },
    { text: noteOf(job, now) },
  ]);
  const head = ["JOB", "KIND", "CONFIG", "URGENCY", "STATE", { text: "TRY", align: "right" } as const, "ADDED", ""];
  return tableLines([head, ...rows], shell);
}

function jobDetails(job: JobView, shell: Pick<Shell, "paint" | "clock" | "width">): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const at = (seconds: number | null) =>
    seconds === null ? "" : `${moment(seconds * 1_000, now)} (${ago(seconds * 1_000, now)})`;
  const facts: [string, string][] = [
    ["state", job.state],
    ["kind", printable(job.work_type)],
    ["config", printable(job.config_key ?? "")],
    ["urgency", job.urgency],
    ["attempt", `${job.attempts} of ${job.max_attempts}`],
    ["node", printable(job.node_id ?? "")],
    ["progress", job.progress === null ? "" : `${Math.round(job.progress * 100)} %`],
    ["added", at(job.queued_at)],
    ["claimed", at(job.claimed_at)],
    ["started", at(job.started_at)],
    ["next try", job.state === "delayed" && job.retry_at !== null ? moment(job.retry_at * 1_000, now) : ""],
    ["deadline", job.deadline === null ? "" : moment(job.deadline * 1_000, now)],
    ["finished", at(job.finished_at)],
    ["batch", printable(job.batch_id ?? "")],
    ["dedup key", printable(job.dedup_key ?? "")],
    ["counts", job.evidence?.counts === undefined ? "" : printable(JSON.stringify(job.evidence.counts))],
    ["outputs", job.evidence?.outputs === undefined ? "" : plural(job.evidence.outputs.length, "file")],
    ["error", job.failure === null ? "" : printable(job.failure.error)],
    ["code", printable(job.failure?.error_code ?? "")],
  ];
  const stderr = job.failure?.stderr_tail ?? null;
  return [
    stateColor(paint, job.state)(paint.bold(job.work_id)),
    ...tableLines(
      facts
        .filter(([, text]) => text !== "")
        .map(([name, text]): Cell[] => [{ text: `  ${name}`, paint: paint.dim }, { text }]),
      shell,
    ),
    ...(stderr === null
      ? []
      : ["", paint.dim("the last of its standard error:"), ...printableLines(stderr).split("\n")]),
  ];
}

const queryOf = ({ state, configKey, kind, node, limit }: ListOptions): string => {
  const query = new URLSearchParams({ limit: String(limit) });
  if (state !== undefined) query.set("state", state);
  if (configKey !== undefined) query.set("config_key", configKey);
  if (kind !== undefined) query.set("work_type", kind);
  if (node !== undefined) query.set("node_id", node);
  return query.toString();
};

const list = (options: ListOptions, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const { jobs } = await main.get<{ jobs: JobView[] }>(`/v1/work/jobs?${queryOf(options)}`);
    if (shell.json) return shell.print({ jobs });
    if (jobs.length === 0) return shell.say("no job fits");
    for (const line of jobLines(jobs, shell)) shell.say(line);
  });

const show = (id: string, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const job = await main.get<JobView>(`/v1/work/jobs/${encodeURIComponent(id)}`);
    if (shell.json) return shell.print({ job });
    for (const line of jobDetails(job, shell)) shell.say(line);
  });

const payloadOf = (text: string): object => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (cause) {
    throw new OperatingError("INVALID_OPTION", `--payload is not JSON: ${messageOf(cause)}`, { cause });
  }
  throw new OperatingError("INVALID_OPTION", "--payload is an object in JSON, as in '{\"games\": 100}'");
};

const add = (kind: string, options: AddOptions, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const { configKey, urgency, payload, count, cpu, gpu, memory, node, timeout } = options;
    const needs = {
      ...(cpu === undefined ? {} : { cpu }),
      ...(gpu === undefined ? {} : { gpu }),
      ...(memory === undefined ? {} : { memory_gb: memory }),
    };
    const job = {
      work_type: kind,
      requested_by: shell.actor,
      needs,
      ...(configKey === undefined ? {} : { config_key: configKey }),
      ...(urgency === undefined ? {} : { urgency }),
      ...(payload === undefined ? {} : { payload: payloadOf(payload) }),
      ...(node === undefined ? {} : { target_nodes: [node] }),
      ...(timeout === undefined ? {} : { timeout_seconds: timeout / 1_000 }),
    };
    const jobs = Array.from({ length: count }, () => job);
    const { added } = await main.post<{ added: { work_id: string }[] }>("/v1/work/jobs", { jobs });
    if (shell.json) return shell.print({ added });
    for (const { work_id } of added) shell.say(work_id);
  });

const order = (verb: "cancel" | "retry", id: string, reason: string | undefined, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const body = { reason: reason ?? `asked for by ${shell.actor}` };
    const job = await main.post<JobView>(`/v1/work/jobs/${encodeURIComponent(id)}/${verb}`, body);
    if (shell.json) return shell.print({ job });
    shell.say(`${job.work_id} is ${job.state}`);
  });

interface QueueStats {
  readonly unfinished: number;
  readonly states: Readonly<Record<string, number>>;
  readonly oldest_seconds: number;
  readonly claims_waiting: number;
  readonly kinds: readonly string[];
  readonly counts: readonly { config_key: string | null; work_type: string; state: string; jobs: number }[];
}

function statsLines(stats: QueueStats, shell: Pick<Shell, "paint" | "width">): string[] {
  const { paint } = shell;
  const seen = JOB_STATES.filter((state) => (stats.states[state] ?? 0) > 0);
  const lines = new Map<string, Map<string, number>>();
  for (const { config_key, work_type, state, jobs } of stats.counts) {
    const name = `${config_key ?? "(no config)"}\u0000${work_type}`;
    const line = lines.get(name) ?? new Map<string, number>();
    lines.set(name, line.set(state, (line.get(state) ?? 0) + jobs));
  }
  const right = (text: string): Cell => ({ text, align: "right" });
  const rows = [...lines].map(([name, of]): Cell[] => {
    const [config = "", kind = ""] = name.split("\u0000");
    return [
      { text: printable(config) },
      { text: printable(kind) },
      ...seen.map((state) => right(number(of.get(state) ?? 0))),
    ];
  });
  const total: Cell[] = [
    { text: "all", paint: paint.bold },
    { text: "" },
    ...seen.map((state) => right(number(stats.states[state] ?? 0))),
  ];
  return [
    `${plural(stats.unfinished, "job")} not finished; the oldest that could run has waited ${duration(stats.oldest_seconds * 1_000)}; ` +
      `${plural(stats.claims_waiting, "claim waits", "claims wait")} for work`,
    ...(seen.length === 0
      ? []
      : [
          "",
          ...tableLines(
            [["CONFIG", "KIND", ...seen.map((state) => right(state.toUpperCase()))], ...rows, total],
            shell,
          ),
        ]),
  ];
}

const stats = (shell: Shell) =>
  askMain(shell.main, async (main) => {
    const found = await main.get<QueueStats>("/v1/work/stats");
    if (shell.json) return shell.print(found);
    for (const line of statsLines(found, shell)) shell.say(line);
  });

/** `ringrift queue`: the work that is to be done, is done, or could not be. */
export function registerQueue(program: Command, shell: Shell): void {
  const queue = program
    .command("queue")
    .description("the work: list, show, add, cancel and retry jobs, and how much waits");
  const which = ["<job>", "its id, as in w17"] as const;
  queue
    .command("list", { isDefault: true })
    .description("list jobs in the order they were added; this is what 'ringrift queue' does")
    .option("--state <state>", `only those that are ${JOB_STATES.join(", ")}`, oneOf("--state", JOB_STATES))
    .option("--config-key <config>", "only those of a config")
    .option("--kind <kind>", "only those of a kind")
    .option("--node <node>", "only those that a node holds or has done, by its id")
    .option("--limit <n>", "list at most so many", wholeNumber("--limit", 1, 1_000), 50)
    .action((options: ListOptions) => list(options, shell));
  queue
    .command("show")
    .description("all of one: where it is, what came of it, and the last of its standard error")
    .argument(...which)
    .action((id: string) => show(id, shell));
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
    .option("--node <node>", "the only node that may do it, by its id")
    .option("--timeout <time>", "longest time of one attempt, as in 30min", lengthOfTime("--timeout"))
    .action((kind: string, options: AddOptions) => add(kind, options, shell));
  for (const verb of ["cancel", "retry"] as const)
    queue
      .command(verb)
      .description(
        verb === "cancel"
          ? "take a job back; whoever runs it is told to stop"
          : "let a job that failed or was cancelled be tried again, with all its attempts",
      )
      .argument(...which)
      .option("--reason <text>", "why; kept on record")
      .action((id: string, options: { reason?: string }) => order(verb, id, options.reason, shell));
  queue
    .command("stats")
    .description("how much waits and for how long, by config, kind and state")
    .action(() => stats(shell));
}

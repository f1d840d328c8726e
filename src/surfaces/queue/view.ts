import { JOB_STATES } from "../../work/job/states.ts";
import { slotsWords } from "../../work/slots-words.ts";
import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, right, tableLines } from "../cli/table.ts";
import { ago, duration, moment, momentAgo, number, percent, plural, printable, printableLines } from "../cli/text.ts";
import type { Answer } from "../http/wire.ts";
import { figureOf } from "../pipeline/curves.ts";
import { whenNext, whyNext } from "./next-words.ts";
import type { forecastWork, getCurve, getLoadForecast, getWorkStats, Job, listFailures } from "./wire.ts";

const stateColor = painter(
  { failed: "red", completed: "green", running: "cyan", claimed: "cyan", delayed: "yellow", blocked: "yellow" },
  "dim",
);

/** What a reader wants to know next to the state. */
const noteOf = (job: Job, nowMs: number): string => {
  if (job.state === "running" || job.state === "claimed") {
    const done = job.progress === null ? "" : `${percent(job.progress)}, `;
    return `${done}on ${printable(job.node ?? job.node_id ?? "")} for ${duration(Math.max(0, nowMs - (job.claimed_at ?? 0)))}`;
  }
  if (job.failure !== null) return printable(job.failure.error);
  return job.node_id === null ? "" : `by ${printable(job.node ?? job.node_id)}`;
};

const countWords = (counts: Readonly<Record<string, number>> | undefined): string =>
  Object.entries(counts ?? {})
    .map(([name, count]) => `${number(count)} ${name.replaceAll("_", " ")}`)
    .join(", ");

export function jobLines(jobs: readonly Job[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const rows = jobs.map((job) => [
    paint.yellow(job.work_id),
    printable(job.work_type),
    printable(job.config_key ?? ""),
    job.urgency,
    stateColor(paint, job.state)(job.state),
    right(`${job.attempts}/${job.max_attempts}`),
    ago(job.queued_at, now),
    noteOf(job, now),
  ]);
  const head = ["JOB", "KIND", "CONFIG", "URGENCY", "STATE", right("TRY"), "ADDED", ""];
  return tableLines([head, ...rows], shell);
}

/** What fails, most often first, and where to read on. */
export function failureLines(failures: Answer<typeof listFailures>["failures"], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  if (failures.length === 0) return ["no job has failed"];
  const rows = failures.map((group) => [
    right(number(group.jobs)),
    printable(group.work_type),
    ago(group.first_at, now),
    ago(group.last_at, now),
    paint.yellow(group.work_id),
    printable(group.nodes.join(", ")),
    paint.red(printable([group.error_code, group.error].filter(Boolean).join(": "))),
  ]);
  return [
    ...tableLines([[right("JOBS"), "KIND", "FIRST", "LAST", "NEWEST", "NODES", "ERROR"], ...rows], shell),
    "",
    paint.dim(
      "'ringrift queue show <job>' has the end of its standard error; 'ringrift queue retry <job>' tries it again.",
    ),
  ];
}

const LAPSES: Readonly<Record<string, string>> = {
  silent: "not heard",
  stuck: "no progress",
  expire: "too long",
  evict: "node lost",
};

/** What became of an order, or would, and why it was given. */
export function orderedLine({ work_id, state, would_be }: Job, reason: string): string {
  const why = `(reason: ${printable(reason)})`;
  if (would_be === undefined) return `${work_id} is ${state} ${why}`;
  return `${work_id} is ${state} and would be ${would_be} ${why}; nothing was changed: this was a dry run`;
}

export function jobDetails(job: Job, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const at = (ms: number | null) => momentAgo(ms, now);
  const { evidence, failure } = job;
  const facts = [
    ["state", job.state],
    ["kind", job.work_type],
    ["config", job.config_key],
    ["urgency", job.urgency],
    ["attempt", `${job.attempts} of ${job.max_attempts}`],
    ["node", job.node ?? job.node_id],
    ["GPUs", job.gpus === undefined || job.gpus === 0 ? "" : `${job.gpus}, only for this job`],
    ["progress", job.progress === null ? "" : percent(job.progress)],
    ["added", at(job.queued_at)],
    ["claimed", at(job.claimed_at)],
    ["started", at(job.started_at)],
    ["next try", job.state === "delayed" && job.retry_at !== null ? moment(job.retry_at, now) : ""],
    ["deadline", job.deadline === null ? "" : moment(job.deadline, now)],
    ["finished", at(job.finished_at)],
    ["batch", job.batch_id],
    ["dedup key", job.dedup_key],
    ["counts", countWords(evidence?.counts)],
    [
      "saved",
      job.saved && `a checkpoint of epoch ${job.saved.epoch}, ${at(job.saved.at)}; the next try continues from it`,
    ],
    ["outputs", evidence?.outputs && plural(evidence.outputs.length, "file")],
    ["taken from", job.lapses?.map(({ node_id, node = node_id, why }) => `${node} (${LAPSES[why] ?? why})`).join(", ")],
    ["error", failure?.error],
    ["code", failure?.error_code],
  ] as const;
  const stderr = failure?.stderr_tail ?? null;
  return [
    stateColor(paint, job.state)(paint.bold(job.work_id)),
    ...factLines(facts, shell),
    ...(stderr === null
      ? []
      : ["", paint.dim("the last of its standard error:"), ...printableLines(stderr).split("\n")]),
  ];
}

/** What a job said of itself while it ran, try by try. */
export function curveLines({ work_id, curves }: Answer<typeof getCurve>, shell: Shell): string[] {
  if (curves.length === 0) return [`${work_id} said no numbers while it ran`];
  return curves.flatMap(({ points }, i) => {
    const names = [...new Set(points.flatMap(({ metrics }) => Object.keys(metrics)))];
    const rows = points.map(({ at, progress, metrics }) => [
      moment(at, shell.clock.now()),
      right(progress === null ? "" : percent(progress)),
      ...names.map((name) => right(metrics[name] === undefined ? "" : figureOf(metrics[name]))),
    ]);
    const head = ["TIME", right("DONE"), ...names.map((name) => right(printable(name).toUpperCase()))];
    const title = curves.length === 1 ? [] : [...(i === 0 ? [] : [""]), shell.paint.bold(`try ${i + 1}`)];
    return [...title, ...tableLines([head, ...rows], shell)];
  });
}

export function statsLines(stats: Answer<typeof getWorkStats>, shell: Shell): string[] {
  const { paint } = shell;
  const seen = JOB_STATES.filter((state) => (stats.states[state] ?? 0) > 0);
  const kinds = Map.groupBy(stats.counts, ({ config_key, work_type }) => JSON.stringify([config_key, work_type]));
  const rows = [...kinds.values()].map((counts) => {
    const { config_key, work_type } = counts[0]!;
    const jobs = (state: string) =>
      counts.filter((each) => each.state === state).reduce((sum, each) => sum + each.jobs, 0);
    return [
      printable(config_key ?? "(no config)"),
      printable(work_type),
      ...seen.map((state) => right(number(jobs(state)))),
    ];
  });
  const total = [paint.bold("all"), "", ...seen.map((state) => right(number(stats.states[state] ?? 0)))];
  const head = ["CONFIG", "KIND", ...seen.map((state) => right(state.toUpperCase()))];
  return [
    `${plural(stats.unfinished, "job")} not finished; the oldest that could run has waited ${duration(stats.oldest_seconds * 1_000)}; ` +
      `${plural(stats.claims_waiting, "claim waits", "claims wait")} for work`,
    ...(stats.slots ?? []).map((each) => paint.yellow(`${printable(each.node)} is held back: ${slotsWords(each)}`)),
    ...(seen.length === 0 ? [] : ["", ...tableLines([head, ...rows, total], shell)]),
  ];
}

type Forecast = Answer<typeof forecastWork>;

export function forecastLines({ nodes, preemptions, untaken }: Forecast, shell: Shell): string[] {
  const { paint } = shell;
  const rows = nodes.flatMap(({ node, after, jobs, held }) => {
    const name = printable(node);
    const dealt = jobs.map((job) => [
      name,
      whenNext(after),
      paint.yellow(job.work_id),
      printable(job.work_type),
      printable(job.config_key ?? ""),
      job.urgency,
      whyNext(job),
    ]);
    const none = held === null ? "no waiting job fits" : `gets no jobs: ${printable(held)}`;
    return dealt.length > 0 ? dealt : [[name, whenNext(after), "", "", "", "", none]];
  });
  const head = ["NODE", "WHEN", "JOB", "KIND", "CONFIG", "URGENCY", "WHY"];
  return [
    ...(nodes.length === 0
      ? ["no worker is connected: nothing will be handed out"]
      : tableLines([head, ...rows], shell)),
    ...preemptions.map(({ stop, for: other }) => `${stop} will be stopped for ${other}, which is more urgent`),
    ...untaken.map(
      ({ work_id, work_type, reason }) => `${work_id} (${printable(work_type)}) waits: ${printable(reason)}`,
    ),
  ];
}

const MAX_BAR = 30;

/** Hour by hour what comes, beside what there is; and how far forecasts were off. */
export function loadLines(forecast: Answer<typeof getLoadForecast>, shell: Shell): string[] {
  const { hours, errors, slots, wanted_slots, waiting_slots, planned_slots } = forecast;
  const { paint } = shell;
  if (hours.length === 0) return ["nothing is known yet: the first forecast comes within a minute"];
  const most = Math.max(1, slots, ...hours.map((hour) => hour.slots));
  const rows = hours.map((hour) => {
    const bar = "#".repeat(Math.round((MAX_BAR * hour.slots) / most));
    return [shortTime(hour.at), right(hour.slots.toFixed(1)), hour.slots > slots ? paint.yellow(bar) : bar];
  });
  const off = errors.map(({ ahead_seconds, error }) => {
    const ahead = `${duration(ahead_seconds * 1_000)} ahead`;
    return error === null ? `${ahead}: not known yet` : `${ahead}: off by ${percent(error)}`;
  });
  return [
    `${plural(slots, "slot")} there, ${number(wanted_slots)} wanted soon; what waits would fill ${waiting_slots.toFixed(1)} for an hour, what is planned ${planned_slots.toFixed(1)}`,
    `errors of late: ${off.join(", ")}`,
    "",
    ...tableLines([["FROM", right("SLOTS"), ""], ...rows], shell),
  ];
}

const shortTime = (ms: number): string => new Date(ms).toISOString().slice(11, 16);

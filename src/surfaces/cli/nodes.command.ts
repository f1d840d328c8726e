import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import { askMain } from "./main-process.ts";
import type { Paint } from "./paint.ts";
import type { Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { ago, duration, moment, number, plural, printable } from "./text.ts";

interface Capabilities {
  readonly cpu: number;
  readonly gpu: number;
  readonly memory_gb: number;
  readonly gpu_memory_gb: number;
  readonly tags: readonly string[];
  readonly hostname?: string;
  readonly platform?: string;
  readonly kinds?: readonly string[];
}

interface NodeReport {
  readonly node_id: string;
  readonly label: string;
  readonly state: string;
  readonly state_since: number;
  readonly incarnation: number;
  readonly version: string;
  readonly deprecated: boolean;
  readonly capabilities: Capabilities;
  readonly joined_at: number;
  readonly joined_by: string;
  readonly last_seen_at: number | null;
  readonly address: string | null;
  readonly cordoned: { readonly reason: string; readonly at: number; readonly by: string } | null;
  readonly draining: boolean;
  readonly left_reason: string | null;
  readonly load: { readonly running: number; readonly free: Capabilities } | null;
  readonly spool: { readonly waiting: number } | null;
  readonly outbox?: { readonly waiting: number; readonly refused: number } | null;
  readonly local: boolean;
  readonly jobs?: readonly {
    readonly work_id: string;
    readonly work_type: string;
    readonly config_key: string | null;
    readonly claimed_at: number;
    readonly stopping: boolean;
  }[];
  readonly work?: {
    readonly completed: number;
    readonly failed: number;
    readonly games: number;
    readonly busy_seconds: number;
    readonly games_per_hour: number | null;
    readonly speed_residual: number | null;
    readonly results_residual?: number | null;
  };
}

const stateColor = (paint: Paint, state: string): ((text: string) => string) => {
  if (state === "online") return paint.green;
  if (state === "dead") return paint.red;
  return state === "suspect" ? paint.yellow : paint.dim;
};

const schedulingOf = ({ cordoned, draining }: NodeReport): string => {
  if (cordoned === null) return "";
  return draining ? "draining" : "cordoned";
};

const sizeOf = ({ cpu, gpu, memory_gb }: Capabilities): string =>
  [`${cpu} cpu`, ...(gpu > 0 ? [`${gpu} gpu`] : []), ...(memory_gb > 0 ? [`${memory_gb} GB`] : [])].join(", ");

function nodeLines(nodes: readonly NodeReport[], shell: Pick<Shell, "paint" | "clock" | "width">): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const rows = nodes.map((node): Cell[] => [
    { text: printable(node.label), paint: paint.bold },
    { text: node.node_id, paint: paint.dim },
    { text: node.state, paint: stateColor(paint, node.state) },
    { text: node.local ? "this process" : node.last_seen_at === null ? "never" : ago(node.last_seen_at * 1_000, now) },
    { text: schedulingOf(node), paint: paint.yellow },
    { text: node.load === null ? "" : number(node.load.running), align: "right" },
    { text: printable(node.version), ...(node.deprecated ? { paint: paint.yellow } : {}) },
    { text: sizeOf(node.capabilities) },
  ]);
  const head = ["NODE", "ID", "STATE", "HEARD", "", { text: "JOBS", align: "right" } as const, "VERSION", "HAS"];
  return tableLines([head, ...rows], shell);
}

const residualOf = (residual: number | null): string => {
  if (residual === null) return "";
  const percent = Math.round((Math.exp(residual) - 1) * 100);
  if (percent === 0) return ", as fast as the others";
  return `, ${Math.abs(percent)} % ${percent > 0 ? "faster" : "slower"} than the others`;
};

/** Beyond this a node's results are worth a look. */
const STRANGE_RESULTS = 3;

const resultsOf = (residual: number | null | undefined): string => {
  if (residual == null) return "";
  const distance = `${residual.toFixed(1)} standard deviations from the others in the same batches`;
  return residual < STRANGE_RESULTS ? `like the others' (${distance})` : `NOT like the others' (${distance})`;
};

const outboxOf = ({ outbox }: NodeReport): string => {
  if (outbox == null) return "";
  const waits = plural(outbox.waiting, "event that waits", "events that wait");
  return outbox.refused === 0 ? waits : `${waits}, ${number(outbox.refused)} refused`;
};

function nodeDetails(node: NodeReport, shell: Pick<Shell, "paint" | "clock" | "width">): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const at = (seconds: number) => `${moment(seconds * 1_000, now)} (${ago(seconds * 1_000, now)})`;
  const { capabilities: has, work, jobs = [] } = node;
  const facts: [string, string][] = [
    ["state", `${node.state}, since ${at(node.state_since)}`],
    ["heard", node.local ? "it is this process" : node.last_seen_at === null ? "never" : at(node.last_seen_at)],
    [
      "scheduling",
      node.cordoned === null
        ? "takes work"
        : `${schedulingOf(node)} by ${printable(node.cordoned.by)}, ${at(node.cordoned.at)}: ${printable(node.cordoned.reason)}`,
    ],
    ["left", printable(node.left_reason ?? "")],
    ["has", `${sizeOf(has)}${has.tags.length === 0 ? "" : `, tags ${printable(has.tags.join(", "))}`}`],
    ["free", node.load === null ? "" : `${sizeOf(node.load.free)}, ${plural(node.load.running, "job")} running`],
    ["kinds", printable((has.kinds ?? []).join(", "))],
    ["spool", node.spool === null ? "" : plural(node.spool.waiting, "result that waits", "results that wait")],
    ["outbox", outboxOf(node)],
    ["version", `${printable(node.version)}${node.deprecated ? ", older than the coordinator" : ""}`],
    ["starts", number(node.incarnation)],
    [
      "machine",
      printable(
        [has.hostname, has.platform, node.address].filter((text) => text !== undefined && text !== null).join(", "),
      ),
    ],
    ["joined", `${at(node.joined_at)}, by ${printable(node.joined_by)}`],
    [
      "last day",
      work === undefined
        ? ""
        : `${plural(work.completed, "job")} done, ${number(work.failed)} failed, ${plural(work.games, "game")}` +
          `${work.games_per_hour === null ? "" : ` (${number(Math.round(work.games_per_hour))} an hour)`}${residualOf(work.speed_residual)}`,
    ],
    ["results", resultsOf(work?.results_residual)],
  ];
  const held = jobs.map((job): Cell[] => [
    { text: `  ${printable(job.work_id)}`, paint: paint.yellow },
    { text: printable(job.work_type) },
    { text: printable(job.config_key ?? "") },
    { text: duration(Math.max(0, now - job.claimed_at * 1_000)) },
    { text: job.stopping ? "is told to stop" : "" },
  ]);
  return [
    `${paint.bold(printable(node.label))} ${paint.dim(node.node_id)}`,
    ...tableLines(
      facts
        .filter(([, text]) => text !== "")
        .map(([name, text]): Cell[] => [{ text: `  ${name}`, paint: paint.dim }, { text }]),
      shell,
    ),
    ...(held.length === 0 ? [] : ["", "holds", ...tableLines(held, shell)]),
  ];
}

const pathOf = (node: string) => `/v1/nodes/${encodeURIComponent(node)}`;

const list = (shell: Shell) =>
  askMain(shell.main, async (main) => {
    const { nodes } = await main.get<{ nodes: NodeReport[] }>("/v1/nodes");
    if (shell.json) return shell.print({ nodes });
    for (const line of nodeLines(nodes, shell)) shell.say(line);
    if (nodes.every(({ local }) => local)) {
      shell.say("");
      shell.say(
        shell.paint.dim("Add a machine: make a token here with 'ringrift token create <label> --scope worker',"),
      );
      shell.say(shell.paint.dim("then run 'ringrift join <url> <token>' there."));
    }
  });

const show = (node: string, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const found = await main.get<NodeReport>(pathOf(node));
    if (shell.json) return shell.print({ node: found });
    for (const line of nodeDetails(found, shell)) shell.say(line);
  });

type Verb = "cordon" | "drain" | "uncordon";

const SAID: Readonly<Record<Verb, string>> = {
  cordon: "gets no new work; what it has goes on",
  drain: "gets no new work and gives back what it has",
  uncordon: "takes work again",
};

const decide = (verb: Verb, node: string, reason: string | undefined, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const found = await main.post<NodeReport>(`${pathOf(node)}/${verb}`, reason === undefined ? {} : { reason });
    if (shell.json) return shell.print({ node: found });
    shell.say(`${printable(found.label)} ${SAID[verb]}`);
  });

const forget = (node: string, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const gone = await main.post<{ node_id: string; label: string }>(`${pathOf(node)}/forget`, {});
    if (shell.json) return shell.print({ forgotten: gone });
    shell.say(`${printable(gone.label)} is forgotten: its key opens nothing any more, and its jobs come back`);
  });

const reasonOption = (text: string): string => {
  if (text.trim() === "" || text.length > 500)
    throw new OperatingError("INVALID_OPTION", "--reason is a sentence of at most 500 characters");
  return text;
};

/** `ringrift nodes`: the machines of the cluster. */
export function registerNodes(program: Command, shell: Shell): void {
  const nodes = program.command("nodes").description("the machines of the cluster: list, show, drain, cordon, forget");
  const which = ["<node>", "its id, or its label if only one has it"] as const;
  nodes
    .command("list", { isDefault: true })
    .description("list them; this is what 'ringrift nodes' does")
    .action(() => list(shell));
  nodes
    .command("show")
    .description("all of one: what it has, what it holds, what it has done")
    .argument(...which)
    .action((node: string) => show(node, shell));
  const about: Readonly<Record<Verb, string>> = {
    cordon: "give it no new work; what it has goes on",
    drain: "give it no new work, and let it give back what it has",
    uncordon: "let it have work again",
  };
  for (const verb of ["cordon", "drain", "uncordon"] as const) {
    const command = nodes
      .command(verb)
      .description(about[verb])
      .argument(...which);
    if (verb !== "uncordon") command.option("--reason <text>", "why; kept with the node", reasonOption);
    command.action((node: string, options: { reason?: string }) => decide(verb, node, options.reason, shell));
  }
  nodes
    .command("forget")
    .description("take it out for good: its key opens nothing any more, and its jobs come back")
    .argument(...which)
    .action((node: string) => forget(node, shell));
}

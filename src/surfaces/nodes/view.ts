import { slotsWords } from "../../work/slots-words.ts";
import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, right, sectionLines, tableLines } from "../cli/table.ts";
import { ago, duration, momentAgo, number, percent, plural, printable, shorten } from "../cli/text.ts";
import { linksWords } from "./node-links.ts";
import type { Node } from "./wire.ts";

const stateColor = painter({ online: "green", dead: "red", suspect: "yellow" }, "dim");

const schedulingOf = ({ cordoned, draining }: Node): string => {
  if (cordoned === null) return "";
  return draining ? "draining" : "cordoned";
};

const heldJobs = ({ jobs = [] }: Node): string =>
  jobs.length === 0 ? "it has none" : `it has ${jobs.map(({ work_id }) => printable(work_id)).join(", ")}`;

/** What was decided about a node, or would be, and why. */
export function withdrawnLine(node: Node, done: string, would: string): string {
  const name = printable(node.label);
  if (node.applied === false) return `${name} ${would} (${heldJobs(node)}); nothing was changed: this was a dry run`;
  return `${name} ${done} (reason: ${printable(node.cordoned?.reason ?? "none given")})`;
}

/** What a node may do, in a few words. */
export const policyWords = ({ except_kinds, max_jobs, repair }: NonNullable<Node["policy"]>): string =>
  [
    except_kinds.length === 0 ? "" : `no ${except_kinds.map(printable).join(", ")}`,
    max_jobs === null ? "" : `at most ${plural(max_jobs, "job")} at a time`,
    repair === "replace" ? "" : repair === "none" ? "no repairs" : `repairs up to a ${repair}`,
  ]
    .filter((text) => text !== "")
    .join("; ");

const sizeOf = ({ cpu, gpu, memory_gb }: Node["capabilities"]): string =>
  [`${cpu} cpu`, ...(gpu > 0 ? [`${gpu} gpu`] : []), ...(memory_gb > 0 ? [`${memory_gb} GB`] : [])].join(", ");

const ofMost = (jobs: number, most: number): string => `${number(jobs)} of ${number(most)}`;

/** How many its worker does at once only that one says: a limit of ours is no slot of a node without one. */
export const heldOf = (held: Node["held"]): string => {
  if (held === undefined) return "";
  if (held.slots !== undefined) return ofMost(held.jobs, Math.min(held.max, held.slots));
  return held.jobs === 0 ? "no worker" : number(held.jobs);
};

const heldWords = ({ held, held_by_token: all }: Node): string => {
  if (held === undefined) return "";
  const own = held.slots === undefined ? `${number(held.jobs)} jobs; no worker has asked yet` : `${heldOf(held)} jobs`;
  return `${own}${all === undefined ? "" : `; all workers of its token ${ofMost(all.jobs, all.max)}`}`;
};

/** Why it gets less than it could, in a few words. */
export const heldBackBy = (node: Node): string => {
  const { cordoned, slots, health } = node;
  if (cordoned !== null) return `${schedulingOf(node)}: ${printable(cordoned.reason)}`;
  if (health !== undefined && health.condition !== "healthy")
    return `${health.condition}: ${printable(health.reason ?? "")}`;
  return slots == null || slots.slots >= slots.of ? "" : slotsWords(slots);
};

/** What matters most comes first: a narrow terminal cuts the end. Why a node gets less stands below it, on a line of its own. */
export function nodeLines(nodes: readonly Node[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const areRented = nodes.some(({ usd_per_1000_games }) => usd_per_1000_games !== undefined);
  const rows = nodes.map((node) => [
    paint.bold(printable(node.label)),
    stateColor(paint, node.state)(node.state),
    right(heldOf(node.held)),
    right(node.idle_since == null ? "" : duration(Math.max(0, now - node.idle_since))),
    right(node.games_per_hour == null ? "" : number(Math.round(node.games_per_hour))),
    ...(areRented ? [right(node.usd_per_1000_games?.toFixed(4) ?? "")] : []),
    node.local ? "this process" : node.last_seen_at === null ? "never" : ago(node.last_seen_at, now),
    node.deprecated ? paint.yellow(printable(node.version)) : printable(node.version),
    sizeOf(node.capabilities),
    paint.dim(node.with_token ? `token ${printable(node.joined_by)}` : node.node_id),
  ]);
  const cost = areRented ? [right("USD/1000")] : [];
  const head = [
    "NODE",
    "STATE",
    right("JOBS"),
    right("IDLE"),
    right("GAMES/H"),
    ...cost,
    "HEARD",
    "VERSION",
    "HAS",
    "ID",
  ];
  const [headLine = "", ...lines] = tableLines([head, ...rows], shell);
  return [
    headLine,
    ...lines.flatMap((line, n) => {
      const why = heldBackBy(nodes[n]!);
      return why === "" ? [line] : [line, paint.yellow(shorten(`  ${why}`, shell.width))];
    }),
  ];
}

/** Who leads, who is there, and whether all run the same version. */
export function clusterLine(nodes: readonly Node[], coordinators?: { present: number; of: number }): string {
  const home = nodes.find(({ local }) => local);
  const online = nodes.filter(({ state }) => state === "online").length;
  // Who came with a token alone need not say which version it runs.
  const others = nodes.filter(
    ({ version, state }) => state === "online" && version !== "" && version !== home?.version,
  );
  const versions =
    others.length === 0
      ? nodes.length === 1
        ? ""
        : "; all run the same version"
      : `; another version runs on ${others.map(({ label, version }) => `${printable(label)} (${printable(version)})`).join(", ")}`;
  const rank =
    coordinators === undefined
      ? "the only one"
      : `leads, ${coordinators.present} of ${plural(coordinators.of, "coordinator")} present`;
  const lead =
    home === undefined ? "" : `coordinator ${printable(home.label)}, version ${printable(home.version)}, ${rank}; `;
  return `${lead}${online} of ${plural(nodes.length, "node")} online${versions}`;
}

export const speedWords = (residual: number | null): string => {
  if (residual === null) return "";
  const percent = Math.round((Math.exp(residual) - 1) * 100);
  if (percent === 0) return "as fast as the others";
  return `${Math.abs(percent)} % ${percent > 0 ? "faster" : "slower"} than the others`;
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What the last day took, in processor-hours: the time of all jobs, of what the processors could have given. */
export function costOf({ work, capabilities: { cpu }, joined_at }: Node, now: number): string {
  if (work === undefined) return "";
  const busyMs = work.busy_seconds * 1_000;
  const hours = `${(busyMs / HOUR_MS).toFixed(2)} processor-hours in the last day`;
  const games = work.games === 0 ? "" : `, ${((busyMs / HOUR_MS / work.games) * 1_000).toFixed(2)} for 1,000 games`;
  const couldMs = cpu * Math.min(DAY_MS, Math.max(1, now - joined_at));
  const idle = cpu === 0 ? "" : `; idle ${percent(Math.max(0, 1 - busyMs / couldMs))} of ${plural(cpu, "processor")}`;
  return `${hours}${games}${idle}`;
}

/** What a rented node costs, and what its games do. */
export function rentedOf({ rented, work }: Node): string {
  if (rented === undefined) return "";
  const { provider, price_usd_hour, cost_usd, last_day_usd } = rented;
  const games = work?.games ?? 0;
  const each = games === 0 ? "" : `, ${((last_day_usd / games) * 1_000).toFixed(4)} USD for 1,000 games`;
  return `at ${printable(provider)} for ${price_usd_hour} USD an hour, ${cost_usd.toFixed(4)} USD so far${each}`;
}

/** Beyond this a node's results are worth a look. */
const STRANGE_RESULTS = 3;

export const resultsOf = (residual: number | null | undefined): string => {
  if (residual == null) return "";
  const distance = `${residual.toFixed(1)} standard deviations from the others in the same batches`;
  return residual < STRANGE_RESULTS ? `like the others' (${distance})` : `NOT like the others' (${distance})`;
};

const outboxOf = ({ outbox }: Node): string => {
  if (outbox === null) return "";
  const waits = plural(outbox.waiting, "event that waits", "events that wait");
  return outbox.refused === 0 ? waits : `${waits}, ${number(outbox.refused)} refused`;
};

export function nodeDetails(node: Node, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const at = (ms: number) => momentAgo(ms, now);
  const { capabilities: has, work, jobs = [] } = node;
  const facts: Parameters<typeof factLines>[0] = [
    ["state", `${node.state}, since ${at(node.state_since)}`],
    [
      "health",
      node.health &&
        `${node.health.condition}${node.health.reason === null ? "" : `: ${printable(node.health.reason)}`}`,
    ],
    ["heard", node.local ? "it is this process" : node.last_seen_at === null ? "never" : at(node.last_seen_at)],
    ["reaches", node.reaches && `${number(node.reaches.nodes)} of ${plural(node.reaches.of, "other node")}`],
    ["reached", node.reach && `by ${number(node.reach.by)} of ${plural(node.reach.of, "other node")}`],
    ["links", node.links && printable(linksWords(node.links))],
    [
      "scheduling",
      node.cordoned === null
        ? "takes work"
        : `${schedulingOf(node)} by ${node.cordoned.by}, ${at(node.cordoned.at)}: ${node.cordoned.reason}`,
    ],
    [
      "policy",
      node.policy && `${policyWords(node.policy)} (by ${printable(node.policy.by)}: ${printable(node.policy.reason)})`,
    ],
    ["slots", node.slots && slotsWords(node.slots).replace(/^slots /, "")],
    ["idle", node.idle_since == null ? "" : `since ${at(node.idle_since)}`],
    ["left", node.left_reason],
    ["has", `${sizeOf(has)}${has.tags.length === 0 ? "" : `, tags ${has.tags.join(", ")}`}`],
    ["free", node.load && `${sizeOf(node.load.free)}, ${plural(node.load.running, "job")} running`],
    ["holds", heldWords(node)],
    ["kinds", has.kinds?.join(", ")],
    ["spool", node.spool && plural(node.spool.waiting, "result that waits", "results that wait")],
    ["outbox", outboxOf(node)],
    ["version", `${node.version}${node.deprecated ? ", older than the coordinator" : ""}`],
    ["starts", number(node.incarnation)],
    ["machine", [has.hostname, has.platform, node.address].filter((text) => text != null).join(", ")],
    ["joined", `${at(node.joined_at)}, by ${node.joined_by}`],
    [
      "last day",
      work &&
        [
          `${plural(work.completed, "job")} done`,
          `${number(work.failed)} failed`,
          `${plural(work.games, "game")}${work.games_per_hour === null ? "" : ` (${number(Math.round(work.games_per_hour))} an hour)`}`,
          ...(work.speed_residual === null ? [] : [speedWords(work.speed_residual)]),
        ].join(", "),
    ],
    ["cost", costOf(node, now)],
    ["rented", rentedOf(node)],
    ["results", resultsOf(work?.results_residual)],
  ];
  const held = jobs.map((job) => [
    paint.yellow(`  ${printable(job.work_id)}`),
    printable(job.work_type),
    printable(job.config_key ?? ""),
    duration(Math.max(0, now - job.claimed_at)),
    [(job.gpus ?? 0) > 0 ? `has ${plural(job.gpus!, "GPU")}` : "", job.stopping ? "is told to stop" : ""]
      .filter((text) => text !== "")
      .join(", "),
  ]);
  return [
    `${paint.bold(printable(node.label))} ${paint.dim(node.node_id)}`,
    ...factLines(facts, shell),
    ...sectionLines("holds", held, shell),
  ];
}

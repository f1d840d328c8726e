import type { Shell } from "../cli/shell.ts";
import { factLines, right, sectionLines, tableLines } from "../cli/table.ts";
import { ago, duration, momentAgo, number, plural, printable } from "../cli/text.ts";
import { bytes } from "../status/view.ts";
import type { DeliveriesView, SyncDetails, SyncPlanView, SyncView } from "./wire.ts";

/** How far it is, how fast, and how long it will take. */
export function progressLine(sync: SyncView): string {
  const { files, arrived, failed, bytes: all, bytes_done: done, bytes_per_second: rate, seconds_left: left } = sync;
  const parts = [
    `${number(arrived)} of ${plural(files, "file")}`,
    `${bytes(done)} of ${bytes(all)}`,
    ...(rate === null ? [] : [`${bytes(Math.round(rate))}/s`]),
    ...(left === null ? [] : [`${duration(left * 1_000)} left`]),
    ...(failed === 0 ? [] : [`${number(failed)} failed`]),
  ];
  return parts.join(", ");
}

const BAR_CELLS = 10;

/** The same with a bar before it, where a terminal has room for both. */
export function progressBar(sync: SyncView, columns: number): string {
  const line = progressLine(sync);
  const share = sync.bytes === 0 ? 1 : Math.min(1, sync.bytes_done / sync.bytes);
  const full = Math.floor(share * BAR_CELLS);
  const bar = `${"█".repeat(full)}${"░".repeat(BAR_CELLS - full)}`;
  return bar.length + 1 + line.length < columns ? `${bar} ${line}` : line;
}

export function syncLines(syncs: readonly SyncView[], shell: Shell): string[] {
  const { paint, clock } = shell;
  const rows = syncs.map((sync) => [
    paint.yellow(printable(sync.sync_id)),
    sync.state === "failed" ? paint.red(sync.state) : sync.state,
    sync.backend,
    progressLine(sync),
    ago(sync.started_at, clock.now()),
    paint.dim(printable(sync.requested_by)),
  ]);
  return tableLines([["SYNC", "STATE", "BACKEND", "DONE", "BEGAN", "BY"], ...rows], shell);
}

export function syncDetails(sync: SyncDetails, shell: Shell): string[] {
  const { response } = sync;
  const now = shell.clock.now();
  const facts = [
    ["state", sync.state],
    ["backend", sync.backend],
    ["done", progressLine(sync)],
    ["began", momentAgo(sync.started_at, now)],
    ["by", sync.requested_by],
    ["took", response && duration(response.duration_seconds * 1_000)],
    ["nodes", response && `${number(response.nodes_synced)}: ${response.details.nodes.join(", ")}`],
    ["errors", response?.errors.join("; ")],
  ] as const;
  return [shell.paint.bold(printable(sync.sync_id)), ...factLines(facts, shell)];
}

export const deliveryState = ({ state, next_at, attempts }: Delivery, now: number): string => {
  if (state === "failed") return `given up after ${plural(attempts, "try", "tries")}`;
  if (state !== "waiting" || next_at === null || attempts === 0) return state;
  return next_at <= now ? "tried again now" : `tried again in ${duration(next_at - now)}`;
};
type Delivery = DeliveriesView["deliveries"][number];

/** What was tried for one transfer, a line for each way; the try as a whole only where no way was told. */
function triesOf({ tries }: Delivery): string[] {
  return tries
    .filter(
      ({ attempt, transport }) =>
        transport !== null || !tries.some((other) => other.attempt === attempt && other.transport !== null),
    )
    .map(({ attempt, transport, place, code, error }) => {
      const way = transport === null ? "" : ` by ${transport} from ${place}`;
      return `    try ${attempt}${way}: ${code === null ? "arrived" : `${error} (${code})`}`;
    });
}

/** What came from whom, so that one sees who serves whom, and which way is passed over. */
function wayRows(ways: DeliveriesView["ways"], { paint }: Shell) {
  if (ways.length === 0) return [];
  return [
    ["  NODE", "FETCHED FROM", "BY", right("FILES"), right("BYTES"), right("FAILED"), "NOW"],
    ...ways.map(({ node, place, transport, files, bytes: came, failures, state, error }) => [
      `  ${printable(node)}`,
      printable(place),
      transport,
      right(number(files)),
      right(bytes(came)),
      right(number(failures)),
      state === "closed" ? "in use" : paint.red(`passed over: ${printable(error ?? "it failed")}`),
    ]),
  ];
}

export function deliveryLines({ deliveries, hosts, ways }: DeliveriesView, which: string, shell: Shell): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const lines = deliveries.flatMap((delivery) => {
    const { node, action, kind, sha256, config_key, state, reason, bytes: size } = delivery;
    const where = action === "fetch" ? `to ${node}` : `home from ${node}`;
    const what = `${kind} ${sha256.slice(0, 12)}${config_key === null ? "" : ` of ${config_key}`} (${bytes(size)})`;
    const how = deliveryState(delivery, now);
    const head = `${printable(`${what} ${where} for ${reason}`)}: ${state === "failed" ? paint.red(how) : how}`;
    return [head, ...triesOf(delivery).map((line) => paint.dim(printable(line)))];
  });
  const rows = hosts.map((host) => [
    `  ${printable(host.node)}`,
    right(number(host.waiting + host.running)),
    right(bytes(host.bytes)),
    host.last_success_at === null ? "never" : ago(host.last_success_at, now),
    Object.entries(host.reasons)
      .map(([code, times]) => `${code} ${number(times)}`)
      .join(", ") || "none",
  ]);
  const head = rows.length === 0 ? [] : [["  NODE", right("OPEN"), right("LACKS"), "LAST ARRIVED", "FAILURES SINCE"]];
  return [
    ...(lines.length === 0 ? [which === "failing" ? "no transfer fails" : "there is no transfer"] : lines),
    ...sectionLines("nodes", [...head, ...rows], shell),
    ...sectionLines("ways", wayRows(ways, shell), shell),
  ];
}

const figure = (value: number | string | null, isBytes: boolean): string =>
  value === null ? "unknown" : typeof value === "string" ? value : isBytes ? bytes(value) : number(Math.round(value));

type Way = SyncPlanView["ways"][number];

/** One who would be asked, and what is known of it. */
function sourceWords({ node, transports, feeding, depth, troubled }: Way["sources"][number]): string {
  const facts = [
    transports.join(" or "),
    depth === 0 ? "has the whole" : `still fetches it, ${plural(depth, "step")} from the whole`,
    ...(feeding === 0 ? [] : [`sends to ${plural(feeding, "node")} now`]),
    ...(troubled ? ["its own transfers fail"] : []),
  ];
  return `${node} (${facts.join(", ")})`;
}

function wayLines({ node, action, files, bytes: size, sources, passed_over }: Way): string[] {
  const what = `${plural(files, "file")} (${bytes(size)})`;
  if (action === "send") return [printable(`  ${node} sends ${what} to the main process`)];
  return [
    printable(
      `  ${node} gets ${what} from ${sources.length === 0 ? "nobody" : sources.map(sourceWords).join(", then ")}`,
    ),
    ...passed_over.map(({ node: from, why, actual, required }) =>
      printable(`    not from ${from}: ${why} (${actual}, required ${required})`),
    ),
  ];
}

const backendRow = ({ backend, role, why, actual, required }: SyncPlanView["backends"][number]) => [
  `  ${backend}`,
  role,
  printable(`${why}: ${actual}, required ${required}`),
];

export function planLines(plan: SyncPlanView, shell: Shell): string[] {
  const { paint } = shell;
  const total = `${plural(plan.files, "file")} (${bytes(plan.bytes)}) to ${plural(plan.nodes.length, "node")} by ${plan.backend}`;
  const shares = plan.nodes.map((share) => [
    `  ${printable(share.node)}`,
    plural(share.files, "file"),
    bytes(share.bytes),
  ]);
  const judged = plan.judgements.map(({ node, skipped, score, reasons }) => [
    `  ${printable(node)}`,
    right(skipped === null ? paint.bold(String(score)) : paint.yellow("skipped")),
    skipped === null
      ? reasons
          .map(
            ({ what, actual, required, points }) =>
              `${what} ${points} (${figure(actual, what === "disk" || what === "bandwidth")}${required === null ? "" : ` of ${figure(required, what === "disk")}`})`,
          )
          .join(", ")
      : `${skipped.why}: ${figure(skipped.actual, true)}, required ${figure(skipped.required, true)}`,
  ]);
  return [
    plan.error === null ? total : `nothing would happen: ${plan.error}`,
    ...sectionLines("would get", shares, shell),
    ...sectionLines("why", judged, shell),
    ...sectionLines("backends", plan.backends.map(backendRow), shell),
    ...(plan.ways.length === 0 ? [] : ["", paint.bold("from whom")]),
    ...plan.ways.flatMap(wayLines),
    ...(plan.transfers_looked_at < plan.files
      ? [paint.dim(`  this is about the first ${number(plan.transfers_looked_at)} of ${number(plan.files)} transfers`)]
      : []),
  ];
}

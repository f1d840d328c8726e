import type { Shell } from "../cli/shell.ts";
import { right, sectionLines, tableLines } from "../cli/table.ts";
import { duration, number, plural, printable } from "../cli/text.ts";
import { bytes } from "../status/view.ts";
import type { Resources } from "./wire.ts";
import { grantsWords, poolsWords, transfersWords } from "./words.ts";

const orNone = (value: number | null): string => (value === null ? "-" : number(value));

const lateness = (seconds: number | null): string => (seconds === null ? "-" : duration(seconds * 1_000));

const depthOf = (processes: Resources["processes"], pid: number): number => {
  const parent = processes.find((process) => process.pid === pid)?.parent;
  return parent === undefined || !processes.some((process) => process.pid === parent)
    ? 0
    : 1 + depthOf(processes, parent);
};

function diskLine({ disk }: Resources): string {
  if (disk === null) return "disk        not measured yet";
  const level = disk.level === "none" ? "" : ` (${disk.level})`;
  const full = disk.full_in_seconds === null ? "" : `; at this rate full in ${duration(disk.full_in_seconds * 1_000)}`;
  return `disk        ${Math.round(disk.usage * 100)} % in use${level}, ${bytes(disk.free_bytes)} free${full}`;
}

function freedLine({ freed, at }: Resources): string {
  if (freed === null) return "freed       nothing yet";
  const last = `${plural(freed.files, "file")} with ${bytes(freed.bytes)} ${duration(Math.max(0, at - freed.at))} ago`;
  return `freed       ${last} (${printable(freed.reason)}); ${bytes(freed.all_bytes)} in all`;
}

export function resourceLines(resources: Resources, shell: Shell): string[] {
  const { paint } = shell;
  const { processes, loop_delay: delay, nodes, max_fds } = resources;
  const rows = processes.map((process) => [
    right(String(process.pid)),
    right(process.rss_bytes === null ? "-" : bytes(process.rss_bytes)),
    right(orNone(process.fds)),
    right(duration(process.cpu_seconds * 1_000)),
    right(lateness(process.loop_delay_seconds)),
    right(number(process.children)),
    right(orNone(process.transfers)),
    `${"  ".repeat(depthOf(processes, process.pid))}${printable(process.name)}`,
  ]);
  const head = [...["PID", "RSS", "FDS", "CPU", "LOOP", "CHILDREN", "TRANSFERS"].map((text) => right(text)), "PROCESS"];
  const total = processes.reduce((sum, { rss_bytes }) => sum + (rss_bytes ?? 0), 0);
  const files = max_fds === null ? "" : `; the main process may open ${number(max_fds)} files`;
  return [
    ...(rows.length === 0 ? ["this system does not list processes"] : tableLines([head, ...rows], shell)),
    paint.dim(`${plural(processes.length, "process", "processes")}, ${bytes(total)} in all${files}`),
    "",
    `main loop   delay in the last minute: median ${duration(delay.p50_seconds * 1_000)}, 99th percentile ${duration(delay.p99_seconds * 1_000)}, longest ${duration(delay.max_seconds * 1_000)}`,
    diskLine(resources),
    freedLine(resources),
    `pools       ${poolsWords(resources)}`,
    `grants      ${grantsWords(resources)}`,
    `transfers   ${transfersWords(resources)}`,
    ...sectionLines(
      "nodes",
      nodes.map((node) => [
        `  ${printable(node.label)}`,
        node.state,
        node.running === null ? "" : `${plural(node.running, "job")} running`,
        node.results_waiting === null ? "" : `${plural(node.results_waiting, "result")} waiting`,
        node.events_waiting === null ? "" : `${plural(node.events_waiting, "event")} waiting`,
        plural(node.uploads, "upload"),
        ...(node.rss_bytes === null
          ? []
          : [`worker ${bytes(node.rss_bytes)}, loop ${lateness(node.loop_delay_seconds)}`]),
      ]),
      shell,
    ),
  ];
}

/** What `scontrol` and `sinfo` print, read. Their words for states are theirs; one that we do not know is unknown, never gone. */
import type { Machine, MachineOffer, MachineState } from "../../../cluster/fleet/index.ts";

const STATES: Readonly<Record<string, MachineState>> = {
  PENDING: "starting",
  CONFIGURING: "starting",
  REQUEUED: "starting",
  REQUEUE_HOLD: "starting",
  REQUEUE_FED: "starting",
  RUNNING: "running",
  RESIZING: "running",
  SIGNALING: "running",
  SUSPENDED: "stopped",
  STOPPED: "stopped",
  COMPLETING: "ending",
  STAGE_OUT: "ending",
  COMPLETED: "gone",
  CANCELLED: "gone",
  FAILED: "gone",
  TIMEOUT: "gone",
  NODE_FAIL: "gone",
  OUT_OF_MEMORY: "gone",
  BOOT_FAIL: "gone",
  DEADLINE: "gone",
  PREEMPTED: "gone",
  REVOKED: "gone",
};

const field = (line: string, name: string): string | undefined => new RegExp(`(?:^|\\s)${name}=(\\S*)`).exec(line)?.[1];

/** A job as one line of `scontrol --oneliner show job`; undefined for a line that is none. */
function machineOf(line: string): Machine | undefined {
  const id = field(line, "JobId");
  // What a user called a job may hold blanks: it ends where the next field begins.
  const name = /(?:^|\s)JobName=(.*?)\sUserId=/.exec(line)?.[1] ?? null;
  const said = field(line, "JobState");
  if (id === undefined || said === undefined) return undefined;
  const task = field(line, "ArrayTaskId");
  const array = field(line, "ArrayJobId");
  const nodes = field(line, "NodeList");
  return {
    machine_id: array !== undefined && task !== undefined ? `${array}_${task}` : id,
    label: name,
    state: STATES[said] ?? "unknown",
    said: said.slice(0, 100),
    price_usd_hour: 0,
    address: nodes === undefined || nodes === "" || nodes === "(null)" ? null : nodes,
  };
}

/** The jobs of a controller; undefined where it printed something else. */
export function machinesOf(text: string): Machine[] | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 1 && /^No jobs in the system/.test(lines[0]!)) return [];
  const found = lines.map((line) => machineOf(line));
  return found.every((one) => one !== undefined) ? found : undefined;
}

/** The format that `sinfo` is asked for, one line a partition and sort of node: name, state, accelerators, processors by use. */
export const PARTITION_FORMAT = "%R|%a|%G|%C";

/** What each partition has room for, in jobs of so many processors; undefined where something else was printed. A cluster of our own costs nothing. */
export function offersOf(text: string, cpus: number): MachineOffer[] | undefined {
  const partitions = new Map<string, { idle: number; gpus: number }>();
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const [name = "", up, gres = "", usage = ""] = line.trim().split("|");
    const counts = usage.split("/").map(Number);
    if (up === undefined || counts.length !== 4 || counts.some((n) => !Number.isFinite(n))) return undefined;
    if (up !== "up") continue;
    const known = partitions.get(name) ?? { idle: 0, gpus: 0 };
    const gpus = /gpu(?::[^:,(]+)?:(\d+)/.exec(gres)?.[1];
    partitions.set(name, { idle: known.idle + counts[1]!, gpus: Math.max(known.gpus, Number(gpus ?? 0)) });
  }
  return [...partitions].map(([name, { idle, gpus }]) => ({
    offer_id: name,
    region: null,
    cpus,
    memory_gb: 0,
    gpus,
    gpu_name: null,
    gpu_memory_gb: 0,
    price_usd_hour: 0,
    available: Math.floor(idle / cpus),
  }));
}

/**
 * The guardian: a small process beside a worker that outlives it by a moment. It knows which programs the worker has
 * started. When its standard input closes, because the worker ended in whatever way, kill -9 included, it ends all of
 * them with all that they started, and then itself.
 *
 * It also does the worker's looking around in /proc, which would hold up the worker's own loop: it counts the processes
 * and the memory of each program, and ends one on request until nothing of it is left.
 */
import { createInterface } from "node:readline";
import { membersOf, processTable, type Watched } from "./process-table.ts";

interface Order {
  readonly watch?: number;
  readonly cookie?: string;
  readonly started?: number;
  readonly pid?: number;
  readonly end?: number;
}

const CENSUS_EVERY_MS = 1_000;
/** Where there are so many processes that looking takes long, it is done less often: at most 1 % of a core. */
const CENSUS_SHARE = 0.01;
const AGAIN_MS = 5;
/** About three seconds; what is still there then hangs in the kernel. */
const MAX_ROUNDS = 600;

const watched = new Map<number, Watched>();

const emit = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
};

/** One look and one blow; how many were still there. The group goes in one stroke, so that nobody forks away from it. */
function strike(one: Watched): number {
  const rows = processTable();
  if (rows === undefined) {
    if (one.pid !== undefined) kill(-one.pid);
    return 0;
  }
  const members = membersOf(rows, one, true);
  if (one.pid !== undefined && members.some(({ group }) => group === one.pid)) kill(-one.pid);
  for (const { pid } of members) kill(pid);
  return members.length;
}

async function end(one: Watched): Promise<number> {
  let left = strike(one);
  for (let round = 0; left > 0 && round < MAX_ROUNDS; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    left = strike(one);
  }
  return left;
}

function census(): void {
  if (watched.size === 0) return;
  const rows = processTable();
  if (rows === undefined) return;
  emit({
    census: Array.from(watched, ([id, one]) => {
      const members = membersOf(rows, one, false);
      return { id, processes: members.length, memory_bytes: members.reduce((sum, each) => sum + each.memoryBytes, 0) };
    }),
  });
}

function obey(order: Order): void {
  if (order.watch !== undefined) watched.set(order.watch, { cookie: order.cookie!, pid: undefined });
  else if (order.started !== undefined) {
    const one = watched.get(order.started);
    if (one !== undefined) watched.set(order.started, { ...one, pid: order.pid });
  } else if (order.end !== undefined) {
    const id = order.end;
    const one = watched.get(id);
    void (one === undefined ? Promise.resolve(0) : end(one)).then((left) => {
      watched.delete(id);
      emit({ ended: id, left });
    });
  }
}

// The worker may be gone at any time: then nobody reads.
process.stdout.on("error", () => {});
// Signals to the worker's group or service are for the worker; the guardian leaves when the worker has left.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

let timer = setTimeout(function count() {
  const from = performance.now();
  census();
  timer = setTimeout(count, Math.max(CENSUS_EVERY_MS, (performance.now() - from) / CENSUS_SHARE));
}, CENSUS_EVERY_MS);
const orders = createInterface({ input: process.stdin });
orders.on("line", (line) => obey(JSON.parse(line) as Order));
orders.on("close", async () => {
  clearTimeout(timer);
  await Promise.all(Array.from(watched.values(), end));
  process.exit(0);
});
emit({ ready: true });

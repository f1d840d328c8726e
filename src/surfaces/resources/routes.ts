import { readFile } from "node:fs/promises";
import { processTree } from "../../cluster/index.ts";
import { handle, type Route } from "../http/route.ts";
import { getResources } from "./wire.ts";

/** How many files this process may have open; null where there is no limit or nobody tells. */
async function maxFds(): Promise<number | null> {
  const text = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const soft = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? Number.NaN);
  return Number.isSafeInteger(soft) ? soft : null;
}

export const resourceRoutes: readonly Route[] = [
  handle(getResources, async ({ ports }) => {
    const [tree, max] = await Promise.all([processTree(process.pid), maxFds()]);
    const { p50, p99, max: longest } = ports.metrics.loopDelay();
    const { measured, last } = ports.disk();
    const { open, max: maxFetches } = ports.fetches();
    return {
      at: ports.clock.now(),
      disk:
        measured === undefined
          ? null
          : {
              level: measured.level,
              usage: measured.usage,
              free_bytes: measured.freeBytes,
              full_in_seconds: measured.fullInMs === null ? null : measured.fullInMs / 1_000,
            },
      freed:
        last === undefined
          ? null
          : { at: last.at, reason: last.reason, files: last.files, bytes: last.bytes, all_bytes: last.all_bytes },
      processes: tree.map(({ rssBytes, cpuSeconds, ...rest }) => ({
        ...rest,
        rss_bytes: rssBytes,
        cpu_seconds: cpuSeconds,
      })),
      max_fds: max,
      loop_delay: { p50_seconds: p50, p99_seconds: p99, max_seconds: longest },
      pools: ports.metrics.pools(),
      grants: {
        jobs: ports.work.queue.held().length,
        locks: ports.locks.list().length,
        fetches: open,
        max_fetches: maxFetches,
      },
      transfers: ports.artifacts.transfers(),
      nodes: ports.nodes.book.list().map(({ label, state, load, spool, outbox }) => ({
        label,
        state,
        running: load?.running ?? null,
        results_waiting: spool?.waiting ?? null,
        events_waiting: outbox?.waiting ?? null,
      })),
    };
  }),
];

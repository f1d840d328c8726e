import { readFile } from "node:fs/promises";
import { processTree } from "../../cluster/index.ts";
import { ADOPTED } from "../../sync/index.ts";
import { handle, type Route } from "../http/route.ts";
import { getResources } from "./wire.ts";

/** How many files this process may have open; null where there is no limit or nobody tells. */
async function maxFds(): Promise<number | null> {
  const text = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const soft = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? Number.NaN);
  return Number.isSafeInteger(soft) ? soft : null;
}

const inSeconds = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1_000);

export const resourceRoutes: readonly Route[] = [
  handle(getResources, async ({ ports }) => {
    const worker = ports.metrics.toldLately(ports.nodeId);
    const roots = [process.pid, ...(worker.worker_pid === undefined ? [] : [worker.worker_pid])];
    const [tree, max] = await Promise.all([processTree(roots), maxFds()]);
    const { p50, p99, max: longest } = ports.metrics.loopDelay();
    const transfers = ports.artifacts.transfers();
    const held = ports.work.queue.held();
    const uploadsOf = (sender: string) => transfers.incoming.filter(({ from }) => from === sender).length;
    /** The two that measure themselves; what jobs run is anybody's program. */
    const ownFigures = (pid: number) => {
      if (pid === process.pid) return { loop_delay_seconds: p99, transfers: transfers.incoming.length };
      if (pid !== worker.worker_pid) return { loop_delay_seconds: null, transfers: null };
      return { loop_delay_seconds: inSeconds(worker.worker_loop_delay_p99_ms), transfers: uploadsOf(ADOPTED) };
    };
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
        ...ownFigures(rest.pid),
      })),
      max_fds: max,
      loop_delay: { p50_seconds: p50, p99_seconds: p99, max_seconds: longest },
      pools: ports.metrics.pools(),
      grants: {
        jobs: held.length,
        locks: ports.locks.list().length,
        fetches: open,
        max_fetches: maxFetches,
      },
      transfers,
      nodes: ports.nodes.book.list().map(({ node_id, local, label, state, load, spool, outbox }) => {
        const told = local ? {} : ports.metrics.toldLately(node_id);
        return {
          label,
          state,
          running: load?.running ?? (local ? held.filter((job) => job.node_id === node_id).length : null),
          results_waiting: spool?.waiting ?? null,
          events_waiting: outbox?.waiting ?? null,
          rss_bytes: told.process_memory_bytes ?? null,
          loop_delay_seconds: inSeconds(told.loop_delay_p99_ms),
          uploads: uploadsOf(local ? ADOPTED : node_id),
        };
      }),
    };
  }),
];

/** What `/metrics` says of work: the queue, who does it, the nodes, and the files that come and go. */
import type { NodeRegistry } from "../../cluster/index.ts";
import { sumOf } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { type ArtifactStore, type ArtifactTally, artifactTally, type DiskView } from "../../sync/index.ts";
import { type ClaimDesk, JOB_STATES, type WorkQueue } from "../../work/index.ts";
import type { Define } from "./figure.ts";

export interface WorkSources {
  readonly queue: WorkQueue;
  readonly desk: ClaimDesk;
  readonly nodes: Pick<NodeRegistry, "counts">;
  readonly artifacts: ArtifactStore;
  readonly store: Store;
  readonly disk: () => DiskView;
}

type Sources = () => WorkSources | undefined;

export function workFigures(gauge: Define, work: Sources): void {
  gauge("queue_jobs", "Jobs in the queue, by kind and state.", ["kind", "state"], () => jobsByKind(work()?.queue));
  gauge("queue_oldest_age_seconds", "How long the oldest job that may be claimed has waited.", ["kind"], () => {
    const queue = work()?.queue;
    if (queue === undefined) return undefined;
    const oldest = queue.oldestByKind();
    return Object.fromEntries(queue.kinds.map((kind) => [kind, (oldest[kind] ?? 0) / 1_000]));
  });
  gauge("leases", "Jobs in somebody's hands, by kind.", ["kind"], () => {
    const jobs = Object.entries(jobsByKind(work()?.queue));
    return Object.fromEntries(jobs.map(([kind, { claimed = 0, running = 0 }]) => [kind, claimed + running]));
  });
  gauge(
    "workers",
    "Workers that asked for work or kept some alive a short while ago.",
    [],
    () => work()?.queue.workers.list().length,
  );
  gauge("worker_gpus", "Accelerators that those workers offer.", [], () =>
    sumOf(work()?.queue.workers.list() ?? [], ({ offer }) => offer.gpu),
  );
  gauge("claims_waiting", "Claims that wait for a job.", [], () => work()?.desk.waiting);
  gauge("claims_free_slots", "Jobs that those who wait would take at once.", [], () => work()?.desk.freeSlots);
  gauge("nodes", "Nodes that joined, by the state that they are in.", ["state"], () => work()?.nodes.counts());
}

function jobsByKind(queue: WorkQueue | undefined): Record<string, Record<string, number>> {
  const none = () => Object.fromEntries(JOB_STATES.map((state) => [state, 0]));
  const jobs = Object.fromEntries((queue?.kinds ?? []).map((kind) => [kind, none()]));
  // A kind whose workload is gone may still have jobs; it is a word that was once declared.
  for (const { work_type, state, jobs: count } of queue?.counts() ?? []) {
    jobs[work_type] ??= none();
    jobs[work_type]![state]! += count;
  }
  return jobs;
}

/** Counting goes through every row: whoever asks more often is told the same again. */
const COUNTED_FOR_MS = 15_000;

export function artifactFigures(gauge: Define, counter: Define, work: Sources, nowMs: () => number): void {
  let counted: { readonly at: number; readonly rows: Promise<readonly ArtifactTally[]> } | undefined;
  const tally = async (of: "files" | "bytes") => {
    const store = work()?.store;
    if (store === undefined) return undefined;
    if (counted === undefined || nowMs() - counted.at >= COUNTED_FOR_MS)
      counted = { at: nowMs(), rows: artifactTally(store) };
    const byKind: Record<string, Record<string, number>> = {};
    for (const row of await counted.rows) byKind[row.kind] = { ...byKind[row.kind], [row.state]: row[of] };
    return byKind;
  };
  gauge("artifacts", "Files that the catalog knows, by kind and state.", ["kind", "state"], () => tally("files"));
  gauge("artifact_bytes", "Their bytes.", ["kind", "state"], () => tally("bytes"));
  const disk = () => work()?.disk();
  gauge("disk_free_bytes", "Room on the disk of the data folder.", [], () => disk()?.measured?.freeBytes);
  gauge("disk_full_seconds", "When it is full at the rate of now; absent where nothing can be said.", [], () => {
    const fullInMs = disk()?.measured?.fullInMs ?? null;
    return fullInMs === null ? undefined : fullInMs / 1_000;
  });
  counter("freed_files_total", "Files that were freed here.", [], () => disk()?.last?.all_files ?? 0);
  counter("freed_bytes_total", "Their bytes.", [], () => disk()?.last?.all_bytes ?? 0);
  const traffic = () => work()?.artifacts.traffic;
  gauge("transfers", "Files that come in or go out now.", ["direction"], () => traffic()?.underWay);
  counter("transfer_files_total", "Files that came in, by what became of them.", ["outcome"], () => traffic()?.files);
  counter("transfer_bytes_total", "Bytes of files that came in or went out.", ["how"], () => traffic()?.bytes);
}

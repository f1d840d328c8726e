import type { Clock } from "../../kernel/index.ts";
import type { ClaimRequest } from "../job/claim-request.ts";
import { knownWorkerLimits } from "../limits.ts";

/** A worker that asks for jobs or holds some, as its last claim told of it. */
export interface KnownWorker extends Pick<ClaimRequest, "node_id" | "offer" | "kinds"> {
  /** Jobs that it would have taken at once. */
  readonly slots: number;
  /** The most that it ever asked for at once: as an idle worker does, for all that it has. */
  readonly all: number;
  /** The most accelerators that it ever had free. */
  readonly gpus: number;
  /** Milliseconds since the epoch. */
  readonly heard_at: number;
}

/**
 * Who is there to do work: whoever asked for a job, or kept one alive, a short while ago. That a node is online says nothing of
 * it, since a coordinator need not have a worker. Kept in memory: after a start all ask again within seconds.
 */
export interface KnownWorkers {
  asked(request: ClaimRequest): void;
  /** A sign of life of one that may be too busy to ask. */
  heard(nodeId: string): void;
  list(): KnownWorker[];
  /** Whether a node has accelerators, as far as it ever offered some. */
  hasGpus(nodeId: string): boolean;
  /** Nodes with a worker for a kind, in order. */
  takers(kind: string): string[];
  /** Whether everybody had the time to ask since the start. */
  readonly settled: boolean;
}

/** @param listened milliseconds in which somebody could have heard them: while nobody listens, nobody goes. */
export function createKnownWorkers(
  clock: Pick<Clock, "now" | "monotonic">,
  listened: () => number,
  limits = knownWorkerLimits,
): KnownWorkers {
  const workers = new Map<string, KnownWorker & { readonly heardMs: number }>();
  const startedMs = clock.monotonic();

  const note = (worker: KnownWorker): void => {
    // Those heard longest ago stand in front, so that they are the ones that go when there are too many.
    workers.delete(worker.node_id);
    workers.set(worker.node_id, { ...worker, heardMs: listened() });
    if (workers.size > limits.max) workers.delete(workers.keys().next().value!);
  };
  const list = (): KnownWorker[] => {
    const beforeMs = listened() - limits.goneAfterMs;
    for (const [nodeId, { heardMs }] of workers) {
      if (heardMs >= beforeMs) break;
      workers.delete(nodeId);
    }
    return [...workers.values()].map(({ heardMs, ...worker }) => worker);
  };

  return {
    asked({ node_id, offer, kinds, most }) {
      const known = workers.get(node_id);
      const all = Math.max(most, known?.all ?? 0);
      const gpus = Math.max(offer.gpu, known?.gpus ?? 0);
      note({ node_id, offer, kinds, slots: most, all, gpus, heard_at: clock.now() });
    },
    heard(nodeId) {
      const known = workers.get(nodeId);
      if (known !== undefined) note({ ...known, heard_at: clock.now() });
    },
    list,
    hasGpus: (nodeId) => (workers.get(nodeId)?.gpus ?? 0) > 0,
    takers: (kind) =>
      list()
        .filter(({ kinds }) => kinds === undefined || kinds.includes(kind))
        .map(({ node_id }) => node_id)
        .sort(),
    get settled() {
      return clock.monotonic() - startedMs >= limits.settleMs;
    },
  };
}

/** What the closed loop is connected to: the queue, the files of this machine, and who is there. */
import type { MoreChore } from "../../daemons/index.ts";
import { type Clock, type Log, messageOf, OperatingError } from "../../kernel/index.ts";
import {
  budgetOf,
  configs,
  createRatingEngine,
  type HandOver,
  type PipelinePorts,
  ratedChampions,
} from "../../pipeline/index.ts";
import { createWriteSet, type EventRouter, type Store } from "../../router/index.ts";
import {
  type ArtifactCatalog,
  type ArtifactStore,
  createArtifactCatalog,
  createArtifactDesk,
  createSweeper,
} from "../../sync/index.ts";
import type { WorkQueue } from "../../work/index.ts";
import { CONFIG_KEYS } from "../../workloads/arena/index.ts";

export interface LoopSurroundings {
  readonly router: EventRouter;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeId: string;
  readonly queue: WorkQueue;
  readonly freeSlots: () => number;
  readonly files: ArtifactStore;
  readonly nodes: () => readonly string[];
  readonly allowPendingGate: boolean;
  readonly scrub?: ScrubPace | undefined;
}

/** How the background looks at files: how often, how many at once, and how long one that was sound is left alone. */
export interface ScrubPace {
  readonly everyMs: number;
  readonly againMs: number;
  readonly most: number;
}

export interface LoopParts {
  readonly ports: PipelinePorts;
  readonly catalog: ArtifactCatalog;
  readonly chores: readonly MoreChore[];
  close(): Promise<void>;
}

/** Results of matches are small; what is larger is none. */
const MOST_READ_BYTES = 64_000_000;
/** In the order of their strength: the one in the middle is the zero of the ladder. */
const ANCHORS = ["random", "mcts-100", "mcts-1000"] as const;
const SWEEP_EVERY_MS = 10 * 60_000;
const SCRUB_EVERY_MS = 60 * 60_000;

/** A whole file, after a look at its bytes: one that is damaged is not read, and one that is gone is not waited for. */
async function readArtifact(files: ArtifactStore, sha256: string): Promise<Uint8Array> {
  const { size } = await files.stat(sha256);
  if (size === null) throw new OperatingError("ARTIFACT_NOT_FOUND", `there is no artifact ${sha256}`);
  if (size > MOST_READ_BYTES)
    throw new OperatingError("ARTIFACT_TOO_LARGE", `${sha256} has ${size} bytes, ${MOST_READ_BYTES} are read at once`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of files.read(sha256, 0, size)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What is asked again and again until it is done: one at a time of a name, and a failure is told, not thrown. */
function once(log: Log, what: string): (name: string, run: () => Promise<unknown>) => void {
  const running = new Set<string>();
  return (name, run) => {
    if (running.has(name)) return;
    running.add(name);
    run()
      .catch((thrown: unknown) => log.error(`${what} failed; it is tried again`, { name, error: messageOf(thrown) }))
      .finally(() => running.delete(name));
  };
}

export function loopPartsOf(around: LoopSurroundings): LoopParts {
  const { router, store, clock, log, nodeId, queue, freeSlots, files, nodes, allowPendingGate, scrub } = around;
  const catalog = createArtifactCatalog({ store, clock });
  const desk = createArtifactDesk({ router, store, files, catalog, clock, log, nodeId });
  const sweeper = createSweeper({ store, files, clock });
  const engine = createRatingEngine();
  const sync = once(log, "looking through a batch of files");
  const spread = once(log, "handing out a model");
  const look = once(log, "looking at files again");
  const handOver: HandOver = {
    syncBatch: ({ syncId, configKey, entries }) =>
      sync(syncId, () => desk.syncBatch({ sync_id: syncId, config_key: configKey, entries })),
    distribute: ({ modelId, sha256, configKey }) =>
      spread(sha256, () => desk.distribute({ model_id: modelId, sha256, config_key: configKey })),
  };
  return {
    catalog,
    ports: {
      queue,
      freeSlots,
      store,
      catalog,
      readArtifact: (sha256) => readArtifact(files, sha256),
      handOver,
      verify: (sha256s) => look(sha256s.join(), () => desk.verify(sha256s)),
      nodeId,
      engine,
      anchors: (configKey) => (CONFIG_KEYS.includes(configKey) ? ANCHORS : []),
      strengthOf(configKey) {
        const plan = createWriteSet(store).get(configs, configKey)?.plan;
        return plan === undefined ? [] : ratedChampions(store, configKey, budgetOf(plan.evaluation));
      },
      nodes,
      allowPendingGate,
    },
    chores: [
      {
        name: "artifacts",
        everyMs: SWEEP_EVERY_MS,
        async run(signal) {
          const { files: gone, bytes, fromQuarantine, forgotten } = await sweeper.sweep({ signal });
          return gone.length + fromQuarantine + forgotten === 0
            ? undefined
            : { files: gone.length, bytes, from_quarantine: fromQuarantine, forgotten };
        },
      },
      {
        name: "artifact scrub",
        everyMs: scrub?.everyMs ?? SCRUB_EVERY_MS,
        async run(signal) {
          const pace = scrub === undefined ? {} : { everyMs: scrub.againMs, most: scrub.most };
          const { checked, damaged } = await desk.scrub({ signal, ...pace });
          const isNews = scrub === undefined ? checked > 0 : damaged.length > 0;
          return isNews ? { checked, damaged: damaged.length } : undefined;
        },
      },
    ],
    async close() {
      desk.close();
      await engine.close();
    },
  };
}

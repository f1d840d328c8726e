import { type Clock, defined, type Random } from "../kernel/index.ts";
import type { EventRouter, Store } from "../router/index.ts";
import { type ClaimDesk, createClaimDesk } from "./claim-desk.ts";
import { type Curves, createCurves } from "./curves.ts";
import { kindsWith, type WorkKinds } from "./job/kinds.ts";
import { createLiveBoards, type LiveBoards } from "./live-boards.ts";
import { admissionLimitDefaults, storedNodePolicy } from "./node-policy.ts";
import type { JudgeFile } from "./queue/open-queue.ts";
import type { WorkSettings } from "./settings.ts";
import { WorkQueue } from "./work-queue.ts";

export interface WorkSurroundings {
  readonly router: EventRouter;
  readonly store: Store;
  readonly clock: Clock;
  /** Milliseconds in which this process listened. */
  readonly listened: () => number;
  readonly random: Random;
  readonly settings: WorkSettings;
  /** The built-in ones unless said. */
  readonly kinds?: WorkKinds;
  /** Why a node gets no work; undefined if it may. */
  readonly barred: (nodeId: string) => string | undefined;
  /** How few jobs a node may hold for now, and why; as many as it has room for unless said. */
  readonly limited?: (nodeId: string) => { readonly reason: string; readonly leaves: number } | undefined;
  /** Kinds of work that the operators of a node never want there; none unless said. */
  readonly excludedKinds?: (nodeId: string) => readonly string[];
  /** All names under which the workers of a node's token came; undefined for a node with a key. */
  readonly withSameToken?: (nodeId: string) => readonly string[] | undefined;
  /** Whether a file is in the store, whole: a result counts only with its files. */
  readonly isStored?: (sha256: string) => Promise<boolean>;
  /** What is wrong with a file that a job brought. */
  readonly judgeFile?: JudgeFile;
}

/** The queue of a process, and the desk where claims stand in line. */
export interface WorkServices {
  readonly queue: WorkQueue;
  readonly desk: ClaimDesk;
  /** What runs said of themselves step by step. */
  readonly curves: Curves;
  /** Of games that are played now. */
  readonly boards: LiveBoards;
  readonly settings: WorkSettings;
}

export function createWorkServices(around: WorkSurroundings): WorkServices {
  const {
    router,
    store,
    clock,
    listened,
    random,
    settings,
    kinds = kindsWith([]),
    barred,
    isStored,
    judgeFile,
    withSameToken,
    limited,
  } = around;
  const { maxHeldByNode: maxPerNode, maxHeldByToken: maxPerToken } = settings;
  const stored = storedNodePolicy(
    store,
    { ...admissionLimitDefaults, maxPerNode, maxPerToken },
    withSameToken,
    (nodeId) => {
      const limit = limited?.(nodeId);
      return limit && { ...limit, until: null };
    },
    around.excludedKinds,
  );
  const queue = new WorkQueue({
    router,
    store,
    clock,
    listened,
    random,
    kinds,
    nodePolicy(nodeId, now, given) {
      const reason = barred(nodeId);
      return reason === undefined ? stored(nodeId, now, given) : { accepts: false, reason };
    },
    lease: {
      silentMs: settings.leaseSilenceMs,
      progressFloorMs: settings.progressFloorMs,
      progressFactor: settings.progressFactor,
      firstProgressMs: settings.firstProgressMs,
    },
    ...defined({ isStored, judgeFile }),
  });
  const curves = createCurves(store, (workId) => queue.show(workId));
  return { queue, desk: createClaimDesk(queue, clock), curves, boards: createLiveBoards(clock), settings };
}

import type { Clock, Random } from "../../kernel/index.ts";
import type { EventRouter, Store } from "../../router/index.ts";
import { Durations, progressLimit } from "../job/durations.ts";
import type { WorkKinds } from "../job/kinds.ts";
import type { AgeingPolicy } from "../job/urgency.ts";
import { type WorkLimits, workLimitDefaults } from "../limits.ts";
import { type LeasePolicy, leasePolicyDefaults } from "../settings.ts";
import { type SharePolicy, sharePolicyDefaults } from "./fair-share.ts";
import { createKnownWorkers } from "./known-workers.ts";
import { createLanes } from "./lanes.ts";
import { HELD_COLUMNS, type HeldLease, LeaseTimes } from "./lease-times.ts";
import { createNodeOutcomes } from "./node-outcomes.ts";
import type { NodePolicy, QueueState } from "./queue-state.ts";

/** Why a file cannot be what its job was to make, in words that follow its name; undefined where it may be. */
export type JudgeFile = (
  job: { readonly work_type: string; readonly config_key: string | null },
  file: { readonly name: string; readonly sha256: string },
) => Promise<string | undefined>;

export interface WorkQueueOptions<K extends string> {
  readonly router: Pick<EventRouter, "transact">;
  readonly store: Store;
  readonly clock: Clock;
  /** Milliseconds in which this process listened: leases are judged by them. The clock's own unless said. */
  readonly listened?: () => number;
  readonly random: Random;
  /** The kinds that somebody here can do; others are refused. */
  readonly kinds: WorkKinds<K>;
  /** Whether a file is in the store, whole; a result counts only with its files. Not asked unless given. */
  readonly isStored?: (sha256: string) => Promise<boolean>;
  /** What is wrong with a file that a job brought, which is in the store. Not asked unless given. */
  readonly judgeFile?: JudgeFile;
  readonly limits?: Partial<WorkLimits>;
  readonly lease?: Partial<LeasePolicy>;
  readonly ageing?: AgeingPolicy;
  readonly shares?: Partial<SharePolicy>;
  /** Which nodes get work at all; every one unless said. */
  readonly nodePolicy?: NodePolicy;
}

/** What the queue decides with, from what it is given and from what is on disk. */
export function openQueueState<K extends string>(options: WorkQueueOptions<K>): QueueState {
  const { store, clock } = options;
  const limits = { ...workLimitDefaults, ...options.limits };
  const lease = { ...leasePolicyDefaults, ...options.lease };
  const lanes = createLanes(store, limits.maxLanes);
  const durations = new Durations(store);
  const limitOf = (lane: number) => progressLimit(durations, lanes.get(lane), lease);
  const [numbers] = store.read<{ newest: number | null; unfinished: number | null }>(
    `SELECT (SELECT max(seq) FROM work_jobs) AS newest, (SELECT sum(jobs) FROM work_counts WHERE state IN
       ('blocked', 'delayed', 'pending', 'claimed', 'running')) AS unfinished`,
  );
  const listened = options.listened ?? (() => clock.monotonic());
  const times = new LeaseTimes(listened, lease.silentMs, limitOf);
  adoptHeld(store, times);
  return {
    kinds: options.kinds,
    limits,
    lease,
    ageing: options.ageing ?? { stepMs: 4 * 3_600_000 },
    shares: { ...sharePolicyDefaults, ...options.shares },
    nodePolicy: options.nodePolicy ?? (() => ({ accepts: true })),
    lanes,
    times,
    durations,
    workers: createKnownWorkers(clock, listened),
    outcomes: createNodeOutcomes(clock),
    random: options.random,
    given: new Map(),
    deficits: new Map(),
    nextSeq: (numbers?.newest ?? 0) + 1,
    unfinished: numbers?.unfinished ?? 0,
  };
}

/** Every held job has a clock here, whoever gave its lease. */
export function adoptHeld(store: Pick<Store, "read">, times: LeaseTimes): void {
  const held = store.read<HeldLease>(
    `SELECT ${HELD_COLUMNS} FROM work_jobs INDEXED BY work_held
     WHERE state IN ('claimed', 'running')`,
  );
  for (const lease of held) times.adopt(lease);
}

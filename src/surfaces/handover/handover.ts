/** What happened while nobody looked: the facts of a hand-over, from what the main process has on record. */
import type { Cause } from "../../daemons/cause.ts";
import type { Alert } from "../alerts/wire.ts";
import type { Answer } from "../http/wire.ts";
import type { listWrites } from "../tokens/wire.ts";

type Write = Answer<typeof listWrites>["writes"][number];

/** A config, as far as it matters to whoever comes back. */
export interface ConfigThen {
  readonly config_key: string;
  readonly state: string;
  readonly stage: string;
  readonly iteration: number;
  readonly champions: readonly { readonly generation: number; readonly since: number; readonly by: string }[];
}

export interface Records {
  readonly since: number;
  readonly configs: readonly ConfigThen[];
  /** How often each event came. */
  readonly events: Readonly<Record<string, number>>;
  readonly alerts: readonly Alert[];
  readonly writes: readonly Write[];
  readonly causes: readonly Cause[];
}

/** What the system did without being asked, by the event that tells of it. */
const AUTOMATIC: readonly (readonly [event: string, one: string, many: string])[] = [
  ["MODEL_PROMOTED", "model was promoted", "models were promoted"],
  ["PROMOTION_REJECTED", "candidate was rejected", "candidates were rejected"],
  ["PROMOTION_ROLLED_BACK", "promotion was rolled back", "promotions were rolled back"],
  ["TRAINING_COMPLETED", "training run was completed", "training runs were completed"],
  ["TRAINING_FAILED", "training run failed", "training runs failed"],
  ["WORK_RETRY", "job was tried again", "jobs were tried again"],
  ["WORK_FAILED", "job failed for good", "jobs failed for good"],
  ["TASK_ORPHANED", "job was taken from a node that went silent", "jobs were taken from nodes that went silent"],
  ["JOB_PREEMPTED", "job had to make room for another", "jobs had to make room for others"],
  ["HOST_OFFLINE", "node went offline", "times a node went offline"],
  ["HOST_ONLINE", "node came online", "times a node came online"],
  ["REPAIR_COMPLETED", "missing copy was made again", "missing copies were made again"],
  ["MODEL_CORRUPTED", "damaged model was found", "damaged models were found"],
  ["DLQ_EVENTS_REPLAYED", "batch of dead letters was sent back", "batches of dead letters were sent back"],
  ["BACKPRESSURE_ACTIVATED", "time producers were slowed down", "times producers were slowed down"],
  ["DISK_CLEANUP_TRIGGERED", "time the disk was cleaned up", "times the disk was cleaned up"],
  ["DAEMON_PERMANENTLY_FAILED", "daemon was given up", "daemons were given up"],
];

const MACHINES = new Set(["worker", "node"]);
/** Whoever logs in has changed nothing yet. */
const LOG_IN = "/v1/session";

export interface Handover {
  readonly since: number;
  readonly configs: readonly (ConfigThen & { readonly promoted: number })[];
  readonly done: readonly { readonly event: string; readonly count: number; readonly what: string }[];
  readonly alerts: { readonly opened: number; readonly open: readonly Alert[] };
  /** What people changed, newest first; dry runs and refusals are none. */
  readonly people: readonly Write[];
  readonly needs: readonly Cause[];
}

/** Everything since then, in the order in which somebody wants to know it. */
export function handoverOf({ since, configs, events, alerts, writes, causes }: Records): Handover {
  return {
    since,
    configs: configs.map((config) => ({
      ...config,
      promoted: config.champions.filter((champion) => champion.since >= since && champion.generation > 0).length,
    })),
    done: AUTOMATIC.flatMap(([event, one, many]) => {
      const count = events[event] ?? 0;
      return count === 0 ? [] : [{ event, count, what: `${count} ${count === 1 ? one : many}` }];
    }),
    alerts: {
      opened: alerts.filter(({ opened_at }) => opened_at >= since).length,
      open: alerts.filter(({ status }) => status === "open"),
    },
    people: writes.filter(
      ({ at, dry_run, status, scope, path }) =>
        at >= since && !dry_run && status < 400 && !MACHINES.has(scope) && !path.startsWith(LOG_IN),
    ),
    needs: causes.filter(({ level }) => level !== "note"),
  };
}

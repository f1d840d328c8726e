import { cluster } from "./catalog/cluster.ts";
import { curriculum } from "./catalog/curriculum.ts";
import { daemonLifecycle } from "./catalog/daemon-lifecycle.ts";
import { dataCollection } from "./catalog/data-collection.ts";
import { dataIntegrity } from "./catalog/data-integrity.ts";
import { dataSync } from "./catalog/data-sync.ts";
import { errors } from "./catalog/errors.ts";
import { evaluation } from "./catalog/evaluation.ts";
import { exploration } from "./catalog/exploration.ts";
import { healthRecovery } from "./catalog/health-recovery.ts";
import { leaderElection } from "./catalog/leader-election.ts";
import { locks } from "./catalog/locks.ts";
import { models } from "./catalog/models.ts";
import { nodes } from "./catalog/nodes.ts";
import { npzExport } from "./catalog/npz-export.ts";
import { optimization } from "./catalog/optimization.ts";
import { progress } from "./catalog/progress.ts";
import { promotion } from "./catalog/promotion.ts";
import { quality } from "./catalog/quality.ts";
import { regression } from "./catalog/regression.ts";
import { resources } from "./catalog/resources.ts";
import { selfplay } from "./catalog/selfplay.ts";
import { taskLifecycle } from "./catalog/task-lifecycle.ts";
import { training } from "./catalog/training.ts";
import { workQueue } from "./catalog/work-queue.ts";
import { createNames, type EventNames } from "./names.ts";
import type { EventRow, PayloadInput, PayloadOutput, Rows } from "./row.ts";

/** The language of one system: rows, and the one way to resolve a name. */
export interface Catalog<R extends Rows = Rows> {
  readonly rows: R;
  readonly names: EventNames;
  row(name: string): EventRow | undefined;
}

export function createCatalog<R extends Rows>(rows: R): Catalog<R> {
  return { rows, names: createNames(rows), row: (name) => (Object.hasOwn(rows, name) ? rows[name] : undefined) };
}

/** The built-in events, one file for each category, in the order of the pipeline. */
export const builtinRows = {
  ...selfplay,
  ...exploration,
  ...dataCollection,
  ...dataSync,
  ...dataIntegrity,
  ...quality,
  ...npzExport,
  ...training,
  ...evaluation,
  ...promotion,
  ...regression,
  ...models,
  ...curriculum,
  ...optimization,
  ...progress,
  ...workQueue,
  ...taskLifecycle,
  ...resources,
  ...nodes,
  ...healthRecovery,
  ...cluster,
  ...leaderElection,
  ...locks,
  ...daemonLifecycle,
  ...errors,
};
export type BuiltinRows = typeof builtinRows;

export type EventName<R = BuiltinRows> = keyof R & string;
export type PayloadOf<N extends EventName<R>, R = BuiltinRows> = PayloadOutput<R[N]>;
export type PayloadFor<N extends EventName<R>, R = BuiltinRows> = PayloadInput<R[N]>;

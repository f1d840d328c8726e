import type { Store } from "../../router/index.ts";
import type { WorkQueue } from "../../work/index.ts";
import type { ModelArtifacts } from "../artifacts.port.ts";
import { type EloServicePorts, type EloServiceSettings, eloService } from "../evaluation/elo-service.daemon.ts";
import {
  type EvaluationDaemonPorts,
  type EvaluationSettings,
  evaluationDaemon,
} from "../evaluation/evaluation.daemon.ts";
import type { ReadArtifact } from "../evaluation/match-results.ts";
import { modelPerformanceWatchdog, type WatchdogSettings } from "../evaluation/model-performance-watchdog.daemon.ts";
import { type TrainingCoordinatorSettings, trainingCoordinator } from "../training/training-coordinator.daemon.ts";
import { type TrainingTriggerSettings, trainingTrigger } from "../training/training-trigger.daemon.ts";
import { autoPromotion } from "./auto-promotion.daemon.ts";
import { modelCoordinator } from "./model-coordinator.daemon.ts";
import { modelRollback } from "./model-rollback.daemon.ts";

export interface LearningUnitsPorts {
  readonly queue: WorkQueue;
  readonly store: Store;
  readonly readArtifact: ReadArtifact;
  readonly engine: EloServicePorts["engine"];
  /** Baselines that a config's workload can play, weakest first. */
  readonly anchors: EloServicePorts["anchors"];
  readonly artifacts?: ModelArtifacts;
  readonly holders?: NonNullable<EvaluationDaemonPorts["holders"]>;
  readonly freeSlots?: NonNullable<EvaluationDaemonPorts["freeSlots"]>;
  readonly allowPendingGate?: boolean;
  /** Pause of all their loops; each has its own unless said. */
  readonly everyMs?: number;
  readonly training?: Partial<TrainingCoordinatorSettings>;
  readonly trigger?: Partial<TrainingTriggerSettings>;
  readonly evaluation?: Partial<EvaluationSettings>;
  readonly elo?: Partial<EloServiceSettings>;
  readonly watchdog?: Partial<WatchdogSettings>;
}

/** The units of training, evaluation and models, for `app` to put into its registry. */
export const learningUnits = (ports: LearningUnitsPorts) => {
  const {
    queue,
    store,
    readArtifact,
    engine,
    anchors,
    artifacts,
    holders,
    freeSlots,
    allowPendingGate = false,
  } = ports;
  const settings = ports.everyMs === undefined ? {} : { everyMs: ports.everyMs };
  const kept = artifacts === undefined ? {} : { artifacts };
  return [
    modelCoordinator({ store, settings, ...kept }),
    trainingCoordinator({ queue, store, settings: { ...settings, ...ports.training }, ...kept }),
    trainingTrigger({ allowPendingGate, settings: { ...settings, ...ports.trigger } }),
    evaluationDaemon({
      queue,
      store,
      readArtifact,
      settings: { ...settings, ...ports.evaluation },
      ...(holders === undefined ? {} : { holders }),
      ...(freeSlots === undefined ? {} : { freeSlots }),
    }),
    eloService({ queue, store, readArtifact, engine, anchors, settings: { ...settings, ...ports.elo } }),
    modelPerformanceWatchdog({ queue, store, readArtifact, settings: { ...settings, ...ports.watchdog } }),
    autoPromotion({ store, settings }),
    modelRollback({ store, settings }),
  ] as const;
};

import type { Store } from "../../router/index.ts";
import type { WorkQueue } from "../../work/index.ts";
import { type EloServicePorts, eloService } from "../evaluation/elo-service.daemon.ts";
import { type EvaluationDaemonPorts, evaluationDaemon } from "../evaluation/evaluation.daemon.ts";
import type { ReadArtifact } from "../evaluation/match-results.ts";
import { modelPerformanceWatchdog } from "../evaluation/model-performance-watchdog.daemon.ts";
import { trainingCoordinator } from "../training/training-coordinator.daemon.ts";
import { trainingTrigger } from "../training/training-trigger.daemon.ts";
import type { ModelArtifacts } from "./artifacts.port.ts";
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
  readonly allowPendingGate?: boolean;
  /** Pause of all their loops; each has its own unless said. */
  readonly everyMs?: number;
}

/** The units of training, evaluation and models, for `app` to put into its registry. */
export const learningUnits = (ports: LearningUnitsPorts) => {
  const { queue, store, readArtifact, engine, anchors, artifacts, holders, allowPendingGate = false } = ports;
  const settings = ports.everyMs === undefined ? {} : { everyMs: ports.everyMs };
  const kept = artifacts === undefined ? {} : { artifacts };
  return [
    modelCoordinator({ store, settings, ...kept }),
    trainingCoordinator({ queue, store, settings, ...kept }),
    trainingTrigger({ allowPendingGate, settings }),
    evaluationDaemon({ queue, store, readArtifact, settings, ...(holders === undefined ? {} : { holders }) }),
    eloService({ queue, store, readArtifact, engine, anchors, settings }),
    modelPerformanceWatchdog({ queue, store, readArtifact, settings }),
    autoPromotion({ store, settings }),
    modelRollback({ store, settings }),
  ] as const;
};

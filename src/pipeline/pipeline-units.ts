import type { Store } from "../router/index.ts";
import type { ArtifactCatalog } from "../sync/index.ts";
import type { WorkQueue } from "../work/index.ts";
import { autoExport } from "./data/auto-export.daemon.ts";
import { parityValidator } from "./data/parity-validator.daemon.ts";
import { qualityMonitor } from "./data/quality-monitor.daemon.ts";
import type { RebuildPorts } from "./data/rebuild-steps.ts";
import type { EloServicePorts } from "./evaluation/elo-service.daemon.ts";
import type { ReadArtifact } from "./evaluation/match-results.ts";
import { modelCommandsPart } from "./models/commands.ts";
import { learningUnits } from "./models/learning-units.ts";
import { type HandOver, pipelineOrchestrator } from "./pipeline-orchestrator.daemon.ts";
import { progressWatchdog } from "./progress-watchdog.daemon.ts";
import { queuePopulator } from "./selfplay/queue-populator.daemon.ts";
import { selfplayOrchestrator } from "./selfplay/selfplay-orchestrator.daemon.ts";
import { selfplayScheduler } from "./selfplay/selfplay-scheduler.daemon.ts";
import type { StrengthOf } from "./selfplay/strength.port.ts";

export interface PipelinePorts {
  readonly queue: WorkQueue;
  /** Jobs that workers would take at once, now. */
  readonly freeSlots: () => number;
  readonly store: Store;
  readonly catalog: ArtifactCatalog;
  readonly readArtifact: ReadArtifact;
  readonly handOver: HandOver;
  /** Where ratings are computed. */
  readonly engine: EloServicePorts["engine"];
  /** Baselines that a config's workload can play, weakest first. */
  readonly anchors: EloServicePorts["anchors"];
  readonly strengthOf: StrengthOf;
  /** Has files looked at again. */
  readonly verify: RebuildPorts["verify"];
  readonly nodeId: string;
  /** Nodes that could work now. */
  readonly nodes: () => readonly string[];
  /** RINGRIFT_ALLOW_PENDING_GATE. */
  readonly allowPendingGate: boolean;
}

/** The units of the closed loop, for `app` to put into its registry. */
export const pipelineUnits = (ports: PipelinePorts) => {
  const { queue, store, catalog, readArtifact, handOver, engine, anchors, strengthOf } = ports;
  const { verify, nodes, nodeId, freeSlots, allowPendingGate } = ports;
  return [
    ...learningUnits({ queue, store, readArtifact, engine, anchors, artifacts: catalog, freeSlots, allowPendingGate }),
    queuePopulator({ queue, strengthOf, nodes }),
    parityValidator({ queue, nodes }),
    selfplayOrchestrator({ queue, catalog }),
    selfplayScheduler({}),
    pipelineOrchestrator({ handOver }),
    qualityMonitor({ catalog, allowPendingGate }),
    autoExport({ queue, catalog, rebuilding: { queue, store, catalog, verify, nodes, nodeId } }),
    progressWatchdog({ catalog }),
  ] as const;
};

export const pipelineParts = [modelCommandsPart] as const;

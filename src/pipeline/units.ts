import { autoExport, dataConsolidation, parityValidator, qualityMonitor } from "./data/index.ts";
import { eloService, evaluationDaemon, modelPerformanceWatchdog } from "./evaluation/index.ts";
import { modelCoordinator } from "./models/index.ts";
import { autoPromotion, modelCommandsPart, modelRollback } from "./promotion/index.ts";
import { queuePopulator, selfplayOrchestrator, selfplayScheduler } from "./selfplay/index.ts";
import type { PipelineServices } from "./services.ts";
import {
  curriculumIntegration,
  derivedTraining,
  explorationScheduler,
  feedbackLoop,
  gauntletFeedback,
  metricsOrchestrator,
  optimizationCoordinator,
  perOrchestrator,
  populationSearch,
} from "./steering/index.ts";
import { trainingCoordinator, trainingTrigger } from "./training/index.ts";
import { pipelineOrchestrator } from "./units/pipeline-orchestrator/pipeline-orchestrator.unit.ts";
import { progressWatchdog } from "./units/progress-watchdog/progress-watchdog.unit.ts";

/** The units of the closed loop, for `app` to put into its registry. */
export const pipelineUnits = (services: PipelineServices) =>
  [
    modelCoordinator(services),
    trainingCoordinator(services),
    trainingTrigger(services),
    evaluationDaemon(services),
    eloService(services),
    modelPerformanceWatchdog(services),
    autoPromotion(services),
    modelRollback(services),
    queuePopulator(services),
    parityValidator(services),
    selfplayOrchestrator(services),
    selfplayScheduler(services),
    pipelineOrchestrator(services),
    qualityMonitor(services),
    autoExport(services),
    dataConsolidation(services),
    progressWatchdog(services),
    curriculumIntegration(services),
    metricsOrchestrator(services),
    gauntletFeedback(services),
    feedbackLoop(services),
    explorationScheduler(services),
    optimizationCoordinator(services),
    populationSearch(services),
    derivedTraining(services),
    perOrchestrator(services),
  ] as const;

export const pipelineParts = [modelCommandsPart] as const;

/**
 * pipeline/selfplay: who plays how much, and what came of it.
 *
 * `selfplay_scheduler` divides self-play among configs by a pure function that gives its reasons; `queue_populator` puts the
 * games of an iteration into the queue, cut always the same way, as fast as pressure and the config's share allow;
 * `selfplay_orchestrator` follows the jobs, enters their games into the books, and says that a batch is done only when all
 * its games are proven. A part that was rejected is played again under the same seeds by somebody else.
 */
export { byPart, cutIntoJobs } from "./cut-into-jobs.ts";
export { excluding } from "./orders.ts";
export { plannedJobs } from "./planned-jobs.ts";
export { entriesOf, filesOf } from "./segments.ts";
export {
  allocations,
  goals,
  QUALITY_BANDS,
  type Quality,
  type QualityBand,
  qualities,
  type Rejection,
  rejections,
  rejectionsOf,
  type SelfplayOrder,
  type Suspect,
  type Suspects,
  selfplayOrders,
  suspects,
  suspectsIn,
} from "./tables.ts";
export { queuePopulator } from "./units/queue-populator/queue-populator.unit.ts";
export { selfplayOrchestrator } from "./units/selfplay-orchestrator/selfplay-orchestrator.unit.ts";
export { qualityFactor } from "./units/selfplay-scheduler/decide.ts";
export { selfplayScheduler } from "./units/selfplay-scheduler/selfplay-scheduler.unit.ts";

/**
 * pipeline/selfplay: who plays how much, and what came of it.
 *
 * `selfplay_scheduler` divides self-play among configs by a pure function that gives its reasons; `queue_populator` puts the
 * games of an iteration into the queue, cut always the same way, as fast as pressure and the config's share allow;
 * `selfplay_orchestrator` follows the jobs, enters their games into the books, and says that a batch is done only when all
 * its games are proven. A part that was rejected is played again under the same seeds by somebody else.
 */
export { type AllocationPolicy, allocationDefaults, type Reason } from "./allocation.ts";
export { type AllocationRow, allocations } from "./allocations.ts";
export { type Goal, goals } from "./goals.ts";
export {
  type QueuePopulatorPorts,
  type QueuePopulatorSettings,
  queuePopulator,
  queuePopulatorDefaults,
} from "./queue-populator.daemon.ts";
export { filesOf } from "./segments.ts";
export { type SelfplayOrchestratorPorts, selfplayOrchestrator } from "./selfplay-orchestrator.daemon.ts";
export { type Rejection, type Rejections, rejections, type SelfplayOrder, selfplayOrders } from "./selfplay-order.ts";
export {
  type SelfplaySchedulerPorts,
  type SelfplaySchedulerSettings,
  selfplayScheduler,
  selfplaySchedulerDefaults,
} from "./selfplay-scheduler.daemon.ts";
export type { RatedChampion, StrengthOf } from "./strength.port.ts";

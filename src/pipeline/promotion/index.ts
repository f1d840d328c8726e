/**
 * pipeline/promotion: who becomes champion, and the way back.
 *
 * It guarantees that
 * - nothing is promoted without a verdict and the games behind it, or a person's word;
 * - a champion that is proven weaker or broken makes room for the last good one, once; what was withdrawn does not come back
 *   by itself.
 */
export {
  type ByHandPorts,
  championOf,
  decideByHand,
  modelCommandsPart,
  promoteByHand,
  requireConfig,
  rollbackByHand,
} from "./by-hand.ts";
export { refusalWords } from "./roll-back.ts";
export { refusedRollbacks } from "./tables.ts";
export { autoPromotion } from "./units/auto-promotion/auto-promotion.unit.ts";
export { modelRollback } from "./units/model-rollback/model-rollback.unit.ts";

/**
 * pipeline/data: games become data that may be trained on, or are rejected with a reason.
 *
 * `parity_validator` has every segment checked (rules, labels, a share of games played again), preferably elsewhere than
 * where it was made; `quality_monitor_daemon` judges segments and producers, scores the batch, and accepts or rejects in the
 * same commit as the books; `auto_export_daemon` makes the training file of an iteration and chooses the window of files
 * that training sees; `data_consolidation` makes one set of the games that came by no job of ours. Nothing here is decided by time, by names of nodes or by the order in which things arrive.
 */
export { probationOf } from "./suspects.ts";
export { consolidations, parities } from "./tables.ts";
export { autoExport } from "./units/auto-export/auto-export.unit.ts";
export { dataConsolidation } from "./units/data-consolidation/data-consolidation.unit.ts";
export { parityValidator } from "./units/parity-validator/parity-validator.unit.ts";
export { qualityMonitor } from "./units/quality-monitor/quality-monitor.unit.ts";

/**
 * pipeline/data: games become data that may be trained on, or are rejected with a reason.
 *
 * `parity_validator` has every segment checked (rules, labels, a share of games played again), preferably elsewhere than
 * where it was made; `quality_monitor_daemon` judges segments and producers, scores the batch, and accepts or rejects in the
 * same commit as the books; `auto_export_daemon` makes the training file of an iteration and chooses the window of files
 * that training sees. Nothing here is decided by time, by names of nodes or by the order in which things arrive.
 */
export { type AutoExportPorts, autoExport } from "./auto-export.daemon.ts";
export type { Figures } from "./figures.ts";
export type { RejectReason } from "./judgement.ts";
export { type Check, type ParityRow, parities } from "./parity-row.ts";
export { type ParityValidatorPorts, parityValidator } from "./parity-validator.daemon.ts";
export { type QualityMonitorPorts, qualityMonitor } from "./quality-monitor.daemon.ts";
export { QUALITY_BANDS, type Quality, type QualityBand, qualities } from "./quality-row.ts";
export { QUALITY_FLOOR } from "./quality-score.ts";
export { type Suspect, type Suspects, suspects } from "./suspects.ts";
export { waitsOfData } from "./waits.ts";

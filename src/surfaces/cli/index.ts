/**
 * The command line, as far as it knows no other room: what each command says, how it reads its words and draws its
 * answers. Every command goes through the local API of the running process; for looking alone a data folder is enough,
 * through a port that `app` connects. Commands print to the given `CliIo` and never touch the process themselves.
 *
 * It guarantees that standard output carries the answer and nothing else, that `--json` prints what a program can read,
 * that exit codes keep their meaning, and that text from outside cannot speak to the terminal.
 */
export { registerAlerts } from "./alerts.command.ts";
export { registerAudit } from "./audit.command.ts";
export { type ConfigReport, registerConfig } from "./config.command.ts";
export { registerDaemons } from "./daemons.command.ts";
export type { DaemonBook } from "./daemons-view.ts";
export { diagnose, type Trouble } from "./diagnosis.ts";
export { registerDlq } from "./dlq.command.ts";
export { registerElo } from "./elo.command.ts";
export { registerEvents } from "./events.command.ts";
export { registerGames } from "./games.command.ts";
export { registerHealth } from "./health.command.ts";
export { type CliIo, EXIT, reportFailure } from "./io.ts";
export type { EventNote, JournalView } from "./journal-view.port.ts";
export { createJournals, type Journals } from "./journals.ts";
export { registerLedger } from "./ledger.command.ts";
export { logLine } from "./log-line.ts";
export { registerLogs } from "./logs.command.ts";
export { changesBetween, createLoopTeller, type LoopChange, type LoopTeller, loopStatusLine } from "./loop-changes.ts";
export { type LoopFigures, type LoopScreen, loopLines } from "./loop-view.ts";
export { createMainProcesses, type MainProcess, type MainProcesses } from "./main-process.ts";
export { registerModels } from "./models.command.ts";
export type { NodeOutboxes, OpenNodeOutbox } from "./node-outbox.port.ts";
export { registerNodes } from "./nodes.command.ts";
export { createPaint, type Paint, wantsColor } from "./paint.ts";
export { registerPipeline } from "./pipeline.command.ts";
export { type ChampionsPort, registerPlay } from "./play.command.ts";
export { registerQueue } from "./queue.command.ts";
export { negative, type Shell, unavailable } from "./shell.ts";
export { registerStats } from "./stats.command.ts";
export { registerStatus } from "./status.command.ts";
export type { StatusReport } from "./status-report.ts";
export { bytes } from "./status-view.ts";
export { registerSteering } from "./steer.command.ts";
export { type Cell, tableLines } from "./table.ts";
export { ago, duration, number, payloadLine, plural, printable, printableLines, shorten, wrapText } from "./text.ts";
export { registerToken } from "./token.command.ts";
export { registerTrace } from "./trace.command.ts";
export { decimal, lengthOfTime, oneOf, wholeNumber } from "./values.ts";
export { registerWhy } from "./why.command.ts";
export { registerWorkload } from "./workload.command.ts";

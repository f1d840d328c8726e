/**
 * The command line, as far as it knows no other room: what each command says, how it reads its words and draws its
 * answers. Every command goes through the local API of the running process; for looking alone a data folder is enough,
 * through a port that `app` connects. Commands print to the given `CliIo` and never touch the process themselves.
 *
 * It guarantees that standard output carries the answer and nothing else, that `--json` prints what a program can read,
 * that exit codes keep their meaning, and that text from outside cannot speak to the terminal.
 */
export { registerAudit } from "./audit.command.ts";
export { type ConfigReport, registerConfig } from "./config.command.ts";
export { registerDlq } from "./dlq.command.ts";
export { registerEvents } from "./events.command.ts";
export { registerGames } from "./games.command.ts";
export { type CliIo, EXIT, reportFailure } from "./io.ts";
export type { EventNote, JournalView } from "./journal-view.port.ts";
export { createJournals, type Journals } from "./journals.ts";
export { createPaint, type Paint, wantsColor } from "./paint.ts";
export { registerPlay } from "./play.command.ts";
export { negative, type Shell } from "./shell.ts";
export { registerStats } from "./stats.command.ts";
export { type Cell, tableLines } from "./table.ts";
export { number, plural, printable, shorten } from "./text.ts";
export { decimal, lengthOfTime, wholeNumber } from "./values.ts";
export { registerWorkload } from "./workload.command.ts";

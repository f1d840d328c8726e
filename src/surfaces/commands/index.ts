/**
 * The command line, as far as it knows no other room: what each command says, how it reads its words and draws its
 * answers. Every command goes through the local API of the running process; for looking alone a data folder is enough,
 * through a port that `app` connects. Commands print to the given `CliIo` and never touch the process themselves.
 *
 * It guarantees that standard output carries the answer and nothing else, that `--json` prints what a program can read,
 * that exit codes keep their meaning, and that text from outside cannot speak to the terminal.
 */

export { adviceWords } from "../cli/advice.ts";
export { askEither } from "../cli/answers.ts";
export { type CliIo, EXIT, reportFailure } from "../cli/io.ts";
export type { EventNote, JournalView } from "../cli/journal-view.port.ts";
export { type Answering, createMainProcesses, type MainProcess, type MainProcesses } from "../cli/main-process.ts";
export { createPaint, type Paint, wantsColor } from "../cli/paint.ts";
export { answer, negative, type Shell } from "../cli/shell.ts";
export { right, tableLines } from "../cli/table.ts";
export { ago, duration, number, plural, printable, printableLines, shorten, wrapText } from "../cli/text.ts";
export { decimal, lengthOfTime, oneOf, wholeNumber } from "../cli/values.ts";
export type { DaemonBook } from "../daemons/view.ts";
export type { NodeOutboxes } from "../events/node-outbox.port.ts";
export type { ConfigReport } from "../http/settings-report.ts";
export { createJournals } from "../journal/journals.ts";
export { logLevelOf, logLine } from "../logs/log-line.ts";
export { shortModel } from "../pipeline/words.ts";
export type { NodeStatus } from "../status/command.ts";
export { bytes } from "../status/view.ts";
export { trendWords } from "../steering/words.ts";

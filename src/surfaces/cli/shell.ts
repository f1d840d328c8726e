import { CommanderError } from "commander";
import type { Clock } from "../../kernel/index.ts";
import { type CliIo, EXIT } from "./io.ts";
import type { Journals } from "./journal-view.port.ts";
import type { MainProcesses } from "./main-process.ts";
import type { Paint } from "./paint.ts";

/** What a command works with. Options that hold for all commands are known once the command line is read. */
export interface Shell {
  readonly io: CliIo;
  readonly clock: Clock;
  readonly journals: Journals;
  readonly main: MainProcesses;
  /** Who runs the command; kept on record with what is changed. */
  readonly actor: string;
  readonly json: boolean;
  readonly paint: Paint;
  /** Columns of the terminal; no limit where lines go into a pipe. */
  readonly width: number;
  /** Lines for a person. */
  say(...lines: readonly string[]): void;
  /** One line of JSON for a program. */
  print(value: unknown): void;
  /** A word beside the answer; standard output stays clean. */
  note(line: string): void;
}

/** An answer: the value for a program, or the lines that are drawn of it for a person. */
export const answer = (shell: Shell, value: unknown, draw: () => string | readonly string[]): void =>
  shell.json ? shell.print(value) : shell.say(...[draw()].flat());

/** Ends a command that ran well and whose answer is "no". */
export const negative = (): CommanderError => new CommanderError(EXIT.negative, "ringrift.negative", "");

/** Ends a command that has said what there is to say about a system that is not there. */
export const unavailable = (): CommanderError => new CommanderError(EXIT.unavailable, "ringrift.unavailable", "");

import { createRequire } from "node:module";
import type { pino } from "pino";

/** Loaded by those who log: a command that asks and draws does not. */
const loadPino = () => createRequire(import.meta.url)("pino") as typeof import("pino");

export type LogFields = Readonly<Record<string, unknown>>;

/** What the rooms log through: a message and fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Log;
  readonly level: string;
}

export const LOG_LEVELS = ["DEBUG", "INFO", "WARN", "ERROR", "SILENT"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const wrap = (inner: pino.Logger): Log => ({
  debug: (message, fields = {}) => inner.debug(fields, message),
  info: (message, fields = {}) => inner.info(fields, message),
  warn: (message, fields = {}) => inner.warn(fields, message),
  error: (message, fields = {}) => inner.error(fields, message),
  child: (fields) => wrap(inner.child(fields)),
  get level() {
    return inner.level;
  },
});

export interface LogPlaces {
  /** Standard error unless given: standard output belongs to commands. */
  readonly stream?: pino.DestinationStream;
  /** The same lines once more, as in a `LogFile`. */
  readonly file?: pino.DestinationStream;
}

/** JSON lines on standard error, and in a file beside it where one is given. */
export const createLog = (level: LogLevel, places: LogPlaces = {}): Log => {
  const { pino } = loadPino();
  const { stream = pino.destination(2), file } = places;
  const both: pino.DestinationStream = {
    write(line) {
      stream.write(line);
      file?.write(line);
    },
  };
  const options = { level: level.toLowerCase(), base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return wrap(pino(options, file === undefined ? stream : both));
};

export const silentLog = (): Log => {
  const log: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log, level: "silent" };
  return log;
};

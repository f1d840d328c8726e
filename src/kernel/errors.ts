/** Errors of operation: things that happen to sound code. Programmer errors use `assert` and crash instead. */

/** What an error means to whoever asked: the HTTP status, the exit code of a command, and whether asking again may help. */
export const errorKinds = {
  /** What was asked for does not exist. */
  not_found: { status: 404, exit: 3, retryable: false },
  /** What was given is wrong, and will be wrong again. */
  invalid: { status: 422, exit: 2, retryable: false },
  /** It does not go together with how things stand. */
  conflict: { status: 409, exit: 5, retryable: false },
  /** There is too much to do at the moment. */
  busy: { status: 503, exit: 4, retryable: true },
  /** It is not for this caller, or not in this way. */
  denied: { status: 403, exit: 5, retryable: false },
  /** Somebody who is needed is not there at the moment. */
  unavailable: { status: 503, exit: 4, retryable: true },
  /** Something here went wrong. */
  internal: { status: 500, exit: 5, retryable: false },
} as const;

export type ErrorKind = keyof typeof errorKinds;

export interface OperatingErrorOptions {
  readonly cause?: unknown;
  /** Whether the same call may succeed later without anybody changing anything, where that is not as the kind says. */
  readonly retryable?: boolean | undefined;
  /** The HTTP status, where the protocol has one of its own for this. */
  readonly status?: number;
  /** What the reader should do next, in one sentence. */
  readonly hint?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Whether the other side of a connection acts on the details; those of others stay here. */
  readonly showsDetails?: boolean;
}

const made =
  (kind: ErrorKind) =>
  (code: string, message: string, options?: OperatingErrorOptions): OperatingError =>
    new OperatingError(kind, code, message, options);

/** Carries its kind, a stable code, a cause, whether to retry, and what to do next. */
export class OperatingError extends Error {
  static readonly notFound = made("not_found");
  static readonly invalid = made("invalid");
  static readonly conflict = made("conflict");
  static readonly busy = made("busy");
  static readonly denied = made("denied");
  static readonly unavailable = made("unavailable");
  static readonly internal = made("internal");

  readonly kind: ErrorKind;
  readonly code: string;
  readonly retryable: boolean;
  readonly status: number;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  readonly showsDetails: boolean;

  constructor(kind: ErrorKind, code: string, message: string, options: OperatingErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "OperatingError";
    this.kind = kind;
    this.code = code;
    this.retryable = options.retryable ?? errorKinds[kind].retryable;
    this.status = options.status ?? errorKinds[kind].status;
    this.hint = options.hint;
    this.details = options.details ?? {};
    this.showsDetails = options.showsDetails ?? false;
  }

  /** What the process ends with when this ends it. Who may try again later is told so, whatever it was. */
  get exitCode(): number {
    return this.retryable ? errorKinds.unavailable.exit : errorKinds[this.kind].exit;
  }
}

export const isOperatingError = (value: unknown, code?: string): value is OperatingError =>
  value instanceof OperatingError && (code === undefined || value.code === code);

const ABOUT_THE_BODY: ReadonlySet<number> = new Set([400, 413, 422]);

/** What was sent is at fault, so that it will be refused again. Who sent it and when is no such thing. */
export const isBodyRefused = (thrown: unknown): thrown is OperatingError =>
  isOperatingError(thrown) && !thrown.retryable && ABOUT_THE_BODY.has(thrown.status);

/** The kind of an answer that does not say it: of an older main process, or of something in between. */
export function kindOfStatus(status: number): ErrorKind {
  if (status === 404) return "not_found";
  if (status === 409) return "conflict";
  if (status === 400 || status === 422) return "invalid";
  if (status === 429) return "busy";
  if (status < 500) return "denied";
  return status === 500 ? "internal" : "unavailable";
}

/** A readable message of whatever was thrown. */
export const messageOf = (thrown: unknown): string => {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  if (typeof thrown === "string") return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
};

/** The same with the way to where it was thrown, if that is known. */
export const stackOf = (thrown: unknown): string =>
  (thrown instanceof Error ? thrown.stack : undefined) ?? messageOf(thrown);

/** For states that only a bug can reach. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

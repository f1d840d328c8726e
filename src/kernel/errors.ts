/** Errors of operation: things that happen to sound code. Programmer errors use `assert` and crash instead. */

export interface OperatingErrorOptions {
  readonly cause?: unknown;
  /** Whether the same call may succeed later without anybody changing anything. */
  readonly retryable?: boolean;
  /** What the reader should do next, in one sentence. */
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Carries a stable code, a cause, whether to retry, and what to do next. */
export class OperatingError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: OperatingErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "OperatingError";
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }
}

export const isOperatingError = (value: unknown, code?: string): value is OperatingError =>
  value instanceof OperatingError && (code === undefined || value.code === code);

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

/** For states that only a bug can reach. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

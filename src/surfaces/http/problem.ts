import { isOperatingError, messageOf, type OperatingError } from "../../kernel/index.ts";

/** RFC 9457: an error that a program can read. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly retryable: boolean;
  readonly hint?: string;
}

const statusByCode: Readonly<Record<string, number>> = {
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  SESSION_REPLACED: 409,
  SESSION_CLOSED: 409,
  PAYLOAD_TOO_LARGE: 413,
  ROUTER_STOPPED: 503,
};

const statusOf = (error: OperatingError): number => {
  const known = statusByCode[error.code];
  if (known !== undefined) return known;
  if (error.code.endsWith("_NOT_FOUND")) return 404;
  if (error.code.startsWith("INVALID_") || error.code.startsWith("UNKNOWN_")) return 422;
  return error.code.startsWith("STORE_") ? 503 : 500;
};

export function problemOf(thrown: unknown): Problem {
  if (!isOperatingError(thrown))
    return {
      type: "urn:ringrift:problem:internal",
      title: "Internal error",
      status: 500,
      detail: messageOf(thrown),
      code: "INTERNAL",
      retryable: false,
    };
  return {
    type: `urn:ringrift:problem:${thrown.code.toLowerCase()}`,
    title: thrown.code.toLowerCase().replaceAll("_", " "),
    status: statusOf(thrown),
    detail: thrown.message,
    code: thrown.code,
    retryable: thrown.retryable,
    ...(thrown.hint === undefined ? {} : { hint: thrown.hint }),
  };
}

import { isOperatingError, OperatingError } from "../../kernel/index.ts";

/** RFC 9457: an error that a program can read. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance?: string;
  readonly code: string;
  readonly retryable: boolean;
  readonly hint?: string;
  /** What the caller needs to do better. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export const PROBLEM_TYPE = "application/problem+json";

const statusByCode: Readonly<Record<string, number>> = {
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  SCOPE_TOO_SMALL: 403,
  NOT_YOUR_NODE: 403,
  NOT_YOURS_TO_SAY: 403,
  UNKNOWN_NODE: 401,
  BAD_SIGNATURE: 401,
  NODE_SESSION_STALE: 401,
  REPLAYED_REQUEST: 401,
  CLOCK_SKEW: 401,
  STALE_INCARNATION: 409,
  PROTOCOL_REFUSED: 426,
  TOO_MANY_NODES: 409,
  NODE_AMBIGUOUS: 409,
  NODE_IS_LOCAL: 409,
  LENGTH_REQUIRED: 411,
  ARTIFACT_OFFSET: 409,
  ARTIFACT_BUSY: 409,
  ARTIFACT_TOO_LARGE: 413,
  ARTIFACT_HASH: 422,
  ARTIFACT_NOT_ADOPTED: 422,
  RANGE_NOT_SATISFIABLE: 416,
  UPLOADS_BUSY: 503,
  UNKNOWN_DAEMON: 404,
  DAEMON_NOT_BUILT: 404,
  UNKNOWN_UNIT: 404,
  METHOD_NOT_ALLOWED: 405,
  SESSION_REPLACED: 409,
  SESSION_CLOSED: 409,
  DAEMON_GIVEN_UP: 409,
  UNKNOWN_DEPENDENCY: 409,
  DEPENDENCY_CYCLE: 409,
  TOO_MANY_TOKENS: 409,
  ALERT_CLOSED: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  TOO_MANY_REQUESTS: 429,
  TOO_MANY_STREAMS: 429,
  ROUTER_STOPPED: 503,
  MANAGER_STOPPED: 503,
  STARTING: 503,
  WORK_INVALID: 422,
  WORK_KIND_UNKNOWN: 422,
  WORK_TOO_LARGE: 413,
  WORK_QUEUE_FULL: 503,
  WORK_DEPENDENCY_FAILED: 409,
  WORK_LANES_FULL: 503,
  JOB_FINISHED: 409,
  JOB_NOT_FAILED: 409,
  JOB_TOO_LATE: 409,
  CLAIMS_BUSY: 503,
  NODE_HELD_BACK: 503,
  READ_CONFLICT: 503,
  STOPPING: 503,
  LOOP_NOT_HERE: 503,
  MODEL_AMBIGUOUS: 409,
  PROMOTION_REFUSED: 409,
  ROLLBACK_REFUSED: 409,
};

/** Errors whose details the other side acts on; those of others stay here. */
const TELLING: ReadonlySet<string> = new Set([
  "NODE_SESSION_STALE",
  "CLOCK_SKEW",
  "PROTOCOL_REFUSED",
  "ARTIFACT_OFFSET",
]);

const statusOf = (error: OperatingError): number => {
  const known = statusByCode[error.code];
  if (known !== undefined) return known;
  if (error.code.endsWith("_NOT_FOUND")) return 404;
  if (error.code.startsWith("INVALID_") || error.code.startsWith("UNKNOWN_")) return 422;
  return error.code.startsWith("STORE_") ? 503 : 500;
};

/** What was thrown, as the caller may know it. The words of a fault of ours stay in the log, under the request's id. */
export function problemOf(thrown: unknown, requestId?: string): Problem {
  const error = isOperatingError(thrown)
    ? thrown
    : new OperatingError("INTERNAL", "something is wrong with the program itself", {
        hint: "The log says what, under the id of this request.",
      });
  return {
    type: `urn:ringrift:problem:${error.code.toLowerCase()}`,
    title: error.code.toLowerCase().replaceAll("_", " "),
    status: statusOf(error),
    detail: error.message,
    ...(requestId === undefined ? {} : { instance: `urn:ringrift:request:${requestId}` }),
    code: error.code,
    retryable: error.retryable,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(TELLING.has(error.code) ? { details: error.details } : {}),
  };
}

import type { z } from "zod";
import { defined, isOperatingError, OperatingError } from "../../kernel/index.ts";
import type { problem } from "./fields.ts";

/** RFC 9457: an error that a program can read. */
export type Problem = z.output<typeof problem>;

export const PROBLEM_TYPE = "application/problem+json";

/** What was thrown, as the caller may know it. The words of a fault of ours stay in the log, under the request's id. */
export function problemOf(thrown: unknown, requestId?: string): Problem {
  const error = isOperatingError(thrown)
    ? thrown
    : OperatingError.internal("INTERNAL", "internal error", {
        hint: "This is a bug. The log has the details, with the id of this request.",
      });
  return {
    type: `urn:ringrift:problem:${error.code.toLowerCase()}`,
    title: error.code.toLowerCase().replaceAll("_", " "),
    status: error.status,
    detail: error.message,
    ...(requestId === undefined ? {} : { instance: `urn:ringrift:request:${requestId}` }),
    code: error.code,
    kind: error.kind,
    retryable: error.retryable,
    ...defined({ hint: error.hint }),
    ...(error.showsDetails ? { details: error.details } : {}),
  };
}

/** A refusal of one among many, as its caller may know it. */
export const refusalOf = ({ code, message, retryable }: OperatingError) => ({ code, message, retryable });

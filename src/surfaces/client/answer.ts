/** What both clients make of what the main process answers. */
import type { IncomingMessage } from "node:http";
import { kindOfStatus, messageOf, OperatingError } from "../../kernel/index.ts";
import { readBytes } from "../http/bytes.ts";
import type { Problem } from "../http/problem.ts";

export const unreachable = (cause: unknown, hint: string): OperatingError =>
  OperatingError.unavailable("UNREACHABLE", `the main process does not answer: ${messageOf(cause)}`, { cause, hint });

/** What was refused, as the error that it was over there. */
export function refusalIn(text: string, status: number): OperatingError {
  let problem: Partial<Problem> = {};
  try {
    problem = JSON.parse(text) as Partial<Problem>;
  } catch {
    // A proxy answered in its own words: the status tells all there is.
  }
  const {
    kind = kindOfStatus(status),
    code = "UNEXPECTED_ANSWER",
    detail = `the answer was ${status}`,
    hint,
  } = problem;
  return new OperatingError(kind, code, detail, {
    // What is no problem document comes from something in between, and may be better in a moment.
    retryable: problem.retryable ?? (problem.code === undefined || status >= 500 || status === 429),
    status,
    hint,
    details: { ...problem, ...problem.details, status },
  });
}

export async function textOf(answer: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = () => OperatingError.internal("UNEXPECTED_ANSWER", "the answer is too large");
  return (await readBytes(answer, maxBytes, tooLarge)).toString("utf8");
}

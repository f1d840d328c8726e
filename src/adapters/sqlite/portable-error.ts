import { isOperatingError, OperatingError, stackOf } from "../../kernel/index.ts";

/** Errors cross the port as data: a clone would lose their class and code. */
export function portable(thrown: unknown) {
  const { kind, code, status, message, retryable, hint, details } = isOperatingError(thrown)
    ? thrown
    : OperatingError.internal("STORE_OPERATION_FAILED", stackOf(thrown), { status: 503 });
  return { kind, code, status, message, retryable, hint, details };
}

export type PortableError = ReturnType<typeof portable>;

export const fromPortable = ({ kind, code, message, ...options }: PortableError): OperatingError =>
  new OperatingError(kind, code, message, options);

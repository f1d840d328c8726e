/** What a provider may fail with. The code decides what the ledger believes about it. */
import { defined, isOperatingError, LEAD_UNSURE, OperatingError } from "../../kernel/index.ts";

interface ProviderErrorOptions {
  readonly cause?: unknown;
  readonly hint?: string;
  /** A machine that was made although the call failed. */
  readonly machineId?: string | undefined;
  /** After which time it may be asked again. */
  readonly retryAfterMs?: number | undefined;
}

const made = (
  kind: "denied" | "busy" | "invalid" | "unavailable" | "internal" | "not_found",
  code: string,
  retryable?: boolean,
) => {
  return (provider: string, message: string, options: ProviderErrorOptions = {}): OperatingError => {
    const { machineId, retryAfterMs, ...rest } = options;
    return new OperatingError(kind, code, `${provider}: ${message}`, {
      ...rest,
      ...defined({ retryable }),
      details: { provider, ...defined({ machine_id: machineId, retry_after_ms: retryAfterMs }) },
    });
  };
};

export const providerErrors = {
  /** The key opens nothing, or too little. Nothing was made. */
  denied: made("denied", "PROVIDER_DENIED"),
  /** Too many requests. Nothing was made. */
  busy: made("busy", "PROVIDER_BUSY"),
  /** There is none of it at the moment. Nothing was made. */
  soldOut: made("unavailable", "PROVIDER_SOLD_OUT"),
  /** The request is wrong, and will be wrong again. Nothing was made. */
  refused: made("invalid", "PROVIDER_REFUSED"),
  /** No machine of this id, where one is needed: a reboot. */
  notFound: made("not_found", "PROVIDER_MACHINE_NOT_FOUND"),
  /** It failed, or did not answer in time. It may have done what was asked. */
  unavailable: made("unavailable", "PROVIDER_UNAVAILABLE"),
  /** Its answer is not what its documents promise. It may have done what was asked. */
  answerInvalid: made("internal", "PROVIDER_ANSWER_INVALID", true),
};

const WITHOUT_EFFECT = new Set([
  "PROVIDER_DENIED",
  "PROVIDER_BUSY",
  "PROVIDER_SOLD_OUT",
  "PROVIDER_REFUSED",
  // It was not even asked.
  LEAD_UNSURE,
]);

/** Whether it is certain that a failed `create` made nothing. Of what nobody knows, something may have been made. */
export const madeNothing = (thrown: unknown): boolean =>
  isOperatingError(thrown) && WITHOUT_EFFECT.has(thrown.code) && machineIdOf(thrown) === null;

/** The machine that a failed `create` left behind, where that is known. */
export const machineIdOf = (thrown: unknown): string | null => {
  const id = isOperatingError(thrown) ? thrown.details.machine_id : undefined;
  return typeof id === "string" ? id : null;
};

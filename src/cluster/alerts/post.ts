import { type Clock, OperatingError } from "../../kernel/index.ts";

export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

export interface PostOptions {
  readonly url: URL;
  readonly clock: Clock;
  readonly timeoutMs?: number;
  readonly fetch?: Fetch;
}

const TIMEOUT_MS = 10_000;

/** Answers that will not become better by asking again: what was sent is at fault, not the moment. */
const REFUSALS: ReadonlySet<number> = new Set([400, 405, 406, 409, 411, 413, 414, 415, 422, 431]);

const notDelivered = (message: string, retryable: boolean) =>
  OperatingError.unavailable("ALERT_NOT_DELIVERED", message, {
    retryable,
    hint: "Check the receiver. Messages that were not delivered are kept and sent again.",
  });

/** The code of a failed connection, and nothing of its address. */
const codeOf = (thrown: unknown): string => {
  const { code, cause } = thrown as { code?: unknown; cause?: { code?: unknown } };
  const found = cause?.code ?? code;
  return typeof found === "string" && /^[A-Z0-9_]{2,50}$/.test(found) ? ` (${found})` : "";
};

/**
 * Sends one body within a time limit. It follows no redirect, since that would hand the body and its signature to somebody
 * else; it reads nothing of the answer but its status, so that no answer is too long.
 */
export async function post(
  { url, clock, timeoutMs = TIMEOUT_MS, fetch: given = fetch }: PostOptions,
  body: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const limit = new AbortController();
  const timer = clock.after(timeoutMs, () => limit.abort());
  try {
    const response = await given(url, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", "user-agent": "ringrift", ...headers },
      redirect: "manual",
      signal: AbortSignal.any([signal, limit.signal]),
    });
    response.body?.cancel().catch(() => undefined);
    if (response.ok) return;
    if (response.status >= 300 && response.status < 400)
      throw notDelivered(`HTTP ${response.status}: redirects are not followed`, true);
    throw notDelivered(`HTTP ${response.status}`, !REFUSALS.has(response.status));
  } catch (thrown) {
    if (thrown instanceof OperatingError) throw thrown;
    if (limit.signal.aborted) throw notDelivered(`no answer in ${timeoutMs / 1_000} s`, true);
    throw notDelivered(`no connection${codeOf(thrown)}`, true);
  } finally {
    timer.cancel();
  }
}

/** What the router can be told. `app` fills it from the settings schema; tests take the defaults. */
export interface RouterSettings {
  /** Time limit of a handler. */
  readonly handlerTimeoutMs: number;
  /** Refuse names that the catalog does not know. */
  readonly strictNames: boolean;
  /** Window in which a repeated content is suppressed, for rows that ask for it. */
  readonly dedupWindowSeconds: number;
  /** Tries before a delivery becomes a dead letter. */
  readonly maxAttempts: number;
  readonly retryFirstMs: number;
  readonly retryMostMs: number;
  /** Failures in a row that open a handler's breaker, and how long it stays open. */
  readonly breakerThreshold: number;
  readonly breakerOpenMs: number;
  /** Events kept in memory for `history`. */
  readonly historySize: number;
  /** Deliveries that may be in memory for one consumer. */
  readonly window: number;
  /** Handlers of one consumer that may run at once, on different order keys. */
  readonly concurrency: number;
  /** Log every publish and delivery (RINGRIFT_EVENT_TRACE). */
  readonly trace: boolean;
  readonly retentionSeconds: number;
  readonly retentionBytes: number;
  /** A consumer that was away so long expires. */
  readonly consumerExpirySeconds: number;
}

export const defaultRouterSettings: RouterSettings = {
  handlerTimeoutMs: 600_000,
  strictNames: false,
  dedupWindowSeconds: 60,
  maxAttempts: 5,
  retryFirstMs: 1_000,
  retryMostMs: 60_000,
  breakerThreshold: 10,
  breakerOpenMs: 30_000,
  historySize: 1_000,
  window: 512,
  concurrency: 16,
  trace: false,
  retentionSeconds: 7 * 86_400,
  retentionBytes: 1_000_000_000,
  consumerExpirySeconds: 7 * 86_400,
};

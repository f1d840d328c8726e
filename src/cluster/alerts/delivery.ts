/**
 * Sends what waits in the outbox. At least once: a message is written down as begun before it goes out and as delivered after
 * it was taken, and keeps its idempotency key in between. A sink that does not answer is tried later and later and holds up
 * nobody else; what waits for it meanwhile becomes one summary, and so does what was held back while alerts were muted.
 */

import { backoffMs, type Edges, isOperatingError, messageOf } from "../../kernel/index.ts";
import { settingDefaults } from "../../kernel/settings/index.ts";
import type { Store } from "../../router/index.ts";
import { alertSettings } from "../settings.ts";
import type { AlertSnapshot } from "./alert.ts";
import {
  type AlertSummary,
  beginDelivery,
  type DeliveryOutcome,
  endDelivery,
  headOf,
  heldBack,
  type OutboxRow,
  sentSince,
  sinkState,
  summarizeOutbox,
  waitingFor,
} from "./alert-outbox.ts";
import { lastMute } from "./mute.ts";
import type { AlertMessage, AlertSink } from "./sink.ts";

export const deliveryDefaults = {
  /** Messages to one sink in a minute; more become a summary. */
  messagesPerMinute: settingDefaults(alertSettings).messagesPerMinute,
  retryFirstMs: 5_000,
  retryMaxMs: 600_000,
  /** A message that is refused so often is given up; the sink may take others. */
  maxRefusals: 8,
  /** More than so many that wait are summed up even while the sink is away. */
  maxWaiting: 500,
};
export type DeliverySettings = typeof deliveryDefaults;

export interface DeliveryPorts extends Edges {
  readonly store: Store;
  readonly settings: DeliverySettings;
}

const MINUTE_MS = 60_000;
/** A slow receiver goes on in the next round, so that others and the aging of alerts get their turn. */
const ROUND_MS = 20_000;

export interface Line {
  readonly waiting: number;
  /** The head was tried before. */
  readonly begun: boolean;
  /** Messages that ended within the last minute. */
  readonly sent: number;
  readonly nextAt: number;
  /** Nothing is sent before this. */
  readonly mutedUntil: number;
  /** Messages that came while alerts were muted. */
  readonly held: number;
}

/** What to do for a sink now. Pure. */
export function nextMove(line: Line, now: number, settings: DeliverySettings): "rest" | "summarize" | "send" {
  const fresh = line.waiting - (line.begun ? 1 : 0);
  if (line.waiting === 0) return "rest";
  if (fresh > settings.maxWaiting) return "summarize";
  const budget = settings.messagesPerMinute - line.sent;
  if (now < line.nextAt || now < line.mutedUntil || budget <= 0) return "rest";
  if (line.begun) return "send";
  if (line.held > 1) return "summarize";
  return fresh > 1 && fresh > budget ? "summarize" : "send";
}

const messageOfRow = ({ id, sink, alert_id, transition, body }: OutboxRow): AlertMessage => {
  const common = { id, transition, idempotencyKey: `${alert_id ?? sink}/${transition}` };
  return alert_id === null
    ? { ...common, kind: "summary", summary: JSON.parse(body) as AlertSummary }
    : { ...common, kind: "alert", alert: JSON.parse(body) as AlertSnapshot };
};

/** Sends to one sink until nothing waits, its budget is spent, or it fails. */
export async function deliver(ports: DeliveryPorts, sink: AlertSink, signal: AbortSignal): Promise<void> {
  const { store, clock, settings } = ports;
  const begunAt = clock.monotonic();
  while (clock.monotonic() - begunAt < ROUND_MS) {
    if (signal.aborted) return;
    const now = clock.now();
    const head = headOf(store, sink.name);
    if (head === undefined) return;
    const state = sinkState(store, sink.name);
    const mute = lastMute(store);
    const move = nextMove(
      {
        waiting: waitingFor(store, sink.name),
        begun: head.attempts > 0,
        sent: sentSince(store, sink.name, now - MINUTE_MS).length,
        nextAt: state.next_at,
        mutedUntil: mute?.until ?? 0,
        held: mute === undefined ? 0 : heldBack(store, sink.name, mute),
      },
      now,
      settings,
    );
    if (move === "rest") return;
    if (move === "summarize") {
      await store.commit([summarizeOutbox({ sink: sink.name, at: now })]);
      continue;
    }
    const outcome = await attempt(ports, sink, head, state.failures, signal);
    if (outcome === null) return;
    await store.commit([endDelivery({ id: head.id, sink: sink.name, at: clock.now(), outcome })]);
    if (outcome.kind !== "delivered") return;
  }
}

/** One try; null when it was cut off by the stop and nobody knows how it ended. */
async function attempt(
  { store, clock, random, log, settings }: DeliveryPorts,
  sink: AlertSink,
  row: OutboxRow,
  failures: number,
  signal: AbortSignal,
): Promise<DeliveryOutcome | null> {
  await store.commit([beginDelivery({ id: row.id })]);
  try {
    await sink.deliver(messageOfRow(row), signal);
    return { kind: "delivered" };
  } catch (thrown) {
    if (signal.aborted) return null;
    // Sinks say what went wrong in words of their own: an address may hold a secret.
    const error = isOperatingError(thrown, "ALERT_NOT_DELIVERED")
      ? thrown.message
      : `unexpected: ${messageOf(thrown).slice(0, 200)}`;
    const refused = isOperatingError(thrown) && !thrown.retryable && row.attempts + 1 >= settings.maxRefusals;
    const waitMs = backoffMs(
      { firstMs: settings.retryFirstMs, maxMs: settings.retryMaxMs, jitter: 0.2 },
      failures + 1,
      random,
    );
    log.warn("an alert was not delivered", { sink: sink.name, error, given_up: refused, attempt: row.attempts + 1 });
    return refused ? { kind: "refused", error } : { kind: "retry", error, nextAt: clock.now() + waitMs };
  }
}

import { type Clock, OperatingError } from "../../kernel/index.ts";
import { conditions, type Store } from "../../router/index.ts";
import {
  type Alert,
  type AlertDelivery,
  type AlertRow,
  type AlertSeverity,
  type AlertStatus,
  shownOf,
} from "./alert.ts";
import { heldBack } from "./alert-outbox.ts";
import { decideAlert, type Recipient } from "./alert-rows.ts";
import { isMuted, lastMute, type Mute, muteAlerts, unmuteAlerts } from "./mute.ts";
import type { AlertSink } from "./sink.ts";

export interface AlertFilter {
  readonly status?: AlertStatus | undefined;
  readonly severity?: AlertSeverity | undefined;
  readonly limit?: number | undefined;
}

/** Alerts for people: what there is, and their word on it. */
export type Alerts = ReturnType<typeof createAlerts>;

/** What somebody has to say on an alert. */
export interface AlertDecision {
  readonly actor: string;
  readonly note?: string | undefined;
}

/** A time in which nothing is sent, with how many messages wait for its end. */
export interface MuteView extends Mute {
  readonly waiting: number;
}

export interface AlertsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Who is told of what people decide. */
  readonly recipients?: readonly Recipient[];
}

export const recipientsOf = (sinks: readonly AlertSink[]): Recipient[] =>
  sinks.map(({ name, minSeverity }) => ({ sink: name, minSeverity }));

const MAX_LISTED = 1_000;
const MAX_DELIVERIES = 20;
const MAX_NOTE = 2_000;
const DELIVERY = "sink, status, coalesce(ended_at, created_at) AS at, error";
/** The newest deliveries of each of these alerts, oldest first. */
const DELIVERIES = `SELECT alert_id, ${DELIVERY} FROM json_each(?) wanted JOIN alert_outbox o ON o.alert_id = wanted.value
  WHERE o.id IN (SELECT id FROM alert_outbox n WHERE n.alert_id = wanted.value ORDER BY id DESC LIMIT ${MAX_DELIVERIES})
  ORDER BY o.id`;

const notFound = (id: string) =>
  OperatingError.notFound("ALERT_NOT_FOUND", `there is no alert '${id.slice(0, 100)}'`, {
    hint: "'ringrift alerts list --all' lists them. Closed alerts are removed after 30 days.",
  });

export function createAlerts({ store, clock, recipients = [] }: AlertsOptions) {
  const deliveriesOf = (id: string): AlertDelivery[] =>
    store
      .read<AlertDelivery>(
        `SELECT ${DELIVERY} FROM alert_outbox WHERE alert_id = ? ORDER BY id DESC LIMIT ${MAX_DELIVERIES}`,
        id,
      )
      .reverse();
  const withDeliveries = (row: AlertRow): Alert => ({ ...shownOf(row), deliveries: deliveriesOf(row.id) });
  const decide = async (id: string, decision: "acknowledge" | "close", { actor, note }: AlertDecision) => {
    const [row] = await store.commit([
      decideAlert({
        id,
        decision,
        by: actor.slice(0, 200),
        note: note?.slice(0, MAX_NOTE),
        at: clock.now(),
        to: recipients,
      }),
    ]);
    if (row === undefined) throw notFound(id);
    if (decision === "acknowledge" && row.status === "closed")
      throw OperatingError.conflict("ALERT_CLOSED", `alert '${id}' is closed`, {
        hint: "There is nothing to acknowledge.",
      });
    return withDeliveries(row);
  };
  const muted = (): MuteView | null => {
    const mute = lastMute(store);
    if (!isMuted(mute, clock.now())) return null;
    // Who is told of milder alerts waits for more of them.
    return { ...mute, waiting: Math.max(0, ...recipients.map(({ sink }) => heldBack(store, sink, mute))) };
  };
  return {
    /** Newest first. */
    list({ status, severity, limit = 100 }: AlertFilter = {}): Alert[] {
      // Each combination has an index that ends in the order, so that no more rows are looked at than are listed.
      const { sql, params } = conditions({ "status = ?": status, "severity = ?": severity });
      const rows = store.read<AlertRow>(
        `SELECT * FROM alerts WHERE ${sql} ORDER BY opened_at DESC, id DESC LIMIT ?`,
        ...params,
        Math.max(0, Math.min(MAX_LISTED, Math.floor(limit))),
      );
      const deliveries = store.read<AlertDelivery & { alert_id: string }>(
        DELIVERIES,
        JSON.stringify(rows.map(({ id }) => id)),
      );
      const byAlert = Map.groupBy(deliveries, ({ alert_id }) => alert_id);
      return rows.map((row) => ({
        ...shownOf(row),
        deliveries: byAlert.get(row.id)?.map(({ alert_id: _, ...delivery }) => delivery) ?? [],
      }));
    },
    get(id: string): Alert {
      const row = store.read<AlertRow>("SELECT * FROM alerts WHERE id = ?", id)[0];
      if (row === undefined) throw notFound(id);
      return withDeliveries(row);
    },
    /** How many are not closed, or only those that nobody took on, by severity. */
    counts(only?: "open"): Readonly<Record<AlertSeverity, number>> {
      const found = store.read<{ severity: AlertSeverity; n: number }>(
        "SELECT severity, sum(alerts) AS n FROM alert_counts WHERE status IN ('open', ?) GROUP BY severity",
        only ?? "acknowledged",
      );
      return {
        info: 0,
        warning: 0,
        error: 0,
        critical: 0,
        ...Object.fromEntries(found.map((row) => [row.severity, row.n])),
      };
    },
    muted,
    /** Sends nothing for so long; answers with what was begun, or would be. */
    async mute(forMs: number, { actor, note }: AlertDecision, dryRun: boolean): Promise<MuteView> {
      const at = clock.now();
      const mute = { until: at + forMs, actor: actor.slice(0, 200), reason: note?.slice(0, MAX_NOTE) ?? null };
      const before = muted();
      if (!dryRun) await store.commit([muteAlerts({ ...mute, at })]);
      return { ...mute, since: before?.since ?? at, waiting: before?.waiting ?? 0 };
    },
    /** Sends again; answers with what was ended, or would be, and null where nothing was muted. */
    async unmute(dryRun: boolean): Promise<MuteView | null> {
      const before = muted();
      if (!dryRun && before !== null) await store.commit([unmuteAlerts({ at: clock.now() })]);
      return before;
    },
    acknowledge: (id: string, decision: AlertDecision): Promise<Alert> => decide(id, "acknowledge", decision),
    close: (id: string, decision: AlertDecision): Promise<Alert> => decide(id, "close", decision),
  };
}

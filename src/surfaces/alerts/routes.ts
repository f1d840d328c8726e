import type { Alert } from "../../cluster/index.ts";
import type { ControlPorts } from "../http/ports.ts";
import { handle, type Route } from "../http/route.ts";
import { acknowledgeAlert, closeAlert, getAlert, listAlerts, muteAlerts, unmuteAlerts } from "./wire.ts";

/** Names before ids: whoever reads an alert knows its node by what people call it. */
const named = ({ nodes: { book } }: ControlPorts, alert: Alert): Alert => ({
  ...alert,
  title: book.named(alert.title),
  message: book.named(alert.message),
  subject: alert.subject === null ? null : book.named(alert.subject),
});

export const alertRoutes: readonly Route[] = [
  handle(listAlerts, ({ ports, query }) => ({
    alerts: ports.alerts.list(query).map((alert) => named(ports, alert)),
    mute: ports.alerts.muted(),
  })),
  handle(muteAlerts, async ({ ports, body: { seconds, reason, dry_run }, caller: { actor } }) => ({
    mute: await ports.alerts.mute(seconds * 1_000, { actor, note: reason }, dry_run),
    applied: !dry_run,
  })),
  handle(unmuteAlerts, async ({ ports, body: { dry_run } }) => ({
    mute: await ports.alerts.unmute(dry_run),
    applied: !dry_run,
  })),
  handle(getAlert, ({ ports, params: { id } }) => named(ports, ports.alerts.get(id))),
  handle(acknowledgeAlert, async ({ ports, params: { id }, body: { note }, caller: { actor } }) =>
    named(ports, await ports.alerts.acknowledge(id, { actor, note })),
  ),
  handle(closeAlert, async ({ ports, params: { id }, body: { note }, caller: { actor } }) =>
    named(ports, await ports.alerts.close(id, { actor, note })),
  ),
];

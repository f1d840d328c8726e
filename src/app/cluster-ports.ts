import {
  type AlertSink,
  alertBook,
  type ClusterPorts,
  type ComponentWork,
  logSink,
  readAlertRules,
  recipientsOf,
  slackSink,
  systemSampler,
  webhookSink,
} from "../cluster/index.ts";
import type { Registry, UnitRuntime } from "../daemons/index.ts";
import type { Catalog } from "../events/index.ts";
import type { Clock, Log, Random } from "../kernel/index.ts";
import type { Store } from "../router/index.ts";
import type { AlertsPort, NodesPort } from "../surfaces/index.ts";
import { CLUSTER_ID } from "./node-ports.ts";
import type { Settings } from "./settings.ts";

export interface ClusterSurroundings {
  readonly settings: Settings;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly nodes: Pick<NodesPort, "book" | "refusals">;
  /** What the runtime says of its units; asked only while it runs. */
  readonly work: () => readonly ComponentWork[];
}

/** Where alerts go, by the settings. The log gets all of them. */
export function alertSinksOf({
  settings,
  clock,
  log,
}: Pick<ClusterSurroundings, "settings" | "clock" | "log">): AlertSink[] {
  const { webhookUrl, webhookSecret, slackUrl, leastSeverity: least } = settings.alerts;
  const sinks: AlertSink[] = [logSink(log)];
  if (webhookUrl !== undefined)
    sinks.push(
      webhookSink({
        url: webhookUrl.reveal(),
        clock,
        least,
        ...(webhookSecret === undefined ? {} : { secret: () => webhookSecret.reveal() }),
      }),
    );
  if (slackUrl !== undefined) sinks.push(slackSink({ url: slackUrl.reveal(), clock, least }));
  return sinks;
}

export function clusterPortsOf(around: ClusterSurroundings): ClusterPorts {
  const { settings, store, clock, random, catalog, work, nodes } = around;
  const { rulesFile, messagesPerMinute } = settings.alerts;
  return {
    nodeId: settings.nodeId,
    store,
    clock,
    random,
    resources: { sampler: systemSampler({ dataDir: settings.dataDir, clock }), settings: settings.resources },
    health: { work },
    nodes: {
      book: nodes.book,
      refusals: nodes.refusals,
      clusterId: CLUSTER_ID,
      capacity: { requiredGpus: settings.nodes.requiredGpus },
    },
    alerts: {
      sinks: alertSinksOf(around),
      absence: rulesFile === undefined ? [] : readAlertRules(rulesFile, catalog),
      settings: { messagesPerMinute },
    },
  };
}

/** What the units that run here have done, for whoever judges them. */
export function workOf(
  registry: Pick<Registry, "units">,
  units: Pick<UnitRuntime, "status" | "outcomes">,
): ComponentWork[] {
  const running = new Set(units.outcomes().map(({ name }) => name));
  return units
    .status()
    .filter(({ name }) => running.has(name))
    .map(({ name, status: health, message, last_tick_at }) => ({
      component: name,
      everyMs: registry.units.find((unit) => unit.name === name)?.everyMs ?? null,
      lastWorkAt: last_tick_at,
      health,
      message,
    }));
}

/** The alerts, as the API asks for them. */
export function alertsPortOf({ store, clock, alerts }: ClusterPorts): AlertsPort {
  const book = alertBook({ store, clock, recipients: recipientsOf(alerts.sinks) });
  return {
    list: (filter) => book.list(filter),
    get: (id) => book.get(id),
    acknowledge: (id, { actor, note }) => book.acknowledge(id, actor, note),
    close: (id, { actor, note }) => book.close(id, actor, note),
  };
}

/** How many alerts are not closed, by severity. */
export const openAlertsOf = (port: Pick<AlertsPort, "list">): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const status of ["open", "acknowledged"] as const)
    for (const { severity } of port.list({ status, limit: 1_000 })) counts[severity] = (counts[severity] ?? 0) + 1;
  return counts;
};

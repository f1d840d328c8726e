/** Every setting of the program: the rows of all rooms, in the shape in which the parts get their values. */

import { fleetSettings } from "../../cluster/fleet/settings.ts";
import {
  alertSettings,
  coordinatorsSettings,
  nodeSettings,
  p2pSettings,
  recoverySettings,
  resourceSettings,
} from "../../cluster/settings.ts";
import { loopWatchdogSettings, maintenanceSettings, supervisorSettings } from "../../daemons/settings.ts";
import { rowsWith, type Setting, type SettingValues, type SomeValues } from "../../kernel/settings/index.ts";
import { pipelineSettings } from "../../pipeline/settings.ts";
import { outboxSettings, routerSettings } from "../../router/settings.ts";
import type { ConfigReport } from "../../surfaces/commands/index.ts";
import { apiSettings, portSettings } from "../../surfaces/settings.ts";
import { artifactSettings, backupSettings, transferSettings } from "../../sync/settings.ts";
import { workSettings } from "../../work/settings.ts";
import { processSettings, workerSettings } from "./rows.ts";

export const settingTree = {
  ...processSettings,
  ...portSettings,
  api: apiSettings,
  router: routerSettings,
  daemons: supervisorSettings,
  watchdog: loopWatchdogSettings,
  maintenance: maintenanceSettings,
  worker: { ...workerSettings, outbox: outboxSettings },
  nodes: nodeSettings,
  recovery: recoverySettings,
  p2p: p2pSettings,
  coordinators: coordinatorsSettings,
  resources: resourceSettings,
  alerts: alertSettings,
  fleet: fleetSettings,
  work: workSettings,
  artifacts: artifactSettings,
  backup: backupSettings,
  transfers: transferSettings,
  loop: pipelineSettings,
};

/** What the parts of the program are given. */
export type Settings = SettingValues<typeof settingTree> & {
  /** What was set and does nothing yet; to be said aloud by whoever starts. */
  readonly notices: readonly string[];
  /** Every setting with where it came from, as people may see it. */
  readonly report: ConfigReport;
};

/** What a command line or a program says itself, in the same shape and units; stronger than all else. */
export type SettingOverrides = SomeValues<typeof settingTree>;

export const settingRows: readonly Setting<unknown>[] = rowsWith(settingTree).map(([row]) => row);

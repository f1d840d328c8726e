import { defineStoreModule } from "../router/store.port.ts";
import { saveWatches } from "./alerts/absence-rows.ts";
import { beginDelivery, dropReceivers, endDelivery, summarizeOutbox } from "./alerts/alert-outbox.ts";
import {
  ageAlerts,
  alertCountsMigration,
  alertMigrations,
  closeAlertOf,
  decideAlert,
  forgetAlerts,
  raiseAlert,
} from "./alerts/alert-rows.ts";
import { muteAlerts, muteMigration, unmuteAlerts } from "./alerts/mute.ts";
import { coordinatorMigration, coordinatorOperations } from "./coordinator-rows.ts";
import {
  healthMigrations,
  nodesElsewhereMigration,
  noteFailure,
  noteRecovery,
  noteWell,
} from "./health/health-rows.ts";
import { lockMigration, lockOperations } from "./locks/lock-rows.ts";
import {
  addNode,
  changeNode,
  dropNode,
  hostPolicyMigration,
  nodeMigration,
  nodeSettingsMigration,
  tokenWorkerMigration,
  touchNodes,
} from "./nodes/node-rows.ts";

/** What this room keeps in the store. */
export const clusterModule = defineStoreModule({
  name: "cluster",
  migrations: [
    ...alertMigrations,
    ...healthMigrations,
    nodeMigration(3),
    alertCountsMigration(4),
    tokenWorkerMigration(5),
    nodesElsewhereMigration(6),
    nodeSettingsMigration(7),
    lockMigration(8),
    coordinatorMigration(9),
    hostPolicyMigration(10),
    muteMigration(11),
  ],
  operations: [
    raiseAlert,
    closeAlertOf,
    decideAlert,
    ageAlerts,
    forgetAlerts,
    muteAlerts,
    unmuteAlerts,
    saveWatches,
    summarizeOutbox,
    beginDelivery,
    dropReceivers,
    endDelivery,
    noteFailure,
    noteWell,
    noteRecovery,
    addNode,
    changeNode,
    dropNode,
    touchNodes,
    ...lockOperations,
    ...coordinatorOperations,
  ],
});

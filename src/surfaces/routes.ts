import { alertRoutes } from "./alerts/routes.ts";
import { artifactRoutes } from "./artifacts/routes.ts";
import { auditRoutes } from "./audit/routes.ts";
import { backupRoutes } from "./backup/routes.ts";
import { clusterRoutes } from "./cluster/routes.ts";
import { consumerRoutes } from "./consumers/routes.ts";
import { copyRoutes } from "./copies/routes.ts";
import { daemonRoutes } from "./daemons/routes.ts";
import { deadLetterRoutes } from "./dead-letters/routes.ts";
import { eventRoutes } from "./events/routes.ts";
import { fleetRoutes } from "./fleet/routes.ts";
import { healthRoutes } from "./health/routes.ts";
import type { Route } from "./http/route.ts";
import { importRoutes } from "./imports/routes.ts";
import { lockRoutes } from "./locks/routes.ts";
import { modelRoutes } from "./models/routes.ts";
import { nodeRoutes } from "./nodes/routes.ts";
import { pipelineRoutes } from "./pipeline/routes.ts";
import { probeRoutes } from "./probes/routes.ts";
import { workRoutes } from "./queue/routes.ts";
import { recordRoutes } from "./records/routes.ts";
import { recoveryRoutes } from "./recovery/routes.ts";
import { resourceRoutes } from "./resources/routes.ts";
import { searchRoutes } from "./search/routes.ts";
import { sessionRoutes } from "./session/routes.ts";
import { shareRoutes } from "./shares/routes.ts";
import { statusRoutes } from "./status/routes.ts";
import { steeringRoutes } from "./steering/routes.ts";
import { syncRoutes } from "./sync/routes.ts";
import { systemRoutes } from "./system/routes.ts";
import { tokenRoutes } from "./tokens/routes.ts";
import { whyRoutes } from "./why/routes.ts";

/** Every route there is. What is mounted, documented, fuzzed and checked for access is read from this list. */
export const allRoutes: readonly Route[] = [
  ...probeRoutes,
  ...statusRoutes,
  ...systemRoutes,
  ...healthRoutes,
  ...auditRoutes,
  ...whyRoutes,
  ...searchRoutes,
  ...daemonRoutes,
  ...alertRoutes,
  ...eventRoutes,
  ...consumerRoutes,
  ...deadLetterRoutes,
  ...tokenRoutes,
  ...sessionRoutes,
  ...shareRoutes,
  ...workRoutes,
  ...nodeRoutes,
  ...recoveryRoutes,
  ...lockRoutes,
  ...clusterRoutes,
  ...fleetRoutes,
  ...artifactRoutes,
  ...copyRoutes,
  ...syncRoutes,
  ...importRoutes,
  ...backupRoutes,
  ...pipelineRoutes,
  ...steeringRoutes,
  ...modelRoutes,
  ...recordRoutes,
  ...resourceRoutes,
];

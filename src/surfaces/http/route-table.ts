import type { ControlPorts } from "./ports.ts";
import type { Route } from "./route.ts";
import { accessRoutes } from "./routes/access.ts";
import { alertRoutes } from "./routes/alerts.ts";
import { artifactRoutes } from "./routes/artifacts.ts";
import { consumerRoutes } from "./routes/consumers.ts";
import { daemonRoutes } from "./routes/daemons.ts";
import { deadLetterRoutes } from "./routes/dead-letters.ts";
import { eventRoutes } from "./routes/events.ts";
import { loopRoutes } from "./routes/loop.ts";
import { nodeRoutes } from "./routes/nodes.ts";
import { probeRoutes } from "./routes/probes.ts";
import { systemRoutes } from "./routes/system.ts";
import { workRoutes } from "./routes/work.ts";

/** Every route there is. What is mounted, documented, fuzzed and checked for access is read from this list. */
export const allRoutes: readonly Route[] = [
  ...probeRoutes,
  ...systemRoutes,
  ...daemonRoutes,
  ...alertRoutes,
  ...eventRoutes,
  ...consumerRoutes,
  ...deadLetterRoutes,
  ...accessRoutes,
  ...workRoutes,
  ...nodeRoutes,
  ...artifactRoutes,
  ...loopRoutes,
];

/** The routes whose ports are given: nothing is offered that does not work. */
export const routesFor = (ports: ControlPorts): readonly Route[] =>
  allRoutes.filter(({ needs }) => needs.every((port) => ports[port] !== undefined));

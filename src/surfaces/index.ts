/**
 * surfaces: how people and other processes reach the system.
 *
 * The control surface (HTTP on a Unix socket and on port 8770) is the only door to a running system; the client, the Python
 * client and every command go through it. Its routes are one table of data: what is mounted, documented as OpenAPI, fuzzed
 * and checked for access is read from it.
 *
 * It guarantees that
 * - every byte from outside is validated and every size, rate and wait is bounded; a bad request is a problem document and
 *   changes nothing;
 * - reading is free on loopback alone (unless told otherwise), writing always needs a token of the right scope, and beyond
 *   loopback everything but a probe does; tokens are kept as hashes and end at once, with all that is open under them;
 * - every change leaves a row that says who made it;
 * - probes answer from the first moment to the last; a stream of events has no gap and no repeat.
 */
export type { Endpoint } from "./client/channel.ts";
export {
  Client,
  type ClientHandler,
  type ClientHandlerContext,
  type ClientOptions,
  type ClientPublishOptions,
  connect,
  type PublishedReceipt,
  type SubscribeOptions,
  type Subscription,
} from "./client/client.ts";
export { ENDPOINT_FILE, type EndpointFile, findEndpoint, requireEndpoint, TOKEN_FILE } from "./client/endpoint.ts";
export { eventsOver } from "./client/event-client.ts";
export { type LinkOptions, type NodeLink, openLink, type TlsTrust } from "./client/node-link.ts";
export { makeNodeKey, type NodeKey, readNodeKey } from "./client/node-link-signature.ts";
export {
  beatOver,
  type Joined,
  joinOver,
  leaveOver,
  type NodeAbout,
  type NodeBeatAnswer,
  queueOver,
} from "./client/work-client.ts";
export { artifactsOver } from "./client/work-client-artifacts.ts";
export { type AccessOptions, createAccess } from "./http/access.ts";
export { type Api, type ApiOptions, createApi } from "./http/api.ts";
export { createLimits } from "./http/limits.ts";
export { createMetrics, type MetricSources, type Metrics, measuredStore } from "./http/metrics.ts";
export { openApiDocument } from "./http/openapi.ts";
export type {
  AlertDecision,
  AlertFilter,
  AlertsPort,
  ControlPorts,
  Lineage,
  LoopDecided,
  LoopDecision,
  LoopPort,
  ModelDetails,
  ModelView,
  NodesPort,
  Phase,
  Why,
} from "./http/ports.ts";
export type { Route } from "./http/route.ts";
export { allRoutes, routesFor } from "./http/route-table.ts";
export type { Scope, TokenScope } from "./http/scope.ts";
export { createSurface, type DoorReport, type Surface } from "./http/server.ts";
export { type StatusSources, statusOf } from "./http/status.ts";
export { createTokens, type Tokens } from "./http/tokens.ts";
export { createWrites, type Writes } from "./http/writes.ts";
export { type Report, type ReportAbout, reportOf } from "./report/index.ts";

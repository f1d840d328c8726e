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

export { artifactsOver, fetchArtifact } from "./artifacts/artifact-client.ts";
export { callTo } from "./client/call.ts";
export {
  CLUSTER_TOKEN_FILE,
  ENDPOINT_FILE,
  type EndpointFile,
  findEndpoint,
  JOINED_FILE,
  requireEndpoint,
  TOKEN_FILE,
} from "./client/endpoint.ts";
export { type NodeLink, openLink } from "./client/node-link.ts";
export { makeNodeKey, type NodeKey, readNodeKey } from "./client/node-link-signature.ts";
export type { TlsTrust } from "./client/secure.ts";
export { createStandbyApi } from "./cluster/standby.ts";
export { getCluster, getSnapshot, leaveCluster, SNAPSHOT_HEADERS, tellFiles } from "./cluster/wire.ts";
export {
  Client,
  type ClientHandler,
  type ClientHandlerContext,
  type ClientOptions,
  type ClientPublishOptions,
  connect,
  type SubscribeOptions,
  type Subscription,
} from "./consumers/client.ts";
export { type CopiesPort, copiesOver } from "./copies/copies-client.ts";
export type { CopiesAnswer, CopiesTold, OfferedBatch } from "./copies/wire.ts";
export { createAccess } from "./http/access.ts";
export { addressOf, listeningWords, surfaceUrl } from "./http/address.ts";
export { answerHere } from "./http/answer-here.ts";
export { createApi } from "./http/api.ts";
export type { PublishedReceipt } from "./http/fields.ts";
export { createLimits, limitClasses } from "./http/limits.ts";
export { createMetrics, measuredStore } from "./http/metrics.ts";
export { openApiDocument } from "./http/openapi.ts";
export type { ControlPorts, Phase, Why } from "./http/ports.ts";
export { loopDelay } from "./http/process-figures.ts";
export type { Route } from "./http/route.ts";
export { createSurface, type Surface } from "./http/server.ts";
export { createTokens } from "./http/tokens.ts";
export { answerOnce } from "./http/wire.ts";
export { createWrites } from "./http/writes.ts";
export type { LocksClient } from "./locks/locks-client.ts";
export { type ReplicaPort, replicaOver } from "./models/replica-client.ts";
export {
  beatOver,
  eventsOver,
  type Joined,
  joinOver,
  leaveOver,
  metricsOver,
  type NodeAbout,
  settingsOver,
} from "./nodes/node-client.ts";
export { linksOf, linksWords, type NodeLinks } from "./nodes/node-links.ts";
export type { NodesClient } from "./nodes/nodes-client.ts";
export { listNodes } from "./nodes/wire.ts";
export { createPipelineTeller } from "./pipeline/changes.ts";
export { type PipelineFigures, pipelineLines } from "./pipeline/screen.ts";
export { unknownConfig } from "./pipeline/unknown-config.ts";
export type { WorkQueueClient } from "./queue/jobs-client.ts";
export { queueOver } from "./queue/work-client.ts";
export { allRoutes } from "./routes.ts";
export { causeOfDaemon, causeOfFault, diagnose } from "./status/diagnosis.ts";
export { statusOf, troubleFacts } from "./status/report.ts";
export { createToken, revokeToken } from "./tokens/wire.ts";
export { pageFolder, readPage } from "./web/page-files.ts";

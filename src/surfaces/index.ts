/**
 * surfaces: how people and other processes reach the system.
 *
 * The local API (HTTP on a Unix socket and on loopback) is the only door to a running system; the client, the Python client
 * and every command go through it. It validates every byte from outside, bounds every size, and writing over the port
 * needs the token of the data folder.
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
export { ENDPOINT_FILE, type EndpointFile, findEndpoint, TOKEN_FILE } from "./client/endpoint.ts";
export { type ApiOptions, createApi } from "./http/api.ts";
export { type Listening, serveApi } from "./http/server.ts";

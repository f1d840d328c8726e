/**
 * What `import ... from "ringrift-coordination/client"` gives: publishing to and subscribing at a system that runs in
 * another process of this machine.
 */
export {
  Client,
  type ClientHandler,
  type ClientHandlerContext,
  type ClientOptions,
  type ClientPublishOptions,
  connect,
  type LocksClient,
  type NodesClient,
  type PublishedReceipt,
  type SubscribeOptions,
  type Subscription,
  type WorkQueueClient,
} from "./surfaces/index.ts";

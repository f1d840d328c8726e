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
  type PublishedReceipt,
  type SubscribeOptions,
  type Subscription,
} from "./surfaces/index.ts";

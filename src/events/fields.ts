/**
 * The vocabulary of payloads: one key for one meaning, one parser for each kind of id. Ids are branded, so that a handler
 * cannot mistake a node for a model; emitters may hand in plain strings, which are checked.
 */
import { z } from "zod";

const id = <const B extends string>(about: string) => z.string().min(1).max(200).brand<B>().describe(about);

export type ConfigKey = `${string}_${2 | 3 | 4}p`;

/** Board and number of players, as in "hex8_2p". */
export const configKey = z
  .templateLiteral([z.string().min(1).max(60), "_", z.enum(["2", "3", "4"]), "p"])
  .describe("board and number of players, as in hex8_2p");

export const nodeId = id<"NodeId">("node of the cluster");
export const modelId = id<"ModelId">("model, by content");
export const jobId = id<"JobId">("queued job that does the work");
export const workId = id<"WorkId">("item of the work queue");
export const taskId = id<"TaskId">("running task");
export const runId = id<"RunId">("run of a search or optimisation");
export const syncId = id<"SyncId">("one transfer run");
export const batchId = id<"BatchId">("batch of jobs");
export const clusterId = id<"ClusterId">("cluster");
export const consumerName = id<"ConsumerName">("consumer of events, by its stable name");
export const eventId = id<"EventId">("event");

/** SHA-256 in hex. */
export const artifactHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .brand<"ArtifactHash">()
  .describe("SHA-256 of the artifact, in hex");

export const text = (about: string) => z.string().max(10_000).describe(about);
export const word = (about: string) => z.string().min(1).max(200).describe(about);
export const count = (about: string) => z.int().min(0).describe(about);
export const number = (about: string) => z.number().describe(about);
export const share = (about: string) => z.number().min(0).max(1).describe(`${about} (0 to 1)`);
export const seconds = (about: string) => z.number().min(0).describe(`${about}, in seconds`);
export const flag = (about: string) => z.boolean().describe(about);
export const unixTime = (about: string) => z.number().min(0).describe(`${about}, in Unix seconds`);
export const oneOf = <const T extends readonly [string, ...string[]]>(about: string, values: T) =>
  z.enum(values).describe(about);
export const list = <T extends z.ZodType>(about: string, of: T) => z.array(of).max(10_000).describe(about);
export const numbers = (about: string) => z.record(z.string().max(200), z.number()).describe(about);
export const details = (about: string) => z.record(z.string().max(200), z.json()).describe(about);

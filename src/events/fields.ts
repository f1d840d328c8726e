/**
 * The vocabulary of payloads: one key for one meaning, one parser for each kind of id. Ids are branded, so that a handler
 * cannot mistake a node for a model; emitters may hand in plain strings, which are checked. A field that more than one
 * event carries is written here once; a test compares the schemas of equal keys over the whole catalog.
 */
import { z } from "zod";
import type { Json } from "../kernel/index.ts";
import { isJson } from "./bounds.ts";

/** Ids travel in headers, URLs and log lines: printable, and not endless. */
const id = <const B extends string>(about: string) =>
  z
    .string()
    .regex(/^\P{C}{1,200}$/u, "must be 1 to 200 printable characters")
    .describe(about)
    .brand<B>();

// Kinds of values.

export const text = (about: string) => z.string().max(10_000).describe(about);
export const word = (about: string) => z.string().min(1).max(200).describe(about);
export const count = (about: string) => z.int().min(0).describe(about);
/** A count that is evidence: nothing is not enough. */
export const some = (about: string) => z.int().min(1).describe(about);
/** Always finite. */
export const number = (about: string) => z.number().describe(about);
export const amount = (about: string) => z.number().min(0).describe(about);
export const positive = (about: string) => z.number().gt(0).describe(about);
export const share = (about: string) => z.number().min(0).max(1).describe(`${about} (0 to 1)`);
export const seconds = (about: string) => z.number().min(0).describe(`${about}, in seconds`);
export const flag = (about: string) => z.boolean().describe(about);
export const unixTime = (about: string) => z.number().min(0).describe(`${about}, in Unix seconds`);
export const oneOf = <const T extends readonly [string, ...string[]]>(about: string, values: T) =>
  z.enum(values).describe(about);
export const list = <T extends z.ZodType>(about: string, of: T) => z.array(of).max(10_000).describe(about);
export const numbers = (about: string) => z.record(z.string().max(200), z.number()).describe(about);
export const details = (about: string) =>
  z.record(z.string().max(200), z.custom<Json>(isJson, "must be a JSON value")).describe(about);

// Ids.

export type ConfigKey = `${string}_${2 | 3 | 4}p`;

/** Board and number of players, as in "hex8_2p". */
export const configKey = z
  .templateLiteral([z.string().regex(/^[a-z0-9][a-z0-9_-]{0,59}$/), "_", z.enum(["2", "3", "4"]), "p"])
  .describe("board and number of players, as in hex8_2p");

export const nodeId = id<"NodeId">("node of the cluster");
export const modelId = id<"ModelId">("model, by content");
export const jobId = id<"JobId">("one undertaking of the pipeline, as in a training run");
export const workId = id<"WorkId">("item of the work queue");
export const taskId = id<"TaskId">("running task");
export const runId = id<"RunId">("run of a search or optimisation");
export const syncId = id<"SyncId">("one transfer run");
export const batchId = id<"BatchId">("batch of jobs");
export const clusterId = id<"ClusterId">("cluster");
export const consumerName = id<"ConsumerName">("consumer of events, by its stable name");
export const eventId = id<"EventId">("event");
export const coordinatorName = id<"CoordinatorName">("coordinator, by its registry name");
export const daemonName = id<"DaemonName">("daemon, by its type");
export const component = id<"Component">("part of the system that speaks");
export const lockName = id<"LockName">("lock");
export const scope = id<"Scope">("what it applies to: a queue, a node, a provider or the cluster");
export const provider = id<"Provider">("where the machine is rented, as in vast or lambda");

/** SHA-256 in hex. */
export const artifactHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex")
  .brand<"ArtifactHash">()
  .describe("SHA-256 of the artifact, in hex");

export const configKeys = list("configs", configKey);
export const nodeIds = list("nodes", nodeId);
export const artifactHashes = list("artifacts, each by its SHA-256", artifactHash);

// The same as types, for what keeps or passes them on.

export type NodeId = z.output<typeof nodeId>;
export type ModelId = z.output<typeof modelId>;
export type JobId = z.output<typeof jobId>;
export type WorkId = z.output<typeof workId>;
export type TaskId = z.output<typeof taskId>;
export type RunId = z.output<typeof runId>;
export type SyncId = z.output<typeof syncId>;
export type BatchId = z.output<typeof batchId>;
export type ClusterId = z.output<typeof clusterId>;
export type ConsumerName = z.output<typeof consumerName>;
export type EventId = z.output<typeof eventId>;
export type CoordinatorName = z.output<typeof coordinatorName>;
export type DaemonName = z.output<typeof daemonName>;
export type Component = z.output<typeof component>;
export type LockName = z.output<typeof lockName>;
export type Scope = z.output<typeof scope>;
export type Provider = z.output<typeof provider>;
export type ArtifactHash = z.output<typeof artifactHash>;

// What happened, and why.

export const error = text("what went wrong");
export const errorCode = word("stable code of the error");
export const retryable = flag("whether the same may succeed later without anybody changing anything");
export const reason = text("why, for a reader");
export const message = text("what to tell the operator");
export const recommendation = text("what would help");
export const action = text("what is being done about it");
export const trigger = word("what set it off");
export const attempts = some("tries spent, this one included");
export const requestedBy = word("who asked for it");

// Closed sets.

export const severity = oneOf("how bad it is", ["info", "warning", "error", "critical"]);
export const regressionSeverity = oneOf("how far strength fell", ["minor", "moderate", "severe", "critical"]);
export const trend = oneOf("direction", ["improving", "stable", "declining"]);
export const urgency = oneOf("how soon it is wanted", ["low", "normal", "high", "critical"]);
/** One scale for all pressure, from nothing to stop. */
export const level = oneOf(
  "pressure: queues use none, soft, hard, stop; resources use none, low, medium, high, critical",
  ["none", "low", "soft", "medium", "hard", "high", "critical", "stop"],
);
export const dataType = oneOf("kind of data", ["games", "models", "npz", "all"]);
export const resource = oneOf("resource that is short", ["cpu", "gpu", "memory", "disk", "network"]);
export const pipelineStage = oneOf("stage of the pipeline", [
  "selfplay",
  "data_sync",
  "npz_export",
  "npz_combination",
  "training",
  "evaluation",
  "promotion",
]);
export const recoveryAction = oneOf("step of the recovery ladder", [
  "none",
  "notify",
  "reconnect",
  "soft_restart",
  "restart",
  "reboot",
  "reprovision",
  "failover",
  "retire",
]);
export const qualityBand = oneOf("band of the quality score", ["excellent", "good", "degraded", "poor"]);
export const health = oneOf("state of health", ["running", "degraded", "stopped"]);
export const trainingKind = oneOf("kind of training run", ["standard", "cascade", "distillation", "nnue"]);

// Games, samples, strength.

export const games = some("games");
export const totalGames = count("games counted in total");
export const samples = some("training samples");
export const elo = number("Elo rating");
export const previousElo = number("Elo rating before");
export const eloChange = number("change of the Elo rating");
export const eloLow = number("lower end of the rating's interval");
export const eloHigh = number("upper end of the rating's interval");
export const eloPerDay = number("Elo gained per day");
export const winRate = share("share of games won");
export const winRates = numbers("share of games won, by opponent");
export const opponents = list("opponents: baselines or models", word("opponent"));
export const qualityScore = share("quality of the data");
export const previousQualityScore = share("quality of the data before");
export const loss = positive("training loss");
export const finalLoss = positive("training loss at the end");
export const validationLoss = positive("loss on held-out samples");
export const trainingEpoch = count("epoch of training");
export const epochs = some("epochs of training");
export const architecture = word("network architecture");
export const previousModelId = modelId.describe("model that held the place before");
export const baseModelId = modelId.describe("model that training starts from");
export const tier = word("difficulty tier");
export const previousTier = word("difficulty tier before");
export const generation = count("generation of the search");
export const generations = some("generations of the search");
export const bestScore = number("best score so far");
export const bestParameters = numbers("best parameters, by name");
export const parameters = numbers("parameters, by name");
export const rateMultiplier = amount("factor on the rate of selfplay");
export const weight = amount("curriculum weight of the config");
export const previousWeight = amount("curriculum weight before");

// Bytes, time, machines.

export const durationSeconds = seconds("how long it took");
export const timeoutSeconds = seconds("time limit");
export const silentSeconds = seconds("time since the last sign of life");
export const idleSeconds = seconds("time without work or progress");
export const stalledSeconds = seconds("time without progress");
export const downtimeSeconds = seconds("time it was out of service");
export const uptimeSeconds = seconds("time it has been up");
export const dataAgeSeconds = seconds("age of the newest data");
export const maxAgeSeconds = seconds("age that is still accepted");
export const lastSeenAt = unixTime("last sign of life");
export const lastSuccessAt = unixTime("last success");
export const expiresAt = unixTime("when it ends unless renewed");
export const artifacts = count("number of artifacts");
export const artifactBytes = count("size of the artifact, in bytes");
export const bytesTransferred = count("bytes moved");
export const sourceNodeId = nodeId.describe("node that holds the original");
export const targetNodeId = nodeId.describe("node that shall receive");
export const targetNodeIds = list("nodes that shall receive", nodeId);
export const transport = word("way of transfer, as in http or rsync");
export const consecutiveFailures = some("failures in a row");
export const threshold = number("limit it was compared with");
export const usage = share("share of the resource in use");
export const cpuUsage = share("share of the processors in use");
export const memoryUsage = share("share of the memory in use");
export const gpuUsage = share("share of the accelerators in use");
export const diskUsage = share("share of the disk in use");
export const gpus = count("accelerators");
export const gpuName = word("kind of accelerator");
export const gpuMemoryGb = amount("memory of the accelerator, in GB");
export const gpuMemoryFreeGb = amount("free memory of the accelerator, in GB");
export const address = word("network address");
export const instanceId = word("name of the machine at its provider");
export const costPerHourUsd = amount("price per hour, in US dollars");
export const healthyNodes = count("nodes that are healthy");
export const totalNodes = count("nodes that belong to the cluster");
export const queueDepth = count("items waiting");
export const jobs = count("jobs");
export const healthScore = share("health score");
export const restarts = count("restarts so far");

// Work, leadership, dead letters.

export const workType = word("kind of work, as in selfplay or training");
export const priority = z.int().min(0).max(100).describe("priority of the work, higher first (0 to 100)");
export const result = details("what the work returned");
export const epoch = count("number of the leadership; it only grows, and is the fence");
export const leaderNodeId = nodeId.describe("node that leads");
export const previousLeaderNodeId = nodeId.describe("node that led before");
export const eventType = word("event, by its name");
export const eventTypes = list("events, by their names", word("event"));
export const deadLetters = some("dead letters");

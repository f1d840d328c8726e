/**
 * The vocabulary of payloads: one key for one meaning, one parser for each kind of id. Ids are branded, so that a handler
 * cannot mistake a node for a model; emitters may hand in plain strings, which are checked. A field that more than one
 * event carries is written here once; a test compares the schemas of equal keys over the whole catalog.
 */
import { z } from "zod";

import { type Json, lazyTable } from "../kernel/index.ts";

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
  .templateLiteral([z.string().regex(/^[a-z0-9][a-z0-9_-]{0,59}$/), "_", z.enum(["2", "3", "4"]), "p"], {
    error: "must be a board and its number of players, for example hex8_2p",
  })
  .describe("board and number of players, as in hex8_2p");

export const nodeId = id<"NodeId">("node of the cluster");
export const modelId = id<"ModelId">("model, by content");

/** SHA-256 in hex. */
export const artifactHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex")
  .brand<"ArtifactHash">()
  .describe("SHA-256 of the artifact, in hex");

/** Every field that more than one event carries, by the key that it has in all of them. */
export const field = lazyTable({
  config_key: () => configKey,
  node_id: () => nodeId,
  model_id: () => modelId,
  job_id: () => id<"JobId">("one undertaking of the pipeline, as in a training run"),
  work_id: () => id<"WorkId">("item of the work queue"),
  task_id: () => id<"TaskId">("running task"),
  run_id: () => id<"RunId">("run of a search or optimisation"),
  sync_id: () => id<"SyncId">("one transfer run"),
  batch_id: () => id<"BatchId">("batch of jobs"),
  cluster_id: () => id<"ClusterId">("cluster"),
  consumer: () => id<"ConsumerName">("consumer of events, by its stable name"),
  event_id: () => id<"EventId">("event"),
  coordinator_name: () => id<"CoordinatorName">("coordinator, by its registry name"),
  daemon_name: () => id<"DaemonName">("daemon, by its type"),
  component: () => id<"Component">("part of the system that speaks"),
  lock_name: () => id<"LockName">("lock"),
  scope: () => id<"Scope">("what it applies to: a queue, a node, a provider or the cluster"),
  provider: () => id<"Provider">("where the machine is rented, as in vast or lambda"),
  artifact_hash: () => artifactHash,
  config_keys: () => list("configs", configKey),
  node_ids: () => list("nodes", nodeId),
  artifact_hashes: () => list("artifacts, each by its SHA-256", artifactHash),

  // What happened, and why.
  error: () => text("what went wrong"),
  error_code: () => word("stable code of the error"),
  retryable: () => flag("whether the same may succeed later without anybody changing anything"),
  reason: () => text("why, for a reader"),
  message: () => text("what to tell the operator"),
  recommendation: () => text("what would help"),
  action: () => text("what is being done about it"),
  trigger: () => word("what set it off"),
  attempts: () => some("tries spent, this one included"),
  requested_by: () => word("who asked for it"),

  // Closed sets.
  severity: () => oneOf("how bad it is", ["info", "warning", "error", "critical"]),
  regression_severity: () => oneOf("how far strength fell", ["minor", "moderate", "severe", "critical"]),
  trend: () => oneOf("direction", ["improving", "stable", "declining"]),
  urgency: () => oneOf("how soon it is wanted", ["low", "normal", "high", "critical"]),
  /** One scale for all pressure, from nothing to stop. */
  level: () =>
    oneOf("pressure: queues use none, soft, hard, stop; resources use none, low, medium, high, critical", [
      "none",
      "low",
      "soft",
      "medium",
      "hard",
      "high",
      "critical",
      "stop",
    ]),
  data_type: () => oneOf("kind of data", ["games", "models", "npz", "all"]),
  resource: () => oneOf("resource that is short", ["cpu", "gpu", "memory", "disk", "network"]),
  pipeline_stage: () =>
    oneOf("stage of the pipeline", [
      "selfplay",
      "data_sync",
      "npz_export",
      "npz_combination",
      "training",
      "evaluation",
      "promotion",
    ]),
  recovery_action: () =>
    oneOf("step of the recovery ladder", [
      "none",
      "notify",
      "reconnect",
      "soft_restart",
      "restart",
      "reboot",
      "reprovision",
      "failover",
      "retire",
    ]),
  quality_band: () => oneOf("band of the quality score", ["excellent", "good", "degraded", "poor"]),
  health: () => oneOf("state of health", ["running", "degraded", "stopped"]),
  training_kind: () => oneOf("kind of training run", ["standard", "cascade", "distillation", "nnue"]),

  // Games, samples, strength.
  games: () => some("games"),
  total_games: () => count("games counted in total"),
  samples: () => some("training samples"),
  elo: () => number("Elo rating"),
  previous_elo: () => number("Elo rating before"),
  elo_change: () => number("change of the Elo rating"),
  elo_low: () => number("lower end of the rating's interval"),
  elo_high: () => number("upper end of the rating's interval"),
  elo_per_day: () => number("Elo gained per day"),
  win_rate: () => share("share of games won"),
  win_rates: () => numbers("share of games won, by opponent"),
  opponents: () => list("opponents: baselines or models", word("opponent")),
  quality_score: () => share("quality of the data"),
  previous_quality_score: () => share("quality of the data before"),
  loss: () => positive("training loss"),
  final_loss: () => positive("training loss at the end"),
  validation_loss: () => positive("loss on held-out samples"),
  training_epoch: () => count("epoch of training"),
  epochs: () => some("epochs of training"),
  architecture: () => word("network architecture"),
  previous_model_id: () => modelId.describe("model that held the place before"),
  base_model_id: () => modelId.describe("model that training starts from"),
  tier: () => word("difficulty tier"),
  previous_tier: () => word("difficulty tier before"),
  generation: () => count("generation of the search"),
  generations: () => some("generations of the search"),
  best_score: () => number("best score so far"),
  best_parameters: () => numbers("best parameters, by name"),
  parameters: () => numbers("parameters, by name"),
  rate_multiplier: () => amount("factor on the rate of selfplay"),
  weight: () => amount("curriculum weight of the config"),
  previous_weight: () => amount("curriculum weight before"),

  // Bytes, time, machines.
  duration_seconds: () => seconds("how long it took"),
  timeout_seconds: () => seconds("time limit"),
  silent_seconds: () => seconds("time since the last sign of life"),
  idle_seconds: () => seconds("time without work or progress"),
  stalled_seconds: () => seconds("time without progress"),
  downtime_seconds: () => seconds("time it was out of service"),
  uptime_seconds: () => seconds("time it has been up"),
  data_age_seconds: () => seconds("age of the newest data"),
  max_age_seconds: () => seconds("age that is still accepted"),
  last_seen_at: () => unixTime("last sign of life"),
  last_success_at: () => unixTime("last success"),
  expires_at: () => unixTime("when it ends unless renewed"),
  artifacts: () => count("number of artifacts"),
  artifact_bytes: () => count("size of the artifact, in bytes"),
  bytes_transferred: () => count("bytes moved"),
  source_node_id: () => nodeId.describe("node that holds the original"),
  target_node_id: () => nodeId.describe("node that shall receive"),
  target_node_ids: () => list("nodes that shall receive", nodeId),
  transport: () => word("way of transfer, as in http or rsync"),
  consecutive_failures: () => some("failures in a row"),
  threshold: () => number("limit it was compared with"),
  usage: () => share("share of the resource in use"),
  cpu_usage: () => share("share of the processors in use"),
  cpu_others: () => share("share of the processors that other programs take"),
  memory_usage: () => share("share of the memory in use"),
  gpu_usage: () => share("share of the accelerators in use"),
  disk_usage: () => share("share of the disk in use"),
  gpus: () => count("accelerators"),
  gpu_name: () => word("kind of accelerator"),
  gpu_memory_gb: () => amount("memory of the accelerator, in GB"),
  gpu_memory_free_gb: () => amount("free memory of the accelerator, in GB"),
  address: () => word("network address"),
  instance_id: () => word("name of the machine at its provider"),
  cost_per_hour_usd: () => amount("price per hour, in US dollars"),
  healthy_nodes: () => count("nodes that are healthy"),
  total_nodes: () => count("nodes that belong to the cluster"),
  queue_depth: () => count("items waiting"),
  jobs: () => count("jobs"),
  health_score: () => share("health score"),
  restarts: () => count("restarts so far"),

  // Work, leadership, dead letters.
  work_type: () => word("kind of work, as in selfplay or training"),
  priority: () => z.int().min(0).max(100).describe("priority of the work, higher first (0 to 100)"),
  result: () => details("what the work returned"),
  epoch: () => count("number of the leadership; it only grows, and is the fence"),
  leader_node_id: () => nodeId.describe("node that leads"),
  previous_leader_node_id: () => nodeId.describe("node that led before"),
  event_type: () => word("event, by its name"),
  event_types: () => list("events, by their names", word("event")),
  dead_letters: () => some("dead letters"),
});

/** For what keeps ids or passes them on. */
export type NodeId = z.output<typeof nodeId>;
export type ModelId = z.output<typeof modelId>;

type Key = keyof typeof field;
type Carried<K extends Key | `${Key}?`> = {
  readonly [P in K as P extends `${infer N}?` ? N : P]: P extends `${infer N extends Key}?`
    ? z.ZodOptional<(typeof field)[N]>
    : P extends Key
      ? (typeof field)[P]
      : never;
};

/** The fields of these keys; one that ends in `?` may be left out. */
export const fields = <const K extends Key | `${Key}?`>(...keys: K[]): Carried<K> =>
  Object.fromEntries(
    keys.map((each) => {
      const key = each.replace("?", "") as Key;
      return [key, key === each ? field[key] : field[key].optional()];
    }),
  ) as Carried<K>;

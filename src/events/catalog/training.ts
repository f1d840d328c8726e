import { amount, count, field, fields, flag, list, oneOf, positive, share, some } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** A training run from the wish to its end, and what its losses say. */
export const training = defineEvents("training", {
  TRAINING_THRESHOLD_REACHED: {
    about: "A config has enough new games for a training run.",
    orderKey: "config_key",
    wire: "training_threshold",
    legacy: ["TRAINING_TRIGGERED"],
    payload: () => ({
      ...fields("config_key", "samples?", "quality_score?", "training_kind?", "base_model_id?", "reason?"),
      games: field.games.describe("new games"),
      required_games: some("games that a run needs"),
    }),
  },
  TRAINING_STARTED: {
    about: "A training run began; its node must stay and gets its data first.",
    orderKey: "config_key",
    dedup: ["job_id"],
    stage: "training_started",
    critical: true,
    payload: () => ({
      ...fields("config_key", "job_id", "samples", "training_kind?", "base_model_id?"),
      node_id: field.node_id.describe("node that trains"),
      artifact_hash: field.artifact_hash.describe("the training file"),
      epochs: field.epochs.describe("epochs planned").optional(),
    }),
  },
  TRAINING_PROGRESS: {
    about: "A training run tells how far it is.",
    class: "volatile",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "job_id", "training_epoch", "loss", "validation_loss?"),
      epochs: field.epochs.describe("epochs planned").optional(),
      learning_rate: positive("learning rate").optional(),
      samples_per_second: amount("samples trained per second").optional(),
    }),
  },
  TRAINING_COMPLETED: {
    about: "A training run finished with a model; evaluation and distribution begin.",
    orderKey: "config_key",
    dedup: ["job_id"],
    legacy: ["TRAINING_COMPLETE"],
    stage: "training_complete",
    critical: true,
    payload: () => ({
      ...fields(
        "config_key",
        "job_id",
        "model_id",
        "final_loss",
        "samples",
        "duration_seconds",
        "validation_loss?",
        "architecture?",
        "training_kind?",
        "base_model_id?",
      ),
      node_id: field.node_id.describe("node that trained"),
      artifact_hash: field.artifact_hash.describe("the model's file"),
      epochs: field.epochs.describe("epochs run"),
      policy_accuracy: share("share of moves predicted").optional(),
      early_stopped: flag("whether the patience rule ended it").optional(),
    }),
  },
  TRAINING_FAILED: {
    about: "A training run ended without a model.",
    orderKey: "config_key",
    dedup: ["job_id"],
    stage: "training_failed",
    payload: () => ({
      ...fields(
        "config_key",
        "job_id",
        "error",
        "retryable",
        "error_code?",
        "training_epoch?",
        "attempts?",
        "duration_seconds?",
      ),
      node_id: field.node_id.describe("node that trained").optional(),
    }),
  },
  TRAINING_EARLY_STOPPED: {
    about: "The patience rule ended a training run, because its loss no longer improved.",
    orderKey: "config_key",
    dedup: ["job_id"],
    payload: () => ({
      ...fields("config_key", "job_id", "training_epoch", "final_loss"),
      best_loss: positive("lowest loss of the run"),
      epochs_without_improvement: count("epochs since the lowest loss").optional(),
    }),
  },
  TRAINING_LOCK_ACQUIRED: {
    about: "A run holds the training lock of its config; nobody else may train it meanwhile.",
    orderKey: "config_key",
    payload: () => fields("config_key", "job_id", "expires_at", "node_id?"),
  },
  TRAINING_SLOT_UNAVAILABLE: {
    about: "A requested training run has to wait, with the reason.",
    orderKey: "config_key",
    dedup: ["config_key"],
    payload: () => ({
      ...fields("config_key"),
      waits_for: oneOf("what is missing", ["config_lock", "cluster_slot", "fitting_node", "healthy_cluster"]),
      running_runs: count("runs under way"),
      allowed_runs: count("runs allowed at a time"),
    }),
  },
  TRAINING_BLOCKED_BY_QUALITY: {
    about: "Training of a config is withheld, because its data is too poor.",
    orderKey: "config_key",
    dedup: ["config_key"],
    payload: () => ({
      ...fields("config_key", "quality_score", "reason?", "recommendation?", "data_age_seconds?"),
      threshold: field.threshold.describe("quality that is needed"),
      quality_history: list("quality scores before, oldest first", share("quality of the data")).optional(),
    }),
  },
  TRAINING_LOSS_ANOMALY: {
    about: "The loss of a run left its expected band.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "job_id", "training_epoch", "loss?"),
      anomaly: oneOf("what the loss did; one that is not finite has no value", ["spike", "drop", "not_finite"]),
      expected_loss: positive("loss that was expected").optional(),
      threshold: field.threshold.describe("factor that counts as an anomaly").optional(),
    }),
  },
  TRAINING_LOSS_TREND: {
    about: "The direction of a run's loss changed.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "job_id", "training_epoch", "trend", "loss"),
      previous_loss: positive("loss at the start of the window"),
      window_epochs: some("epochs looked at").optional(),
    }),
  },
  TRAINING_ROLLBACK_NEEDED: {
    about: "Training of a config should go back to an earlier checkpoint.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "reason", "regression_severity?", "job_id?"),
      model_id: field.model_id.describe("model that went wrong"),
    }),
  },
  TRAINING_ROLLBACK_COMPLETED: {
    about: "Training of a config is back at an earlier checkpoint.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "reason"),
      model_id: field.model_id.describe("model that was left behind"),
      restored_model_id: field.model_id.describe("model that is in force again"),
      artifact_hash: field.artifact_hash.describe("checkpoint that was restored"),
    }),
  },
  CHECKPOINT_SAVED: {
    about: "A training run wrote a checkpoint that it can go back to.",
    orderKey: "config_key",
    dedup: ["config_key", "artifact_hash"],
    payload: () => ({
      ...fields("config_key", "job_id", "training_epoch", "loss?", "artifact_bytes?"),
      artifact_hash: field.artifact_hash.describe("the checkpoint"),
    }),
  },
  CHECKPOINT_LOADED: {
    about: "A training run resumed from a checkpoint.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "job_id", "training_epoch"),
      artifact_hash: field.artifact_hash.describe("the checkpoint"),
      node_id: field.node_id.describe("node that trains").optional(),
    }),
  },
  PER_BUFFER_REBUILT: {
    about: "The prioritized replay buffer of a config was rebuilt; training may use it.",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key", "duration_seconds?"),
      samples: field.samples.describe("samples in the buffer"),
      artifact_hash: field.artifact_hash.describe("the buffer"),
    }),
  },
  PER_PRIORITIES_UPDATED: {
    about: "The samples in a replay buffer have new priorities.",
    class: "process",
    orderKey: "config_key",
    payload: () => ({
      ...fields("config_key"),
      samples: field.samples.describe("samples with a new priority"),
      max_priority: amount("highest priority").optional(),
      min_priority: amount("lowest priority").optional(),
    }),
  },
});

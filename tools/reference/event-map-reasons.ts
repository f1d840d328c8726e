/** Why an edge of the map of events is not drawn here, by unit. */

export interface Reason {
  readonly events: readonly string[];
  readonly why: string;
}

const why = (reason: string, ...events: readonly string[]): Reason => ({ events, why: reason });

/** Events that the map has a unit emit, and another one tells here. */
export const toldByOthers: Readonly<Record<string, readonly Reason[]>> = {
  auto_sync: [
    why(
      "artifact_store tells it of every file that comes in, whichever way it came; auto_sync orders transfers",
      "DATA_SYNC_STARTED",
      "DATA_SYNC_COMPLETED",
      "DATA_SYNC_FAILED",
    ),
  ],
  queue_populator: [
    why("training_trigger judges all gates of a run, games among them, and tells it", "TRAINING_THRESHOLD_REACHED"),
  ],
  worker: [
    why(
      "a worker reports to the queue, under its fence; training_coordinator tells it from the row of the job",
      "TRAINING_PROGRESS",
      "TRAINING_EARLY_STOPPED",
      "CHECKPOINT_SAVED",
      "CHECKPOINT_LOADED",
    ),
    why(
      "work_store tells it in the commit that changes the job: a worker whose lease is over tells nothing",
      "TASK_SPAWNED",
      "TASK_HEARTBEAT",
      "TASK_COMPLETED",
      "TASK_FAILED",
      "TASK_CANCELLED",
      "TASK_ABANDONED",
    ),
  ],
  job_scheduler: [why("work_store tells it in the commit that takes the job back", "JOB_PREEMPTED")],
  job_reaper: [why("work_store tells it in the commit that takes the job back", "TASK_ORPHANED")],
  feedback_loop: [
    why("metrics_orchestrator keeps the windows, and one unit owns the word (decision 56)", "PLATEAU_DETECTED"),
    why("training_trigger asks where a score is lacking; feedback_loop reads gates", "QUALITY_CHECK_REQUESTED"),
  ],
  metrics_orchestrator: [
    why(
      "training_coordinator tells it with the run whose losses they are",
      "TRAINING_LOSS_ANOMALY",
      "TRAINING_LOSS_TREND",
    ),
  ],
  selfplay_scheduler: [
    why("model_coordinator asks, which knows that the file of a champion is damaged", "MODEL_SYNC_REQUESTED"),
  ],
  bootstrap: [why("daemon_watchdog tells it, at the start as at any time", "COORDINATOR_UNHEALTHY")],
};

const PRESSURE = ["BACKPRESSURE_ACTIVATED", "BACKPRESSURE_RELEASED"] as const;
const NODES = ["NODE_UNHEALTHY", "NODE_RECOVERED"] as const;
const CLUSTER = ["P2P_CLUSTER_HEALTHY", "P2P_CLUSTER_UNHEALTHY"] as const;
const HELD = "daemon_control holds who brings work in while nobody is left to do it";
const CLAIMS = "who gets a job is asked at every claim: an ill node gets none, and a lost one's jobs are taken back";

/** Events that the map has a unit hear, and it does not. Those of coordinators may stand in the subscriptions instead. */
export const notHeard: Readonly<Record<string, readonly Reason[]>> = {
  training_coordinator: [
    why("training does not change while parameters of self-play are searched (decision 58)", "CMAES_TRIGGERED"),
    why("population_search trains the networks of a search; the line waits for its end (decision 70)", "NAS_TRIGGERED"),
    why(
      "tuned parameters are those of self-play; what training has of its own comes as a knob",
      "ADAPTIVE_PARAMS_CHANGED",
    ),
    why("it is the one that emits it", "TRAINING_LOSS_ANOMALY", "CHECKPOINT_SAVED", "TRAINING_EARLY_STOPPED"),
  ],
  queue_populator: [
    why("whose turn it is stands in the row of the iteration", "NEW_GAMES_AVAILABLE", "TRAINING_COMPLETED"),
    why(
      "the games of an iteration are fixed when it opens; poor ones are rejected and played again",
      "TRAINING_BLOCKED_BY_QUALITY",
    ),
    why(HELD, ...CLUSTER),
    why(CLAIMS, ...NODES, "P2P_NODE_DEAD"),
    why("a job that times out or is given back goes back into the queue by itself", "WORK_TIMEOUT", "TASK_ABANDONED"),
  ],
  quality_monitor_daemon: [
    why(
      "it judges a batch when DATA_SYNC_COMPLETED or its turn wakes it, before games count as new",
      "NEW_GAMES_AVAILABLE",
    ),
    why("a gate changes nothing about games", "EVALUATION_STARTED"),
  ],
  sync_router: [
    why(
      "replication_daemon counts copies and asks for those that are lacking (REPLICATION_ALERT)",
      "NEW_GAMES_AVAILABLE",
    ),
    why("training_activity fetches what a run needs, and tells DATA_STALE", "TRAINING_STARTED"),
    why("HOST_OFFLINE and HOST_ONLINE tell it of the same", "P2P_NODE_DEAD", "NODE_RECOVERED"),
    why("which nodes there are it reads when it plans a transfer", "CLUSTER_CAPACITY_CHANGED"),
  ],
  sync_coordinator: [
    why("a file counts when it has arrived: DATA_SYNC_COMPLETED", "NEW_GAMES_AVAILABLE", "DATA_SYNC_STARTED"),
    why("auto_sync brings the best games first", "HIGH_QUALITY_DATA_AVAILABLE"),
  ],
  replication_daemon: [
    why("it reads every artifact that lacks copies from the catalog", "NEW_GAMES_AVAILABLE", "DATABASE_CREATED"),
  ],
  selfplay_scheduler: [
    why("a temperature moves no share; what gates make of it comes as EXPLORATION_ADJUSTED", "SCHEDULER_REGISTERED"),
    why("a config whose games wait for data shows that in its stage, which it hears of", "DATA_SYNC_COMPLETED"),
    why(
      "evaluation holds back training alone; games that wait are not worse for it",
      "EVALUATION_BACKPRESSURE",
      "EVALUATION_BACKPRESSURE_RELEASED",
    ),
    why("who may play with the new champion is asked when a job is put out", "MODEL_DISTRIBUTION_COMPLETE"),
    why(
      "one champion plays all games of a config: no architecture has a share of them (decision 70)",
      "ARCHITECTURE_WEIGHTS_UPDATED",
    ),
    why("age of the last games is a factor of the share already", "PROGRESS_STALL_DETECTED", "PROGRESS_RECOVERED"),
    why("job_scheduler gives such a node other work, so its room is still room", "NODE_INCOMPATIBLE_WITH_WORKLOAD"),
    why(
      "global_task_coordinator gives such a node fewer jobs; what it has free idle_resource_daemon tells anew",
      "RESOURCE_CONSTRAINT_DETECTED",
    ),
  ],
  pipeline_orchestrator: [
    why(
      "a start moves no config on; the row of the stage says that it runs",
      "NPZ_EXPORT_STARTED",
      "NPZ_COMBINATION_STARTED",
      "TRAINING_STARTED",
      "EVALUATION_STARTED",
      "PROMOTION_STARTED",
      "PARITY_VALIDATION_STARTED",
    ),
    why("training_coordinator acts on it; the turn is training's already", "TRAINING_THRESHOLD_REACHED"),
    why("shares move games in time, and no turn", "CURRICULUM_REBALANCED"),
    why(
      "it takes the knobs from the gates when it opens an iteration (decision 57)",
      "CURRICULUM_ADVANCED",
      "EXPLORATION_BOOST",
    ),
    why(
      "queue_populator waits for a search; the turn stays self-play's (decision 58)",
      "CMAES_TRIGGERED",
      "NAS_TRIGGERED",
    ),
    why("the verdict on a batch stands in the row of data_sync", "QUALITY_DISTRIBUTION_CHANGED"),
    why("training_trigger waits or skips, and that stands in the row of training", "TRAINING_BLOCKED_BY_QUALITY"),
    why(
      "a champion that got weaker stays until model_rollback crowns another one, and the next iteration takes that one from its row",
      "REGRESSION_DETECTED",
    ),
    why(
      "games of the loop count when their stage ends; those that somebody brought data_consolidation puts into the next training file",
      "DATABASE_CREATED",
    ),
    why(
      "units follow the jobs of their stage, and their row wakes it",
      "WORK_QUEUED",
      "WORK_FAILED",
      "WORK_TIMEOUT",
      "TASK_COMPLETED",
      "TASK_ABANDONED",
    ),
    why("pressure and lack slow down who puts jobs out, and no turn", ...PRESSURE, "RESOURCE_CONSTRAINT_DETECTED"),
  ],
  training_trigger: [
    why("it is the one that emits it", "TRAINING_THRESHOLD_REACHED"),
    why("ratings depend on load; a run follows from the rows of its data", "ELO_VELOCITY_CHANGED"),
    why("parameters of self-play open no gate of training", "ADAPTIVE_PARAMS_CHANGED"),
  ],
  metrics_orchestrator: [
    why(
      "a measure is taken when a run or a gate has ended, not on its way",
      "TRAINING_PROGRESS",
      "EVALUATION_PROGRESS",
    ),
    why("strength is measured by gates; ratings stand in the ladder (decision 56)", "ELO_UPDATED"),
    why("it is the one that emits it", "PLATEAU_DETECTED", "METRICS_UPDATED"),
    why("per_orchestrator brings its own figures by METRICS_UPDATED", "PER_BUFFER_REBUILT"),
    why(
      "the metrics of the process count events of every name already",
      "BATCH_DISPATCHED",
      "CACHE_INVALIDATED",
      "P2P_MODEL_SYNCED",
      "MODEL_DISTRIBUTION_STARTED",
      "ORPHAN_GAMES_REGISTERED",
      "RECOVERY_INITIATED",
      "RECOVERY_COMPLETED",
      "RECOVERY_FAILED",
      "WORK_STARTED",
      "WORK_CANCELLED",
      "DATA_BACKUP_COMPLETED",
      "TASK_SPAWNED",
      "TASK_CANCELLED",
      "COORDINATOR_HEALTHY",
      "COORDINATOR_SHUTDOWN",
      "DISK_CLEANUP_TRIGGERED",
    ),
  ],
  optimization_coordinator: [
    why("a search begins with an iteration, never within a run", "TRAINING_PROGRESS"),
    why("it applies what has won the proof, when the search has ended", "NAS_BEST_ARCHITECTURE"),
  ],
  feedback_loop: [
    why(
      "gates decide what is played (decision 57), and the end of a gate wakes it",
      "TRAINING_COMPLETED",
      "MODEL_PROMOTED",
      "PROMOTION_REJECTED",
      "SELFPLAY_COMPLETE",
    ),
    why("a gate that failed has no verdict to read", "EVALUATION_FAILED"),
    why("ratings depend on load: they turn no knob that changes games", "ELO_UPDATED", "ELO_VELOCITY_CHANGED"),
    why(
      "optimization_coordinator applies what a search has found",
      "CMAES_COMPLETED",
      "PBT_COMPLETED",
      "NAS_COMPLETED",
    ),
    why(
      "QUALITY_SCORE_UPDATED wakes it with the same score",
      "HIGH_QUALITY_DATA_AVAILABLE",
      "QUALITY_DEGRADED",
      "QUALITY_FEEDBACK_ADJUSTED",
    ),
    why("a check that failed has the score that QUALITY_SCORE_UPDATED told, or none at all", "QUALITY_CHECK_FAILED"),
    why(
      "losses over a window that steering moves are no evidence for steering",
      "TRAINING_LOSS_ANOMALY",
      "TRAINING_LOSS_TREND",
      "TRAINING_EARLY_STOPPED",
    ),
    why(
      "checks of a champion are played when there is time, and model_rollback decides on them",
      "REGRESSION_DETECTED",
      "REGRESSION_MINOR",
      "REGRESSION_MODERATE",
      "TRAINING_ROLLBACK_NEEDED",
      "TRAINING_ROLLBACK_COMPLETED",
    ),
    why(
      "how nodes do must not change what is played",
      "HEALTH_CHECK_PASSED",
      "HEALTH_CHECK_FAILED",
      "CPU_PIPELINE_JOB_COMPLETED",
    ),
    why("where a run went on from changes nothing about what its candidate wins or loses", "CHECKPOINT_LOADED"),
  ],
  selfplay_orchestrator: [
    why("it follows jobs that are out; shares are selfplay_scheduler's", "CURRICULUM_REBALANCED"),
    why("quality_monitor_daemon rejects segments, and their parts are played again", "QUALITY_SCORE_UPDATED"),
    why(
      "another champion is for the next iteration, or queue_populator replaces it in open parts",
      "REGRESSION_DETECTED",
      "REGRESSION_CLEARED",
      "PROMOTION_ROLLED_BACK",
    ),
    why(
      "its jobs wake it by WORK_COMPLETED and WORK_FAILED, which carry what a task's event does not",
      "TASK_SPAWNED",
      "TASK_COMPLETED",
      "TASK_FAILED",
      "TASK_ORPHANED",
      "TASK_ABANDONED",
    ),
    why("queue_populator and the claim desk put out fewer jobs", ...PRESSURE, "RESOURCE_CONSTRAINT"),
    why("selfplay_scheduler lets more jobs into the queue", "IDLE_RESOURCE_DETECTED"),
  ],
  curriculum_integration: [
    why(
      "what the data is worth is a factor of its own in the share, and would count twice",
      "QUALITY_DISTRIBUTION_CHANGED",
    ),
  ],
  auto_export_daemon: [
    why("it exports what data_sync has accepted, not what was played", "SELFPLAY_COMPLETE"),
    why("a segment that is too poor is rejected before it gets here", "QUALITY_SCORE_UPDATED"),
  ],
  idle_resource_daemon: [
    why(
      "it says whether a node has room; who fills it is selfplay_scheduler, which hears these",
      "SELFPLAY_TARGET_UPDATED",
      "SELFPLAY_RATE_CHANGED",
      "QUALITY_DEGRADED",
      "EXPLORATION_BOOST",
      ...PRESSURE,
    ),
    why("a node that is ill or lost says nothing of itself; its claims are refused", ...CLUSTER, ...NODES),
    why("it measures processor and memory itself when it looks", "RESOURCE_CONSTRAINT", "MEMORY_PRESSURE"),
    why("it is the one that emits it", "IDLE_STATE_BROADCAST"),
  ],
  worker: [
    why(
      "it asks at every claim and beat, and is told there; it may be behind a network that events do not cross",
      "CACHE_INVALIDATED",
      "WORK_QUEUED",
      "WORK_CANCELLED",
      "JOB_PREEMPTED",
    ),
    why("global_task_coordinator hears it, and a node that is short of memory gets no more jobs", "MEMORY_PRESSURE"),
  ],
  evaluation_daemon: [why("model_performance_watchdog plays the games that check a champion", "REGRESSION_MODERATE")],
  utilization_optimizer: [
    why("its forecast counts the jobs that are planned from their own rows", "P2P_SELFPLAY_SCALED"),
    why("job_scheduler hears it, and gives such a node other work", "NODE_INCOMPATIBLE_WITH_WORKLOAD"),
    why("NODE_CAPACITY_UPDATED tells it node by node", "CLUSTER_CAPACITY_CHANGED"),
  ],
  exploration_scheduler: [
    why("a stall is a matter of time, and time must not change games", "PROGRESS_STALL_DETECTED", "PROGRESS_RECOVERED"),
  ],
  work_queue_monitor: [
    why(
      "it counts the rows of the queue: a lost event would miscount them",
      "WORK_QUEUED",
      "WORK_CLAIMED",
      "WORK_STARTED",
      "WORK_COMPLETED",
      "WORK_FAILED",
      "WORK_RETRY",
      "WORK_TIMEOUT",
      "WORK_CANCELLED",
    ),
  ],
  job_reaper: [why("it reads in the rows of the queue who has been silent for too long", "TASK_HEARTBEAT")],
  ephemeral_guard: [why("beats of nodes tell it earlier than those of tasks", "TASK_HEARTBEAT")],
  cluster_monitor: [
    why("a machine counts when it has joined: HOST_ONLINE", "NODE_PROVISIONED"),
    why("selfplay_scheduler fills idle nodes; a stall is found in what the queue has done", "IDLE_STATE_BROADCAST"),
  ],
};

/**
 * What the coordinators of the Python system subscribed to, as its audit lists it, beside what the units of their names hear
 * here, with a reason for every difference. A reason without a difference is a fault like a difference without one.
 */
import type { Registry } from "../../src/daemons/index.ts";

interface Why {
  readonly events: readonly string[];
  readonly why: string;
}

interface Listed {
  /** The events that the document lists; a number where it gives no more. */
  readonly listed: readonly string[] | number | null;
  /** Of those, what is not heard here. */
  readonly left?: readonly Why[];
  /** What is heard here besides. */
  readonly added?: readonly Why[];
  /** The stage that brings it, for one that is to come. */
  readonly isToCome?: true;
}

const why = (reason: string, ...events: readonly string[]): Why => ({ events, why: reason });
const JOB_ENDS = ["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"] as const;

export const legacySubscriptions: Readonly<Record<string, Listed>> = {
  task_coordinator: {
    listed: [
      "TASK_SPAWNED",
      "TASK_COMPLETED",
      "TASK_FAILED",
      "TASK_HEARTBEAT",
      "TASK_ORPHANED",
      "TASK_CANCELLED",
      "HOST_ONLINE",
      "HOST_OFFLINE",
      "NODE_RECOVERED",
    ],
    added: [
      why("a task that its node gave back is over too", "TASK_ABANDONED"),
      why("a task that was asked to stop and does not is stuck", "JOB_PREEMPTED"),
    ],
  },
  global_task_coordinator: {
    listed: ["TASK_SPAWNED", "TASK_HEARTBEAT", "TASK_COMPLETED", "TASK_FAILED", "TASK_CANCELLED"],
    left: [
      why(
        "what runs is counted in the queue's own rows at every claim: a lost event would miscount it",
        "TASK_SPAWNED",
        "TASK_HEARTBEAT",
        "TASK_COMPLETED",
        "TASK_FAILED",
        "TASK_CANCELLED",
      ),
    ],
    added: [
      why(
        "a node that is short of something gets one job at a time, or none",
        "RESOURCE_CONSTRAINT",
        "RESOURCE_CONSTRAINT_DETECTED",
        "MEMORY_PRESSURE",
        "HOST_ONLINE",
      ),
    ],
  },
  resource_coordinator: {
    listed: [
      "CLUSTER_CAPACITY_CHANGED",
      "NODE_CAPACITY_UPDATED",
      "BACKPRESSURE_ACTIVATED",
      "BACKPRESSURE_RELEASED",
      "RESOURCE_CONSTRAINT",
      "JOB_PREEMPTED",
    ],
    left: [
      why("pressure has one voice, work_queue_monitor", "BACKPRESSURE_ACTIVATED", "BACKPRESSURE_RELEASED"),
      why("what a node is short of stands in its sample; global_task_coordinator acts on it", "RESOURCE_CONSTRAINT"),
      why("what a stopped job gives back is free in the beats of its node", "JOB_PREEMPTED"),
    ],
  },
  cache_orchestrator: { listed: 2 },
  health_manager: {
    listed: [
      "ERROR",
      "RECOVERY_INITIATED",
      "RECOVERY_COMPLETED",
      "RECOVERY_FAILED",
      "TRAINING_FAILED",
      "TASK_FAILED",
      "REGRESSION_DETECTED",
      "REGRESSION_CRITICAL",
      "HOST_OFFLINE",
      "HOST_ONLINE",
      "NODE_RECOVERED",
      "PARITY_FAILURE_RATE_CHANGED",
      "COORDINATOR_HEALTH_DEGRADED",
      "COORDINATOR_SHUTDOWN",
      "COORDINATOR_HEARTBEAT",
      "DAEMON_PERMANENTLY_FAILED",
    ],
    added: [
      why(
        "the health of every daemon and coordinator counts, not only that of those that fail for good",
        "COORDINATOR_HEALTHY",
        "COORDINATOR_UNHEALTHY",
        "COORDINATOR_INIT_FAILED",
        "DAEMON_STARTED",
        "DAEMON_STOPPED",
        "DAEMON_STATUS_CHANGED",
        "DAEMON_CRASH_LOOP_DETECTED",
        "STARTUP_STATE_VALIDATED",
      ),
      why(
        "nobody heard these in the Python system, and each is a trouble of the whole",
        "DLQ_STALE_EVENTS",
        "DLQ_EVENTS_REPLAYED",
        "DLQ_EVENTS_PURGED",
        "SYNC_FAILURE_CRITICAL",
        "CLUSTER_STALL_DETECTED",
        "SPLIT_BRAIN_DETECTED",
        "SPLIT_BRAIN_RESOLVED",
        "DEADLOCK_DETECTED",
        "LOCK_TIMEOUT",
      ),
      why(
        "what nodes and money allow is part of the verdict",
        "CAPACITY_LOW",
        "CAPACITY_RESTORED",
        "BUDGET_ALERT",
        "BUDGET_EXCEEDED",
        "NODE_UNHEALTHY",
        "HEALTH_CHECK_PASSED",
        "HEALTH_CHECK_FAILED",
      ),
    ],
  },
  error_coordinator: { listed: null },
  recovery_manager: { listed: null },
  model_coordinator: { listed: 9 },
  sync_coordinator: { listed: 3 },
  training_coordinator: {
    listed: [
      "P2P_CLUSTER_HEALTHY",
      "P2P_CLUSTER_UNHEALTHY",
      "CLUSTER_CAPACITY_CHANGED",
      "NODE_RECOVERED",
      "NODE_UNHEALTHY",
      "REGRESSION_DETECTED",
      "REGRESSION_CRITICAL",
      "REGRESSION_CLEARED",
      "TRAINING_ROLLBACK_NEEDED",
      "PROMOTION_ROLLED_BACK",
      "LOW_QUALITY_DATA_WARNING",
      "TRAINING_BLOCKED_BY_QUALITY",
      "DATA_SYNC_COMPLETED",
      "NEW_GAMES_AVAILABLE",
      "MODEL_PROMOTED",
      "TRAINING_STARTED",
      "TRAINING_PROGRESS",
      "TRAINING_COMPLETED",
      "TRAINING_FAILED",
    ],
    left: [
      why(
        "a run is one job, which waits in the queue until a node that is well asks for it",
        "P2P_CLUSTER_HEALTHY",
        "P2P_CLUSTER_UNHEALTHY",
      ),
      why("who gets a run is asked at every claim, and an ill node gets none", "NODE_UNHEALTHY", "NODE_RECOVERED"),
      why(
        "model_rollback decides on a regression, and its rollback is heard: two that pause would contradict each other",
        "REGRESSION_DETECTED",
        "REGRESSION_CRITICAL",
        "REGRESSION_CLEARED",
      ),
      why("training_trigger judges the data, and its gates stand in a row", "LOW_QUALITY_DATA_WARNING"),
      why("whose turn it is stands in the row of the iteration", "DATA_SYNC_COMPLETED", "NEW_GAMES_AVAILABLE"),
      why(
        "it is the one that emits it",
        "TRAINING_STARTED",
        "TRAINING_PROGRESS",
        "TRAINING_COMPLETED",
        "TRAINING_FAILED",
      ),
    ],
    added: [
      why("its runs are jobs, and it follows them", ...JOB_ENDS, "WORK_STARTED"),
      why("its turn comes with the stage, and its gates open", "PIPELINE_STAGE_ENTERED", "TRAINING_THRESHOLD_REACHED"),
      why("the line goes on where the rollback set it", "TRAINING_ROLLBACK_COMPLETED"),
      why("another learning rate is for its next run", "HYPERPARAMETER_UPDATED"),
      why("it waits for the priorities of its rows", "PER_BUFFER_REBUILT", "PER_PRIORITIES_UPDATED"),
    ],
  },
  transfer_verifier: { listed: 1 },
  ephemeral_guard: { listed: 3 },
  queue_populator: { listed: 7 },
  selfplay_orchestrator: { listed: 13 },
  selfplay_scheduler: {
    listed: [
      "SELFPLAY_COMPLETE",
      "TRAINING_COMPLETED",
      "MODEL_PROMOTED",
      "SELFPLAY_TARGET_UPDATED",
      "QUALITY_DEGRADED",
      "CURRICULUM_REBALANCED",
      "SELFPLAY_RATE_CHANGED",
      "TRAINING_BLOCKED_BY_QUALITY",
      "OPPONENT_MASTERED",
      "TRAINING_EARLY_STOPPED",
      "ELO_VELOCITY_CHANGED",
      "EXPLORATION_BOOST",
      "CURRICULUM_ADVANCED",
      "ADAPTIVE_PARAMS_CHANGED",
      "LOW_QUALITY_DATA_WARNING",
      "NODE_UNHEALTHY",
      "NODE_RECOVERED",
      "P2P_NODE_DEAD",
      "P2P_CLUSTER_UNHEALTHY",
      "P2P_CLUSTER_HEALTHY",
      "HOST_OFFLINE",
      "REGRESSION_DETECTED",
    ],
    left: [
      why(
        "a share is the same for many nodes and for few; daemon_control holds queue_populator while nobody is left",
        "P2P_CLUSTER_UNHEALTHY",
        "P2P_CLUSTER_HEALTHY",
      ),
      why("the score that blocks is what QUALITY_DEGRADED tells it of", "TRAINING_BLOCKED_BY_QUALITY"),
      why("the rollback that follows makes another champion, and the games go on with that one", "REGRESSION_DETECTED"),
      why("queue_populator begins games with tuned parameters, and they move no share", "ADAPTIVE_PARAMS_CHANGED"),
      why("elo_service plays others instead; how fast a config learns is measured by gates", "OPPONENT_MASTERED"),
    ],
    added: [
      why(
        "pressure and ratings change what a config should have",
        "BACKPRESSURE_ACTIVATED",
        "BACKPRESSURE_RELEASED",
        "ELO_UPDATED",
      ),
      why("new games and another stage change what is missing", "NEW_GAMES_AVAILABLE", "PIPELINE_STAGE_ENTERED"),
      why(
        "what the data is worth decides how much more of it is played",
        "QUALITY_FEEDBACK_ADJUSTED",
        "QUALITY_PENALTY_APPLIED",
        "QUALITY_DISTRIBUTION_CHANGED",
      ),
      why("a loss that grows asks for new games", "TRAINING_LOSS_TREND"),
      why("a person's word, and the weight of one config", "CURRICULUM_UPDATED", "WEIGHT_UPDATED"),
      why(
        "a config that explores more needs more games, and deeper searches hold a node for longer",
        "EXPLORATION_ADJUSTED",
      ),
      why(
        "idle nodes let more jobs into the queue",
        "IDLE_RESOURCE_DETECTED",
        "IDLE_STATE_BROADCAST",
        "NODE_ACTIVATED",
      ),
      why(
        "what a node had free before it went is no room for jobs",
        "NODE_RETIRED",
        "NODE_OVERLOADED",
        "NODE_TERMINATED",
      ),
    ],
  },
  multi_provider: { listed: 3 },
  job_scheduler: { listed: 2 },
  auto_export_daemon: { listed: null },
  evaluation_daemon: { listed: 1 },
  model_distribution_daemon: { listed: null },
  idle_resource_daemon: { listed: null },
  quality_monitor_daemon: { listed: null },
  orphan_detection_daemon: { listed: null },
  curriculum_integration: {
    listed: [
      "EVALUATION_COMPLETED",
      "SELFPLAY_RATE_CHANGED",
      "ELO_SIGNIFICANT_CHANGE",
      "SELFPLAY_ALLOCATION_UPDATED",
      "MODEL_PROMOTED",
      "TIER_PROMOTION",
      "REGRESSION_CRITICAL",
      "QUALITY_PENALTY_APPLIED",
      "QUALITY_FEEDBACK_ADJUSTED",
      "QUALITY_SCORE_UPDATED",
    ],
    left: [
      why("what gates measured decides, and a rating that moved comes from other games", "ELO_SIGNIFICANT_CHANGE"),
      why("steering never reads its own effect as evidence", "SELFPLAY_ALLOCATION_UPDATED"),
      why(
        "what the data is worth is a factor of its own in the share, and would count twice",
        "QUALITY_PENALTY_APPLIED",
        "QUALITY_FEEDBACK_ADJUSTED",
        "QUALITY_SCORE_UPDATED",
      ),
    ],
    added: [
      why("a gate that did not promote tells as much", "PROMOTION_FAILED", "PROMOTION_REJECTED"),
      why("a champion that beats its baselines is looked at anew", "OPPONENT_MASTERED"),
      why(
        "a config that begins with another's network, or learns nothing more, is weighed anew",
        "CROSSBOARD_PROMOTION",
        "CURRICULUM_ADVANCEMENT_NEEDED",
      ),
    ],
  },
  metrics_orchestrator: { listed: 7 },
  optimization_coordinator: { listed: 7 },
  leadership_coordinator: { listed: 5 },
};

export interface SubscriptionRow {
  readonly coordinator: string;
  readonly listed: Listed["listed"];
  /** Null for a unit that is to come. */
  readonly hears: readonly string[] | null;
  /** Of the listed events, those that are heard here. */
  readonly common: readonly string[];
  readonly left: readonly { readonly event: string; readonly why: string }[];
  readonly added: readonly { readonly event: string; readonly why: string }[];
  /** What the comparison itself has wrong: differences without a reason, reasons without a difference. */
  readonly faults: readonly string[];
}

const flat = (all: readonly Why[] = []) =>
  all.flatMap(({ events, why: reason }) => events.map((event) => ({ event, why: reason })));

/** Each coordinator of the document beside the unit of its name. Pure. */
export function compareSubscriptions(
  { units, catalog }: Pick<Registry, "units" | "catalog">,
  listing = legacySubscriptions,
): SubscriptionRow[] {
  return Object.entries(listing).map(([coordinator, { listed, left: gone, added: more, isToCome }]) => {
    const hears = units.find(({ name }) => name === coordinator)?.hears ?? null;
    const [left, added] = [flat(gone), flat(more)];
    const list = typeof listed === "object" && listed !== null ? listed : null;
    const heard = new Set(hears ?? []);
    const missing = hears === null || list === null ? [] : list.filter((event) => !heard.has(event));
    const besides = hears === null || list === null ? [] : hears.filter((event) => !list.includes(event));
    const unexplained = (events: readonly string[], reasons: readonly { event: string }[], what: string) =>
      events
        .filter((event) => !reasons.some((reason) => reason.event === event))
        .map((event) => `${event} is ${what}, and nobody says why`);
    const idle = (events: readonly string[], reasons: readonly { event: string; why: string }[]) =>
      reasons
        .filter(({ event, why: reason }) => !events.includes(event) || reason.trim() === "")
        .map(({ event }) => `${event} has a reason and is no difference`);
    return {
      coordinator,
      listed,
      hears,
      common: list?.filter((event) => heard.has(event)) ?? [],
      left,
      added,
      faults: [
        ...unexplained(missing, left, "not heard"),
        ...unexplained(besides, added, "heard besides"),
        ...idle(missing, left),
        ...idle(besides, added),
        ...[...(list ?? []), ...left.map(({ event }) => event)]
          .filter((event) => catalog.row(event) === undefined)
          .map((event) => `${event} is not in the catalog`),
        ...((hears === null) === (isToCome === true)
          ? []
          : ["it exists, and is listed as one that is to come, or the other way round"]),
      ],
    };
  });
}

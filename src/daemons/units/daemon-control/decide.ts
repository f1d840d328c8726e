import type { BuiltinRows, RouterEventOf } from "../../../events/index.ts";

/** What `daemon_control` hears. */
export const CONTROL_EVENTS = [
  "BACKPRESSURE_ACTIVATED",
  "BACKPRESSURE_RELEASED",
  "RESOURCE_CONSTRAINT",
  "DISK_SPACE_LOW",
  "TRAINING_BLOCKED_BY_QUALITY",
  "TRAINING_THRESHOLD_REACHED",
  "TRAINING_STARTED",
  "REGRESSION_CRITICAL",
  "REGRESSION_CLEARED",
  "P2P_CLUSTER_HEALTHY",
  "P2P_CLUSTER_UNHEALTHY",
  "CLUSTER_STATUS_CHANGED",
  "LEADER_ELECTED",
  "LEADER_LOST",
  "LEADER_STEPDOWN",
  "DAEMON_STARTED",
  "DAEMON_STOPPED",
  "DAEMON_STATUS_CHANGED",
] as const;
export type ControlEventName = (typeof CONTROL_EVENTS)[number];
export type ControlEvent = {
  [N in ControlEventName]: Pick<RouterEventOf<N, BuiltinRows>, "payload"> & { readonly eventType: N };
}[ControlEventName];

/** Units by what they do. Some come with later stages: who does not exist is simply not found. */
export const GROUPS = {
  /** They make new games. Sync is not among them: data that exists is moved to safety under any pressure. */
  producers: ["selfplay_scheduler", "idle_resource_daemon"],
  /** They bring new work into the queue. */
  intake: ["queue_populator", "idle_resource_daemon"],
  /** They start what needs a lot of this node. */
  hungry: ["idle_resource_daemon"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Which daemons: those of a group, or all that run only where the cluster is led from. */
export type Target = keyof typeof GROUPS | "leader_units";

export type Reaction =
  /** These are kept from running, with this reason, until the key is lifted. */
  | { readonly kind: "hold"; readonly key: string; readonly target: Target; readonly reason: string }
  /** Something is worth showing, and nothing is to be paused for it. */
  | { readonly kind: "show"; readonly key: string; readonly message: string }
  /** The hold or the shown condition of this key is over. */
  | { readonly kind: "lift"; readonly key: string };

/** Where the reaction takes place. */
export interface Here {
  readonly nodeId: string;
}

/** Pressure under which producers pause; below it they slow down by themselves. */
const HARD: ReadonlySet<string> = new Set(["hard", "stop", "high", "critical"]);
/** No pressure at all, or so little that it is no news. */
const EASY: ReadonlySet<string> = new Set(["none", "low", "soft"]);

const percent = (share: number | undefined) => (share === undefined ? "?" : `${Math.round(share * 100)} %`);

/** One busy node takes less by itself: only the queue of all brakes those who plan for all. A full disk holds them by its own event. */
const braking = (node_id: string | undefined): Target => (node_id === undefined ? "producers" : "hungry");

/** A level that came, changed or went: hard ones hold, middling ones show, easy ones lift. */
function byLevel(level: string, key: string, target: Target, message: string): Reaction[] {
  const shown = `${key}:shown`;
  if (HARD.has(level)) return [{ kind: "hold", key, target, reason: message }, lift(shown)];
  if (EASY.has(level)) return [lift(key), lift(shown)];
  return [lift(key), { kind: "show", key: shown, message }];
}

const lift = (key: string): Reaction => ({ kind: "lift", key });
const hold = (key: string, target: Target, reason: string): Reaction => ({ kind: "hold", key, target, reason });
const show = (key: string, message: string): Reaction => ({ kind: "show", key, message });

/** Event by event: which daemons, for which reason, and what lifts it. Nothing else decides what a cluster event does to them. */
const table: {
  readonly [N in ControlEventName]: (payload: RouterEventOf<N, BuiltinRows>["payload"], here: Here) => Reaction[];
} = {
  // A scope that names another node is that node's concern.
  BACKPRESSURE_ACTIVATED: ({ scope, level, reason, node_id }, { nodeId }) =>
    node_id !== undefined && node_id !== nodeId
      ? []
      : byLevel(level, `backpressure:${scope}`, braking(node_id), `backpressure '${level}' on ${scope}: ${reason}`),
  BACKPRESSURE_RELEASED: ({ scope, level, node_id }, { nodeId }) =>
    node_id !== undefined && node_id !== nodeId
      ? []
      : byLevel(level, `backpressure:${scope}`, braking(node_id), `backpressure '${level}' is left on ${scope}`),
  RESOURCE_CONSTRAINT: ({ node_id, resource, level, usage, threshold }, { nodeId }) =>
    node_id !== nodeId
      ? []
      : byLevel(
          level,
          `resource:${resource}`,
          // On a full disk no game can be kept, and this event tells when there is room again.
          resource === "disk" ? "producers" : "hungry",
          `${resource} of this node is short: ${percent(usage)} used (${level} from ${percent(threshold)})`,
        ),
  DISK_SPACE_LOW: ({ node_id, level, usage, free_gb, threshold }, { nodeId }) =>
    node_id !== nodeId
      ? []
      : byLevel(
          level,
          "resource:disk",
          "producers",
          `the disk of this node is ${percent(usage)} full, ${free_gb.toFixed(1)} GB are free (${level} from ${percent(threshold)})`,
        ),
  // One config's data is poor; the trigger withholds that one and must go on for the others.
  TRAINING_BLOCKED_BY_QUALITY: ({ config_key, quality_score, threshold }) => [
    show(
      `quality:${config_key}`,
      `training of ${config_key} is withheld: quality ${quality_score}, needed are ${threshold}`,
    ),
  ],
  TRAINING_THRESHOLD_REACHED: ({ config_key }) => [lift(`quality:${config_key}`)],
  TRAINING_STARTED: ({ config_key }) => [lift(`quality:${config_key}`)],
  // The champion is rolled back by its own unit; what trains it goes on.
  REGRESSION_CRITICAL: ({ config_key, model_id }) => [
    show(
      `regression:${config_key}`,
      `the champion ${model_id} of ${config_key} lost so much strength that it is rolled back`,
    ),
  ],
  REGRESSION_CLEARED: ({ config_key }) => [lift(`regression:${config_key}`)],
  // While anybody works, work comes: only with nobody left it waits.
  P2P_CLUSTER_UNHEALTHY: ({ cluster_id, healthy_nodes, total_nodes, reason }) => {
    const message = `cluster ${cluster_id} is unhealthy, ${healthy_nodes} of ${total_nodes} nodes are well: ${reason}`;
    return [
      healthy_nodes === 0 ? hold(`cluster:${cluster_id}`, "intake", message) : show(`cluster:${cluster_id}`, message),
    ];
  },
  P2P_CLUSTER_HEALTHY: ({ cluster_id }) => [lift(`cluster:${cluster_id}`)],
  CLUSTER_STATUS_CHANGED: ({ cluster_id, cluster_status, healthy_nodes, total_nodes }) => [
    cluster_status === "healthy"
      ? lift(`cluster_status:${cluster_id}`)
      : show(
          `cluster_status:${cluster_id}`,
          `cluster ${cluster_id} is ${cluster_status}: ${healthy_nodes} of ${total_nodes} nodes are well`,
        ),
  ],
  LEADER_ELECTED: ({ cluster_id, leader_node_id }, { nodeId }) => [
    leader_node_id === nodeId
      ? lift(`leader:${cluster_id}`)
      : hold(`leader:${cluster_id}`, "leader_units", `${leader_node_id} leads ${cluster_id}, not this node`),
    lift(`no_leader:${cluster_id}`),
  ],
  LEADER_LOST: (payload, here) => withoutLeader(payload, here, "lost its lease"),
  LEADER_STEPDOWN: (payload, here) => withoutLeader(payload, here, "stepped down"),
  // Whatever the watchdog found of a run is over with that run.
  DAEMON_STARTED: ({ daemon_name, node_id }, { nodeId }) => (node_id === nodeId ? [lift(`daemon:${daemon_name}`)] : []),
  DAEMON_STOPPED: ({ daemon_name, node_id }, { nodeId }) => (node_id === nodeId ? [lift(`daemon:${daemon_name}`)] : []),
  DAEMON_STATUS_CHANGED: ({ daemon_name, node_id, daemon_state, reason }, { nodeId }) => {
    if (node_id !== nodeId) return [];
    const key = `daemon:${daemon_name}`;
    return daemon_state === "failed" || daemon_state === "degraded"
      ? [show(key, `${daemon_name} is ${daemon_state}: ${reason}`)]
      : [lift(key)];
  },
};

function withoutLeader(
  lost: { readonly cluster_id: string; readonly previous_leader_node_id: string; readonly reason: string },
  { nodeId }: Here,
  what: string,
): Reaction[] {
  const { cluster_id, previous_leader_node_id: leader, reason } = lost;
  const message = `${leader} ${what} in ${cluster_id}, and nobody leads yet: ${reason}`;
  // The others did not lead before either: they are held, or alone.
  const held = leader === nodeId ? [hold(`leader:${cluster_id}`, "leader_units", message)] : [];
  return [...held, show(`no_leader:${cluster_id}`, message)];
}

/** What an event asks of the supervisor of this node. */
export const reactionsTo = (event: ControlEvent, here: Here): Reaction[] =>
  (table[event.eventType] as (payload: unknown, here: Here) => Reaction[])(event.payload, here);

/** The daemons that a target means, among those that exist. */
export function unitsOf(target: Target, existing: Iterable<string>, leaderUnits: ReadonlySet<string>): string[] {
  const named: ReadonlySet<string> = target === "leader_units" ? leaderUnits : new Set(GROUPS[target]);
  return [...existing].filter((name) => named.has(name));
}

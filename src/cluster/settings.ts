/** What operators may set of nodes, of the limits of a machine, and of alerts. */
import {
  addressList,
  choice,
  line,
  name,
  path,
  percent,
  type SettingValues,
  seconds,
  secretFile,
  whole,
  yesNo,
} from "../kernel/settings/index.ts";
import { ALERT_SEVERITIES } from "./alerts/alert.ts";

const YEAR_SECONDS = 365 * 86_400;

export const nodeSettings = {
  timing: {
    beatMs: seconds({
      key: "nodes.beat",
      variable: "RINGRIFT_NODE_BEAT",
      min: 0.1,
      max: 3_600,
      default: 15,
      about: "Time between two heartbeats of a node.",
    }),
    suspectMs: seconds({
      key: "nodes.suspect",
      variable: "RINGRIFT_NODE_SUSPECT",
      min: 0.2,
      max: 86_400,
      default: 45,
      about: "Silence after which a node is suspect.",
    }),
    deadMs: seconds({
      key: "nodes.dead",
      variable: "RINGRIFT_NODE_DEAD",
      min: 0.3,
      max: 86_400,
      default: 120,
      about: "Silence after which a node is dead, and its jobs go back to the queue.",
    }),
    purgeMs: seconds({
      key: "nodes.purge",
      variable: "RINGRIFT_NODE_PURGE",
      min: 1,
      max: YEAR_SECONDS,
      default: 7 * 86_400,
      about: "Time after which a node that is dead, has left or never came is removed.",
    }),
    startupGraceMs: seconds({
      key: "p2p.startup_grace_period",
      variable: "RINGRIFT_P2P_STARTUP_GRACE_PERIOD",
      min: 0,
      max: 86_400,
      default: 120,
      about: "Time after a start of the coordinator in which silent nodes raise no alarm.",
    }),
  },
  healthEveryMs: seconds({
    key: "nodes.health_check",
    variable: "RINGRIFT_NODE_HEALTH_CHECK",
    min: 0.1,
    max: 3_600,
    default: 10,
    about: "Time between two checks of a node's health. A check that fails three times makes the node unhealthy.",
  }),
  stallMs: seconds({
    key: "nodes.stall",
    variable: "RINGRIFT_NODES_STALL",
    min: 1,
    max: 30 * 86_400,
    default: 1_800,
    about:
      "Time without any progress in the whole cluster, while jobs wait, after which you get an alert with the cause.",
  }),
  maxOfToken: whole({
    key: "nodes.max_of_token",
    variable: "RINGRIFT_NODES_MAX_OF_TOKEN",
    min: 1,
    max: 20_000,
    unit: "nodes",
    default: 1_000,
    about: "Maximum number of nodes of one token, if the token itself has no limit; above it, TOO_MANY_NODES_OF_TOKEN.",
  }),
  requiredGpus: whole({
    key: "nodes.required_gpus",
    variable: "RINGRIFT_REQUIRED_GPUS",
    min: 0,
    max: 1_000_000,
    unit: "accelerators",
    default: 0,
    about: "Accelerators that the cluster should have. With fewer, its capacity counts as low.",
  }),
};

export const recoverySettings = {
  enabled: yesNo({
    key: "recovery.enabled",
    variable: "RINGRIFT_RECOVERY_ENABLED",
    default: true,
    about: "Repair nodes automatically. If off, you are only told what is wrong and what would be done.",
  }),
  observeMs: seconds({
    key: "recovery.observe",
    variable: "RINGRIFT_RECOVERY_OBSERVE",
    min: 0.1,
    max: 86_400,
    default: 60,
    about: "Time for which an ill node is only watched before its jobs go to others.",
  }),
  patienceMs: seconds({
    key: "recovery.patience",
    variable: "RINGRIFT_RECOVERY_PATIENCE",
    min: 0.1,
    max: 86_400,
    default: 300,
    about: "Time that a step of repair has to show its effect. After it, the next step follows.",
  }),
  actsPerHour: whole({
    key: "recovery.acts_per_hour",
    variable: "RINGRIFT_RECOVERY_ACTS_PER_HOUR",
    min: 0,
    max: 1_000,
    unit: "repairs",
    default: 6,
    about: "Maximum number of restarts, reboots and replacements of nodes per hour, over all nodes.",
  }),
};

export const p2pSettings = {
  swimEnabled: yesNo({
    key: "p2p.swim_enabled",
    variable: "RINGRIFT_SWIM_ENABLED",
    default: false,
    about:
      "Nodes look after each other (SWIM): they probe each other over UDP and tell the coordinator whom they reach. Set it on the coordinator and on the nodes.",
  }),
  swimPort: whole({
    key: "p2p.swim_port",
    variable: "RINGRIFT_SWIM_PORT",
    min: 0,
    max: 65_535,
    default: 0,
    shown: "a free one",
    onlyWith: "p2p.swim_enabled",
    about: "UDP port at which a node takes probes of other nodes. They must reach it.",
  }),
  raftEnabled: yesNo({
    key: "p2p.raft_enabled",
    variable: "RINGRIFT_RAFT_ENABLED",
    default: false,
    about:
      "This coordinator is one of several. They share a log on NATS JetStream, which agrees by Raft; one leads, the others stand by. Run `ringrift cluster init` or `join` first.",
  }),
};

export const coordinatorsSettings = {
  servers: addressList(["nats:", "tls:"], {
    key: "coordinators.servers",
    variable: "RINGRIFT_COORDINATORS_SERVERS",
    default: "",
    shown: "none",
    about: "Addresses of the nats-servers of the shared log, three or more, divided by commas: nats://host:4222.",
  }),
  monitors: addressList(["http:", "https:"], {
    key: "coordinators.monitors",
    variable: "RINGRIFT_COORDINATORS_MONITORS",
    default: "",
    shown: "none",
    about: "Addresses of the monitors of these servers, one for each: http://host:8222. Unsafe servers are refused.",
  }),
  engine: line({
    key: "coordinators.engine",
    variable: "RINGRIFT_COORDINATORS_ENGINE",
    default: "nats-server",
    about:
      "The nats-server that is run beside this coordinator where no servers are named: a path, or a name to look for. 'ringrift cluster fetch-engine' checks it.",
  }),
  stream: name({
    key: "coordinators.stream",
    variable: "RINGRIFT_COORDINATORS_STREAM",
    default: "ringrift",
    about: "Name of the stream that is the shared log.",
  }),
  user: name({
    key: "coordinators.nats_user",
    variable: "RINGRIFT_COORDINATORS_NATS_USER",
    default: undefined,
    shown: "none",
    about: "User name at the nats-servers.",
  }),
  password: secretFile({
    key: "coordinators.nats_password_file",
    variable: "RINGRIFT_COORDINATORS_NATS_PASSWORD_FILE",
    shown: "none",
    about: "File with the password of that user.",
  }),
  caFile: path("file", {
    key: "coordinators.nats_ca_file",
    variable: "RINGRIFT_COORDINATORS_NATS_CA_FILE",
    default: undefined,
    shown: "none: no TLS",
    about: "PEM file with the certificates to trust at the nats-servers. With it, connections use TLS.",
  }),
  preferred: yesNo({
    key: "coordinators.preferred",
    variable: "RINGRIFT_COORDINATORS_PREFERRED",
    default: false,
    about:
      "Try to lead before the others do: while this one is there, they wait a quarter of a lease longer. Set it on one coordinator at most.",
  }),
  leaseMs: seconds({
    key: "coordinators.lease",
    variable: "RINGRIFT_COORDINATORS_LEASE",
    min: 2,
    max: 600,
    default: 12,
    about:
      "Silence of the leader after which another takes over. Must be the same on all coordinators, and longer than an election of the servers, 4 to 9 s.",
  }),
  logKeepMs: seconds({
    key: "coordinators.log_keep",
    variable: "RINGRIFT_COORDINATORS_LOG_KEEP",
    min: 10,
    max: 604_800,
    default: 3_600,
    about:
      "How long entries stay in the shared log after all coordinators have them. A coordinator that joins must be started within this time.",
  }),
};

export const resourceSettings = {
  cpu: {
    high: percent({
      key: "resources.cpu_warn",
      variable: "RINGRIFT_CPU_WARN",
      default: 80,
      about:
        "If other programs use more than this share of the processors while jobs wait, a node is busy: it gets one job at a time.",
    }),
    critical: percent({
      key: "resources.cpu_critical",
      variable: "RINGRIFT_CPU_CRITICAL",
      default: 95,
      about:
        "If they use more than this share, a node is overloaded: if it has several jobs, the least important one is preempted.",
    }),
  },
  memory: {
    high: percent({
      key: "resources.memory_warn",
      variable: "RINGRIFT_MEMORY_WARN",
      default: 85,
      about: "If more memory than this is in use, a node is short of memory.",
    }),
    critical: percent({
      key: "resources.memory_critical",
      variable: "RINGRIFT_MEMORY_CRITICAL",
      default: 95,
      about: "If more memory than this is in use, nothing new starts on the node.",
    }),
  },
  disk: {
    high: percent({
      key: "resources.disk_warn",
      variable: "RINGRIFT_DISK_WARN",
      default: 85,
      about: "If more of the data folder's disk than this is in use, disk space is low.",
    }),
    critical: percent({
      key: "resources.disk_critical",
      variable: "RINGRIFT_DISK_CRITICAL",
      default: 95,
      about: "If more of the data folder's disk than this is in use, it is nearly full.",
    }),
  },
};

export const alertSettings = {
  webhookUrl: secretFile({
    key: "alerts.webhook_url_file",
    variable: "RINGRIFT_ALERT_WEBHOOK_URL_FILE",
    shown: "none: alerts are logged and kept",
    about: "File with the URL to which alerts are posted as JSON.",
  }),
  webhookSecret: secretFile({
    key: "alerts.webhook_secret_file",
    variable: "RINGRIFT_ALERT_WEBHOOK_SECRET_FILE",
    shown: "none: nothing is signed",
    about: "File with the secret that signs these posts.",
  }),
  slackUrl: secretFile({
    key: "alerts.slack_url_file",
    variable: "RINGRIFT_ALERT_SLACK_URL_FILE",
    shown: "none",
    about: "File with the URL of a Slack-compatible webhook for alerts.",
  }),
  leastSeverity: choice(ALERT_SEVERITIES, {
    key: "alerts.least_severity",
    variable: "RINGRIFT_ALERT_LEAST_SEVERITY",
    default: "warning",
    about: "Lowest severity that is posted. Milder alerts are only kept and logged.",
  }),
  messagesPerMinute: whole({
    key: "alerts.messages_per_minute",
    variable: "RINGRIFT_ALERT_MESSAGES_PER_MINUTE",
    min: 1,
    max: 600,
    unit: "messages",
    default: 10,
    about: "Messages per minute to one receiver; the rest comes as a summary.",
  }),
  rulesFile: path("file", {
    key: "alerts.rules_file",
    variable: "RINGRIFT_ALERT_RULES_FILE",
    default: undefined,
    shown: "none",
    about: "File with your own rules: which events must come, and how often.",
  }),
};

export type AlertSettings = SettingValues<typeof alertSettings>;

/** What operators may set of this room. */
export interface ClusterSettings {
  readonly resources: SettingValues<typeof resourceSettings>;
  readonly nodes: SettingValues<typeof nodeSettings>;
  readonly recovery: SettingValues<typeof recoverySettings>;
  readonly alerts: AlertSettings;
  readonly p2p: Pick<SettingValues<typeof p2pSettings>, "swimEnabled">;
}

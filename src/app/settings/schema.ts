/**
 * Every setting of the program. A new setting is a new row: it then has its variable, its key in the file, its place in
 * `config show`, its line in the reference, and a test that fails until somebody shows what it changes.
 */
import { availableParallelism, totalmem } from "node:os";
import {
  ALERT_SEVERITIES,
  type AlertSeverity,
  alertManagerDefaults as alerts,
  resourceCoordinatorDefaults as capacity,
  nodeTimingDefaults as nodes,
  resourceMonitorDefaults as resources,
} from "../../cluster/index.ts";
import {
  daemonProfiles,
  daemonManagerDefaults as daemons,
  maintenanceDefaults as maintenance,
} from "../../daemons/index.ts";
import { LOG_LEVELS, type LogLevel } from "../../kernel/index.ts";
import { defaultRouterSettings as router } from "../../router/index.ts";
import { outboxBounds } from "../../router/outbox/index.ts";
import { artifactStoreDefaults as artifacts } from "../../sync/index.ts";
import { leasePolicyDefaults as lease, pressureMarkDefaults as pressure, workLimitDefaults } from "../../work/index.ts";
import { choice, decimal, host, type Kind, name, path, tagList, whole, yesNo } from "./kinds.ts";
import { type Secret, secretFile } from "./secret.ts";

/** What a default may depend on. */
export interface World {
  readonly hostName: string;
  /** `.ringrift` here or above. */
  readonly dataDir: string;
  /** `ringrift.config.json` here or above, if there is one. */
  readonly configFile: string | undefined;
}

export interface Setting<T> {
  readonly variable: `RINGRIFT_${string}`;
  readonly flag?: `--${string}`;
  readonly kind: Kind<T>;
  /** What it sets, in one sentence. */
  readonly about: string;
  fallback(world: World): T;
  /** The default in words, where it is no fixed value. */
  readonly shown?: string;
  /** It says where the file is, and so cannot stand in it. */
  readonly notInFile?: true;
  /** Known and checked, but the part that it steers does not exist. */
  readonly withoutEffect?: true;
}

const row = <T>(setting: Setting<T>): Setting<T> => setting;
const always =
  <T>(value: T) =>
  (): T =>
    value;

const YEAR_SECONDS = 365 * 86_400;
const percent = decimal({ least: 1, most: 100, unit: "percent" });
const waitingJobs = whole({ least: 1, most: workLimitDefaults.mostUnfinished, unit: "jobs" });
const seconds = (least: number, most: number) => decimal({ least, most, unit: "seconds" });

export const settingsSchema = {
  config: row<string | undefined>({
    variable: "RINGRIFT_CONFIG",
    flag: "--config",
    kind: path("file"),
    about: "The file with settings.",
    fallback: ({ configFile }) => configFile,
    shown: "the nearest `ringrift.config.json`, here or above",
    notInFile: true,
  }),
  data_dir: row({
    variable: "RINGRIFT_DATA_DIR",
    flag: "--data-dir",
    kind: path("folder"),
    about: "Data folder: journal, socket, token.",
    fallback: ({ dataDir }) => dataDir,
    shown: "the nearest `.ringrift`, here or above; else here",
  }),
  node_id: row({
    variable: "RINGRIFT_NODE_ID",
    kind: name(),
    about: "Name of this node.",
    fallback: ({ hostName }) => hostName.replace(/[^\w.-]/g, "-").slice(0, 100) || "node",
    shown: "the host name",
  }),
  profile: row({
    variable: "RINGRIFT_PROFILE",
    flag: "--profile",
    kind: choice(Object.keys(daemonProfiles)),
    about: "Which units run in this process, by what it is for.",
    fallback: always("coordinator"),
  }),
  "log.level": row<LogLevel>({
    variable: "RINGRIFT_LOG_LEVEL",
    kind: choice(LOG_LEVELS),
    about: "What is logged to standard error, from this level up; DEBUG logs every event.",
    fallback: always("INFO"),
  }),
  "api.port": row({
    variable: "RINGRIFT_PORT",
    flag: "--port",
    kind: whole({ least: 0, most: 65_535 }),
    about: "Port of the API; 0 picks a free one.",
    fallback: always(8_770),
  }),
  "api.token_file": row<Secret | undefined>({
    variable: "RINGRIFT_TOKEN_FILE",
    kind: secretFile(),
    about: "File with the local operator's token for the API.",
    fallback: always(undefined),
    shown: "`token` in the data folder, made at the first start",
  }),
  "router.handler_timeout": row({
    variable: "RINGRIFT_EVENT_HANDLER_TIMEOUT",
    kind: seconds(0.001, 86_400),
    about: "Time limit of an event handler; then the try has failed.",
    fallback: always(router.handlerTimeoutMs / 1_000),
  }),
  "router.validation_strict": row({
    variable: "RINGRIFT_EVENT_VALIDATION_STRICT",
    kind: yesNo(),
    about: "Refuse events that the catalog does not know.",
    fallback: always(router.strictNames),
  }),
  "router.trace": row({
    variable: "RINGRIFT_EVENT_TRACE",
    kind: yesNo(),
    about: "Log every publish and delivery.",
    fallback: always(router.trace),
  }),
  "router.dedup_window": row({
    variable: "RINGRIFT_EVENT_DEDUP_WINDOW",
    kind: seconds(0, 86_400),
    about: "Window in which a repeated content is suppressed, for events that ask for it; 0 suppresses none.",
    fallback: always(router.dedupWindowSeconds),
  }),
  "router.max_attempts": row({
    variable: "RINGRIFT_EVENT_MAX_ATTEMPTS",
    kind: whole({ least: 1, most: 100, unit: "tries" }),
    about: "Tries before a delivery becomes a dead letter.",
    fallback: always(router.maxAttempts),
  }),
  "router.retry_first": row({
    variable: "RINGRIFT_EVENT_RETRY_FIRST",
    kind: seconds(0.001, 3_600),
    about: "Longest wait before the second try; it doubles from try to try.",
    fallback: always(router.retryFirstMs / 1_000),
  }),
  "router.retry_most": row({
    variable: "RINGRIFT_EVENT_RETRY_MOST",
    kind: seconds(0.001, 86_400),
    about: "Longest wait between two tries.",
    fallback: always(router.retryMostMs / 1_000),
  }),
  "router.breaker_threshold": row({
    variable: "RINGRIFT_EVENT_BREAKER_THRESHOLD",
    kind: whole({ least: 1, most: 10_000, unit: "failures" }),
    about: "Failures in a row that open a handler's breaker.",
    fallback: always(router.breakerThreshold),
  }),
  "router.breaker_open": row({
    variable: "RINGRIFT_EVENT_BREAKER_OPEN",
    kind: seconds(0.001, 86_400),
    about: "How long a breaker stays open before one event may try again.",
    fallback: always(router.breakerOpenMs / 1_000),
  }),
  "router.history_size": row({
    variable: "RINGRIFT_EVENT_HISTORY_SIZE",
    kind: whole({ least: 1, most: 100_000, unit: "events" }),
    about: "Events that are kept in memory for `history`.",
    fallback: always(router.historySize),
  }),
  "router.window": row({
    variable: "RINGRIFT_EVENT_WINDOW",
    kind: whole({ least: 1, most: 65_536, unit: "deliveries" }),
    about: "Deliveries that may be in memory for one consumer.",
    fallback: always(router.window),
  }),
  "router.concurrency": row({
    variable: "RINGRIFT_EVENT_CONCURRENCY",
    kind: whole({ least: 1, most: 1_024, unit: "handlers" }),
    about: "Handlers of one consumer that may run at once, on different order keys.",
    fallback: always(router.concurrency),
  }),
  "router.retention": row({
    variable: "RINGRIFT_EVENT_RETENTION",
    kind: seconds(60, 10 * YEAR_SECONDS),
    about: "How long the journal keeps events that nobody is owed any more.",
    fallback: always(router.retentionSeconds),
  }),
  "router.retention_bytes": row({
    variable: "RINGRIFT_EVENT_RETENTION_BYTES",
    kind: whole({ least: 1_000_000, most: 10_000_000_000_000, unit: "bytes" }),
    about: "Size above which the journal lets such events go sooner.",
    fallback: always(router.retentionBytes),
  }),
  "router.consumer_expiry": row({
    variable: "RINGRIFT_EVENT_CONSUMER_EXPIRY",
    kind: seconds(60, 10 * YEAR_SECONDS),
    about: "A consumer that was away so long expires, loudly.",
    fallback: always(router.consumerExpirySeconds),
  }),
  "daemons.health_interval": row({
    variable: "RINGRIFT_DAEMON_HEALTH_INTERVAL",
    kind: seconds(0.1, 3_600),
    about: "Pause between two health checks of a daemon.",
    fallback: always(daemons.healthCheckIntervalMs / 1_000),
  }),
  "daemons.critical_health_interval": row({
    variable: "RINGRIFT_DAEMON_CRITICAL_HEALTH_INTERVAL",
    kind: seconds(0.1, 3_600),
    about: "The same for daemons that the process cannot do without.",
    fallback: always(daemons.criticalDaemonHealthIntervalMs / 1_000),
  }),
  "daemons.start_timeout": row({
    variable: "RINGRIFT_DAEMON_START_TIMEOUT",
    kind: seconds(0.1, 3_600),
    about: "A daemon that is not ready by then has failed to start.",
    fallback: always(daemons.startTimeoutMs / 1_000),
  }),
  "daemons.startup_grace": row({
    variable: "RINGRIFT_DAEMON_STARTUP_GRACE",
    kind: seconds(0, 3_600),
    about: "Time after a start in which failed health checks are shown and not acted upon.",
    fallback: always(daemons.startupGraceMs / 1_000),
  }),
  "daemons.max_restarts": row({
    variable: "RINGRIFT_DAEMON_MAX_RESTARTS",
    kind: whole({ least: 0, most: 1_000, unit: "restarts" }),
    about: "Restarts that a daemon has within the window; one more failure and it stays down until it is reset.",
    fallback: always(daemons.maxRestartAttempts),
  }),
  "daemons.restart_window": row({
    variable: "RINGRIFT_DAEMON_RESTART_WINDOW",
    kind: seconds(1, 7 * 86_400),
    about: "The window in which restarts count.",
    fallback: always(daemons.restartWindowMs / 1_000),
  }),
  "daemons.restart_first": row({
    variable: "RINGRIFT_DAEMON_RESTART_FIRST",
    kind: seconds(0.01, 3_600),
    about: "Wait before the first restart; it doubles with every restart in the window.",
    fallback: always(daemons.recoveryCooldownMs / 1_000),
  }),
  "daemons.restart_most": row({
    variable: "RINGRIFT_DAEMON_RESTART_MOST",
    kind: seconds(0.01, 86_400),
    about: "Longest wait before a restart.",
    fallback: always(daemons.mostBackoffMs / 1_000),
  }),
  "daemons.shutdown_timeout": row({
    variable: "RINGRIFT_DAEMON_SHUTDOWN_TIMEOUT",
    kind: seconds(0, 3_600),
    about: "Time for all daemons to end in order; then they are forced.",
    fallback: always(daemons.shutdownTimeoutMs / 1_000),
  }),
  "daemons.force_timeout": row({
    variable: "RINGRIFT_DAEMON_FORCE_TIMEOUT",
    kind: seconds(0, 3_600),
    about: "Time that a forced daemon has before it is left behind.",
    fallback: always(daemons.forceKillTimeoutMs / 1_000),
  }),
  "jobs.grace_period": row({
    variable: "RINGRIFT_JOB_GRACE_PERIOD",
    kind: seconds(0, 86_400),
    about: "Time that a job has to end by itself when it is told to stop.",
    fallback: always(60),
  }),
  "workers.local": row({
    variable: "RINGRIFT_LOCAL_WORKERS",
    flag: "--workers",
    kind: whole({ least: 0, most: 1_024, unit: "slots" }),
    about: "Jobs at once of the worker that `ringrift up` starts beside itself; 0 starts none.",
    fallback: always(0),
  }),
  "worker.slots": row({
    variable: "RINGRIFT_WORKER_SLOTS",
    flag: "--slots",
    kind: whole({ least: 1, most: 1_024, unit: "slots" }),
    about: "Jobs that a worker runs at once, each with a child of its own.",
    fallback: () => availableParallelism(),
    shown: "the number of CPUs",
  }),
  "worker.cpus": row({
    variable: "RINGRIFT_WORKER_CPUS",
    kind: decimal({ least: 0, most: 4_096, unit: "CPUs" }),
    about: "CPUs that a worker offers to jobs.",
    fallback: () => availableParallelism(),
    shown: "all of the machine",
  }),
  "worker.memory_gb": row({
    variable: "RINGRIFT_WORKER_MEMORY_GB",
    kind: decimal({ least: 0, most: 65_536, unit: "GB" }),
    about: "Memory that a worker offers to jobs.",
    fallback: () => Math.floor((0.9 * totalmem()) / 1e8) / 10,
    shown: "nine tenths of the machine's",
  }),
  "worker.gpus": row({
    variable: "RINGRIFT_WORKER_GPUS",
    kind: whole({ least: 0, most: 64, unit: "accelerators" }),
    about: "Accelerators that a worker offers to jobs.",
    fallback: always(0),
  }),
  "worker.gpu_memory_gb": row({
    variable: "RINGRIFT_WORKER_GPU_MEMORY_GB",
    kind: decimal({ least: 0, most: 4_096, unit: "GB" }),
    about: "Memory of each of them.",
    fallback: always(0),
  }),
  "worker.tags": row<string>({
    variable: "RINGRIFT_WORKER_TAGS",
    kind: tagList(),
    about: "Tags of this node, for jobs that ask for them.",
    fallback: always(""),
    shown: "none",
  }),
  "worker.disk_reserve_gb": row({
    variable: "RINGRIFT_WORKER_DISK_RESERVE_GB",
    kind: decimal({ least: 0, most: 1_000_000, unit: "GB" }),
    about: "Free space on the data folder's disk below which a worker begins nothing new.",
    fallback: always(2),
  }),
  "worker.beat_interval": row({
    variable: "RINGRIFT_WORKER_BEAT_INTERVAL",
    kind: seconds(0.05, 600),
    about: "Longest pause between two signs of life for the jobs that run.",
    fallback: always(10),
  }),
  "worker.claim_wait": row({
    variable: "RINGRIFT_WORKER_CLAIM_WAIT",
    kind: seconds(0, 30),
    about: "How long a claim is kept open until there is work.",
    fallback: always(20),
  }),
  "worker.most_waiting": row({
    variable: "RINGRIFT_WORKER_MOST_WAITING",
    kind: whole({ least: 1, most: 100_000, unit: "results" }),
    about: "Results that may wait for the main process; while there are more, a worker claims nothing.",
    fallback: always(1_000),
  }),
  "worker.outbox_events": row({
    variable: "RINGRIFT_WORKER_OUTBOX_EVENTS",
    kind: whole({ least: 1, most: 10_000_000, unit: "events" }),
    about: "Events that a joined node keeps for its main process; one more is refused with OUTBOX_FULL.",
    fallback: always(outboxBounds.mostEvents),
  }),
  "worker.outbox_mb": row({
    variable: "RINGRIFT_WORKER_OUTBOX_MB",
    kind: decimal({ least: 0.01, most: 1_000_000, unit: "MB" }),
    about: "Room that they may take, with a kilobyte for each beside its payload.",
    fallback: always(outboxBounds.mostBytes / 1e6),
  }),
  "p2p.startup_grace_period": row({
    variable: "RINGRIFT_P2P_STARTUP_GRACE_PERIOD",
    kind: seconds(0, 86_400),
    about: "Time after a start of the coordinator in which the silence of nodes is no alarm.",
    fallback: always(nodes.startupGraceMs / 1_000),
  }),
  "nodes.beat": row({
    variable: "RINGRIFT_NODE_BEAT",
    kind: seconds(0.1, 3_600),
    about: "Time between two signs of life of a node.",
    fallback: always(nodes.beatMs / 1_000),
  }),
  "nodes.suspect": row({
    variable: "RINGRIFT_NODE_SUSPECT",
    kind: seconds(0.2, 86_400),
    about: "Silence after which a node is suspect.",
    fallback: always(nodes.suspectMs / 1_000),
  }),
  "nodes.dead": row({
    variable: "RINGRIFT_NODE_DEAD",
    kind: seconds(0.3, 86_400),
    about: "Silence after which a node counts as dead, and its jobs come back.",
    fallback: always(nodes.deadMs / 1_000),
  }),
  "nodes.purge": row({
    variable: "RINGRIFT_NODE_PURGE",
    kind: seconds(1, YEAR_SECONDS),
    about: "Time after which a node that is dead, left or never came is forgotten.",
    fallback: always(nodes.purgeMs / 1_000),
  }),
  "nodes.required_gpus": row({
    variable: "RINGRIFT_REQUIRED_GPUS",
    kind: whole({ least: 0, most: 1_000_000, unit: "accelerators" }),
    about: "Accelerators that the cluster should have; with fewer its capacity is low.",
    fallback: always(capacity.requiredGpus),
  }),
  "work.lease_silence": row({
    variable: "RINGRIFT_WORK_LEASE_SILENCE",
    kind: seconds(0.2, 86_400),
    about: "Silence after which the holder of a job is taken for gone, and the job is given to another.",
    fallback: always(lease.silentMs / 1_000),
  }),
  "work.queue_soft_limit": row({
    variable: "RINGRIFT_WORK_QUEUE_SOFT_LIMIT",
    kind: waitingJobs,
    about: "Jobs that wait when producers are told to make half of what they would.",
    fallback: always(pressure.soft),
  }),
  "work.queue_brake_limit": row({
    variable: "RINGRIFT_WORK_QUEUE_BRAKE_LIMIT",
    kind: waitingJobs,
    about: "Jobs that wait when producers are told to make a tenth.",
    fallback: always(pressure.hard),
  }),
  "work.queue_hard_limit": row({
    variable: "RINGRIFT_WORK_QUEUE_HARD_LIMIT",
    kind: waitingJobs,
    about: "Jobs that wait when producers are told to make nothing.",
    fallback: always(pressure.stop),
  }),
  "work.queue_target_delay": row({
    variable: "RINGRIFT_WORK_QUEUE_TARGET_DELAY",
    kind: seconds(1, 30 * 86_400),
    about:
      "How long a job should wait at most: then producers make half; a tenth after three times as long, nothing after six.",
    fallback: always(pressure.targetDelaySeconds),
  }),
  "artifacts.most_bytes": row({
    variable: "RINGRIFT_ARTIFACT_MOST_BYTES",
    kind: whole({ least: 1, most: 1_000_000_000_000, unit: "bytes" }),
    about: "Size of the largest file that nodes may bring.",
    fallback: always(artifacts.mostBytes),
  }),
  "p2p.swim_enabled": row({
    variable: "RINGRIFT_SWIM_ENABLED",
    kind: yesNo(),
    about: "Use the SWIM membership protocol.",
    fallback: always(false),
    withoutEffect: true,
  }),
  "p2p.raft_enabled": row({
    variable: "RINGRIFT_RAFT_ENABLED",
    kind: yesNo(),
    about: "Use the Raft consensus protocol.",
    fallback: always(false),
    withoutEffect: true,
  }),
  "loop.configs": row({
    variable: "RINGRIFT_LOOP_CONFIGS",
    kind: tagList(),
    about: "Configs that the main process trains, separated by commas.",
    fallback: always(""),
    shown: "none",
  }),
  "training.allow_pending_gate": row({
    variable: "RINGRIFT_ALLOW_PENDING_GATE",
    kind: yesNo(),
    about: "Let data whose parity gate is still pending into training.",
    fallback: always(false),
  }),
  "api.host": row({
    variable: "RINGRIFT_HOST",
    kind: host(),
    about: "Address that the API listens on. Beyond loopback it wants TLS, and a token for all but probes.",
    fallback: always("127.0.0.1"),
  }),
  "api.server_name": row<string | undefined>({
    variable: "RINGRIFT_SERVER_NAME",
    kind: name(),
    about: "Name under which others call the API, beside its addresses and the names in its certificate.",
    fallback: always(undefined),
    shown: "none",
  }),
  "api.local_reads": row({
    variable: "RINGRIFT_LOCAL_READS",
    kind: yesNo(),
    about: "Let everybody on this machine read over loopback without a token.",
    fallback: always(true),
  }),
  "api.tls_cert_file": row<string | undefined>({
    variable: "RINGRIFT_TLS_CERT_FILE",
    kind: path("file"),
    about: "Certificate of the API, in PEM, with its chain. A new one is taken up without a restart.",
    fallback: always(undefined),
    shown: "none: plain HTTP",
  }),
  "api.tls_key_file": row<string | undefined>({
    variable: "RINGRIFT_TLS_KEY_FILE",
    kind: path("file"),
    about: "Private key of that certificate, in PEM, readable by its owner alone.",
    fallback: always(undefined),
    shown: "none",
  }),
  "api.allow_plain_http": row({
    variable: "RINGRIFT_ALLOW_PLAIN_HTTP",
    kind: yesNo(),
    about: "Listen beyond loopback without TLS, where something else keeps tokens from being read on the way.",
    fallback: always(false),
  }),
  "api.rate_factor": row({
    variable: "RINGRIFT_RATE_FACTOR",
    kind: decimal({ least: 0.01, most: 10_000 }),
    about: "Multiplies how many requests one caller may make over the port.",
    fallback: always(1),
  }),
  "log.file_bytes": row({
    variable: "RINGRIFT_LOG_FILE_BYTES",
    kind: whole({ least: 10_000, most: 10_000_000_000, unit: "bytes" }),
    about: "Size at which `logs/ringrift.log` in the data folder is put aside and a new one is begun.",
    fallback: always(20_000_000),
  }),
  "log.files": row({
    variable: "RINGRIFT_LOG_FILES",
    kind: whole({ least: 1, most: 1_000, unit: "files" }),
    about: "Log files that are kept, the one being written among them.",
    fallback: always(5),
  }),
  "watchdog.blocked_after": row({
    variable: "RINGRIFT_WATCHDOG_BLOCKED_AFTER",
    kind: seconds(0.05, 3_600),
    about: "Silence of the main loop after which its watchdog raises the alarm.",
    fallback: always(1),
  }),
  "maintenance.integrity_check_every": row({
    variable: "RINGRIFT_MAINTENANCE_INTEGRITY_CHECK_EVERY",
    kind: seconds(60, YEAR_SECONDS),
    about: "Time between two checks of the whole database.",
    fallback: always(maintenance.integrityEveryMs / 1_000),
  }),
  "resources.memory_warn": row({
    variable: "RINGRIFT_MEMORY_WARN",
    kind: percent,
    about: "Memory in use from which a node is short of it.",
    fallback: always(resources.memory.high * 100),
  }),
  "resources.memory_critical": row({
    variable: "RINGRIFT_MEMORY_CRITICAL",
    kind: percent,
    about: "Memory in use from which nothing new should start on a node.",
    fallback: always(resources.memory.critical * 100),
  }),
  "resources.disk_warn": row({
    variable: "RINGRIFT_DISK_WARN",
    kind: percent,
    about: "Share of the data folder's disk in use from which it is low.",
    fallback: always(resources.disk.high * 100),
  }),
  "resources.disk_critical": row({
    variable: "RINGRIFT_DISK_CRITICAL",
    kind: percent,
    about: "Share of the data folder's disk in use from which it is nearly full.",
    fallback: always(resources.disk.critical * 100),
  }),
  "alerts.webhook_url_file": row<Secret | undefined>({
    variable: "RINGRIFT_ALERT_WEBHOOK_URL_FILE",
    kind: secretFile(),
    about: "File with the address that alerts are posted to as JSON.",
    fallback: always(undefined),
    shown: "none: alerts are logged and kept",
  }),
  "alerts.webhook_secret_file": row<Secret | undefined>({
    variable: "RINGRIFT_ALERT_WEBHOOK_SECRET_FILE",
    kind: secretFile(),
    about: "File with the secret that signs what is posted there.",
    fallback: always(undefined),
    shown: "none: nothing is signed",
  }),
  "alerts.slack_url_file": row<Secret | undefined>({
    variable: "RINGRIFT_ALERT_SLACK_URL_FILE",
    kind: secretFile(),
    about: "File with the address of a Slack-compatible hook that alerts are posted to.",
    fallback: always(undefined),
    shown: "none",
  }),
  "alerts.least_severity": row<AlertSeverity>({
    variable: "RINGRIFT_ALERT_LEAST_SEVERITY",
    kind: choice(ALERT_SEVERITIES),
    about: "Alerts milder than this are kept and logged, but not posted.",
    fallback: always("warning"),
  }),
  "alerts.messages_per_minute": row({
    variable: "RINGRIFT_ALERT_MESSAGES_PER_MINUTE",
    kind: whole({ least: 1, most: 600, unit: "messages" }),
    about: "Messages that one receiver gets in a minute; the rest comes as a summary.",
    fallback: always(alerts.messagesPerMinute),
  }),
  "alerts.rules_file": row<string | undefined>({
    variable: "RINGRIFT_ALERT_RULES_FILE",
    kind: path("file"),
    about: "File with rules of your own: which events must not stay away.",
    fallback: always(undefined),
    shown: "none",
  }),
} as const satisfies Record<string, Setting<unknown>>;

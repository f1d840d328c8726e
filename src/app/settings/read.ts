import { hostname } from "node:os";
import type { AlertSeverity, NodeTiming, ResourceMonitorSettings } from "../../cluster/index.ts";
import type { MaintenanceSettings } from "../../daemons/index.ts";
import { type LogLevel, OperatingError } from "../../kernel/index.ts";
import type { RouterSettings } from "../../router/index.ts";
import type { OutboxBounds } from "../../router/outbox/index.ts";
import { type PressurePolicy, pressurePolicyOf } from "../../work/index.ts";
import { readConfigFile } from "./config-file.ts";
import { daemonFields, routerFields, type SupervisorSettings } from "./part-fields.ts";
import { findConfigFile, findDataDir } from "./places.ts";
import { type Environment, fromEnvironment, fromFile, fromFlags, type Inspection, resolveSettings } from "./resolve.ts";
import type { Secret } from "./secret.ts";
import type { SettingKey, SettingValues } from "./values.ts";

/** How the API is reached, and by whom. */
export interface ApiSettings {
  readonly host: string;
  readonly serverName: string | undefined;
  readonly localReads: boolean;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly rateFactor: number;
}

/** What a worker offers, and how it speaks with the main process. */
export interface WorkerSettings {
  readonly slots: number;
  readonly cpus: number;
  readonly memoryGb: number;
  readonly gpus: number;
  readonly gpuMemoryGb: number;
  readonly tags: readonly string[];
  readonly diskReserveBytes: number;
  readonly beatMs: number;
  readonly claimWaitSeconds: number;
  readonly mostWaiting: number;
  /** What a joined node may keep for its main process. */
  readonly outbox: OutboxBounds;
  /** What a job has to end by itself. */
  readonly graceMs: number;
  /** Where workloads are declared. */
  readonly configFile: string | undefined;
  readonly allowPlainHttp: boolean;
}

/** What is learned here, and what may be learned from. */
export interface LoopSettings {
  readonly configs: readonly string[];
  /** Whether games whose check is still to come may be trained on. */
  readonly allowPendingGate: boolean;
}

/** What the parts of the program are given. */
export interface Settings {
  readonly dataDir: string;
  readonly nodeId: string;
  readonly profile: string;
  readonly port: number;
  readonly logLevel: LogLevel;
  readonly router: RouterSettings;
  readonly daemons: SupervisorSettings;
  readonly api: ApiSettings;
  readonly logFile: { readonly mostBytes: number; readonly files: number };
  readonly watchdog: { readonly blockedAfterMs: number };
  readonly maintenance: Pick<MaintenanceSettings, "integrityEveryMs">;
  /** The token of the API, where a file names one. */
  readonly token: Secret | undefined;
  readonly resources: Pick<ResourceMonitorSettings, "memory" | "disk">;
  readonly alerts: AlertSettings;
  /** Slots of the worker beside the main process; none for 0. */
  readonly localWorkers: number;
  readonly worker: WorkerSettings;
  readonly loop: LoopSettings;
  readonly nodes: { readonly timing: NodeTiming; readonly requiredGpus: number };
  readonly work: { readonly leaseSilenceMs: number; readonly pressure: PressurePolicy };
  readonly artifacts: { readonly mostBytes: number };
  /** What was set and does nothing yet; to be said aloud by whoever starts. */
  readonly notices: readonly string[];
}

/** Where alerts go. */
export interface AlertSettings {
  readonly webhookUrl: Secret | undefined;
  readonly webhookSecret: Secret | undefined;
  readonly slackUrl: Secret | undefined;
  readonly leastSeverity: AlertSeverity;
  readonly messagesPerMinute: number;
  readonly rulesFile: string | undefined;
}

/** What a command line or a program says itself; stronger than all else. */
export interface SettingOverrides {
  readonly config?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly nodeId?: string | undefined;
  readonly profile?: string | undefined;
  readonly port?: number | undefined;
  readonly workers?: number | undefined;
  readonly slots?: number | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly router?: Partial<RouterSettings> | undefined;
  readonly daemons?: Partial<SupervisorSettings> | undefined;
}

const flagsOf = (given: SettingOverrides): Partial<Record<SettingKey, unknown>> => ({
  config: given.config,
  data_dir: given.dataDir,
  node_id: given.nodeId,
  profile: given.profile,
  "api.port": given.port,
  "workers.local": given.workers,
  "worker.slots": given.slots,
  "log.level": given.logLevel,
  ...routerFields.from(given.router ?? {}),
  ...daemonFields.from(given.daemons ?? {}),
});

/** Every setting with its value and origin, and all that is wrong; never throws. */
export function inspectSettings(environment: Environment, cwd: string, given: SettingOverrides = {}): Inspection {
  const world = { hostName: hostname(), dataDir: findDataDir(cwd), configFile: findConfigFile(cwd) };
  const said = [fromFlags(flagsOf(given), cwd), fromEnvironment(environment, cwd)];
  // Where the file is must be known before it is read; what else is wrong is found once, below.
  const path = resolveSettings(said, world, undefined).settings.get("config")!.value as string | undefined;
  const file = path === undefined ? undefined : readConfigFile(path);
  return resolveSettings([...said, fromFile(file)], world, file?.path);
}

/** The values, or an error that names every problem. */
function soundValues({ settings, problems }: Inspection): SettingValues {
  if (problems.length > 0) {
    const messages = problems.map(({ message }) => message);
    throw new OperatingError(
      "INVALID_SETTING",
      messages.length === 1
        ? messages[0]!
        : `${messages.length} problems with the settings:\n  ${messages.join("\n  ")}`,
      {
        hint: "'ringrift config check' lists all that is wrong; docs/reference/settings.md lists all settings.",
        details: { problems },
      },
    );
  }
  return Object.fromEntries([...settings].map(([key, { value }]) => [key, value])) as unknown as SettingValues;
}

const timingOf = (values: SettingValues): NodeTiming => ({
  beatMs: values["nodes.beat"] * 1_000,
  suspectMs: values["nodes.suspect"] * 1_000,
  deadMs: values["nodes.dead"] * 1_000,
  purgeMs: values["nodes.purge"] * 1_000,
  startupGraceMs: values["p2p.startup_grace_period"] * 1_000,
});

const apiOf = (values: SettingValues): ApiSettings => {
  const [certFile, keyFile] = [values["api.tls_cert_file"], values["api.tls_key_file"]];
  return {
    host: values["api.host"],
    serverName: values["api.server_name"],
    localReads: values["api.local_reads"],
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    rateFactor: values["api.rate_factor"],
  };
};
const workerOf = (values: SettingValues): WorkerSettings => ({
  slots: values["worker.slots"],
  cpus: values["worker.cpus"],
  memoryGb: values["worker.memory_gb"],
  gpus: values["worker.gpus"],
  gpuMemoryGb: values["worker.gpu_memory_gb"],
  tags: values["worker.tags"] === "" ? [] : values["worker.tags"].split(","),
  diskReserveBytes: Math.round(values["worker.disk_reserve_gb"] * 1e9),
  beatMs: Math.round(values["worker.beat_interval"] * 1_000),
  claimWaitSeconds: values["worker.claim_wait"],
  mostWaiting: values["worker.most_waiting"],
  outbox: {
    mostEvents: values["worker.outbox_events"],
    mostBytes: Math.round(values["worker.outbox_mb"] * 1e6),
  },
  graceMs: Math.round(values["jobs.grace_period"] * 1_000),
  configFile: values.config,
  allowPlainHttp: values["api.allow_plain_http"],
});
const pressureOf = (values: SettingValues): PressurePolicy =>
  pressurePolicyOf({
    soft: values["work.queue_soft_limit"],
    hard: values["work.queue_brake_limit"],
    stop: values["work.queue_hard_limit"],
    targetDelaySeconds: values["work.queue_target_delay"],
  });
/** Settings are in percent, as people think of them; the parts count shares. */
const limitsOf = (warn: number, critical: number) => ({ high: warn / 100, critical: critical / 100 });

/** Arguments over environment over file over defaults. Throws when anything that was set is wrong. */
export function readSettings(environment: Environment, cwd: string, given: SettingOverrides = {}): Settings {
  const resolution = inspectSettings(environment, cwd, given);
  const values = soundValues(resolution);
  return {
    dataDir: values.data_dir,
    nodeId: values.node_id,
    profile: values.profile,
    port: values["api.port"],
    api: apiOf(values),
    logLevel: values["log.level"],
    router: routerFields.of(values),
    daemons: daemonFields.of(values),
    logFile: { mostBytes: values["log.file_bytes"], files: values["log.files"] },
    watchdog: { blockedAfterMs: Math.round(values["watchdog.blocked_after"] * 1_000) },
    maintenance: { integrityEveryMs: Math.round(values["maintenance.integrity_check_every"] * 1_000) },
    token: values["api.token_file"],
    resources: {
      memory: limitsOf(values["resources.memory_warn"], values["resources.memory_critical"]),
      disk: limitsOf(values["resources.disk_warn"], values["resources.disk_critical"]),
    },
    alerts: {
      webhookUrl: values["alerts.webhook_url_file"],
      webhookSecret: values["alerts.webhook_secret_file"],
      slackUrl: values["alerts.slack_url_file"],
      leastSeverity: values["alerts.least_severity"],
      messagesPerMinute: values["alerts.messages_per_minute"],
      rulesFile: values["alerts.rules_file"],
    },
    localWorkers: values["workers.local"],
    loop: {
      configs: values["loop.configs"].split(",").filter((config) => config !== ""),
      allowPendingGate: values["training.allow_pending_gate"],
    },
    worker: workerOf(values),
    nodes: { timing: timingOf(values), requiredGpus: values["nodes.required_gpus"] },
    work: { leaseSilenceMs: values["work.lease_silence"] * 1_000, pressure: pressureOf(values) },
    artifacts: { mostBytes: values["artifacts.most_bytes"] },
    notices: resolution.notices,
  };
}

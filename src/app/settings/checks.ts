/** What must hold between several settings. Each row names them, so that the message can say where each value is from. */
import type { SettingValues } from "../../kernel/settings/index.ts";
import { bucketIn } from "../../sync/backup/words.ts";
import { isCopyException } from "../../sync/copies/policy.ts";
import type { settingTree } from "./tree.ts";

export interface Check {
  readonly keys: readonly string[];
  readonly holds: (values: SettingValues<typeof settingTree>) => boolean;
  /** The rule, as a sentence with what goes wrong otherwise. */
  readonly rule: string;
}

export const settingChecks: readonly Check[] = [
  {
    keys: ["nodes.beat", "nodes.suspect"],
    holds: ({ nodes }) => nodes.timing.beatMs * 2 <= nodes.timing.suspectMs,
    rule: "A node must have time for two heartbeats before it is suspect. Otherwise one lost request raises an alarm.",
  },
  {
    keys: ["nodes.suspect", "nodes.dead"],
    holds: ({ nodes }) => nodes.timing.suspectMs < nodes.timing.deadMs,
    rule: "A node must be suspect before it is dead.",
  },
  {
    keys: ["nodes.dead", "nodes.purge"],
    holds: ({ nodes }) => nodes.timing.deadMs <= nodes.timing.purgeMs,
    rule: "A node must be dead before it is removed.",
  },
  {
    keys: ["nodes.beat", "work.lease_silence"],
    holds: ({ nodes, work }) => nodes.timing.beatMs * 2 <= work.leaseSilenceMs,
    rule: "A holder must have time for two heartbeats before its job goes to another node.",
  },
  {
    keys: ["work.queue_soft_limit", "work.queue_brake_limit"],
    holds: ({ work }) => work.pressure.soft <= work.pressure.hard,
    rule: "The limit for half must be below the limit for a tenth.",
  },
  {
    keys: ["work.queue_brake_limit", "work.queue_hard_limit"],
    holds: ({ work }) => work.pressure.hard <= work.pressure.stop,
    rule: "The limit for a tenth must be below the limit for nothing.",
  },
  {
    keys: ["router.retry_first", "router.retry_most"],
    holds: ({ router }) => router.retryFirstMs <= router.retryMostMs,
    rule: "The first wait between tries must not be longer than the longest one.",
  },
  {
    keys: ["router.concurrency", "router.window"],
    holds: ({ router }) => router.concurrency <= router.window,
    rule: "A consumer cannot run more handlers at once than it may have deliveries in memory.",
  },
  {
    keys: ["router.dedup_window", "router.retention"],
    holds: ({ router }) => router.dedupWindowSeconds <= router.retentionSeconds,
    rule: "The journal must keep events for the whole window. Otherwise the answer to a repeat names an event that is gone.",
  },
  {
    keys: ["daemons.restart_first", "daemons.restart_most"],
    holds: ({ daemons }) => daemons.recoveryCooldownMs <= daemons.maxBackoffMs,
    rule: "The first wait before a restart must not be longer than the longest one.",
  },
  {
    keys: ["api.tls_cert_file", "api.tls_key_file"],
    holds: ({ api }) => (api.tlsCertFile === undefined) === (api.tlsKeyFile === undefined),
    rule: "A certificate needs its key, and a key its certificate.",
  },
  {
    keys: ["api.host", "api.tls_cert_file", "api.allow_plain_http"],
    holds: ({ api }) =>
      ["127.0.0.1", "localhost", "::1"].includes(api.host) || api.tlsCertFile !== undefined || api.allowPlainHttp,
    rule: "Beyond loopback the API needs TLS, because others could read the tokens. Or allow plain HTTP.",
  },
  {
    keys: ["p2p.raft_enabled", "coordinators.servers"],
    holds: ({ p2p, coordinators: { servers } }) => !p2p.raftEnabled || servers.length === 0 || servers.length >= 3,
    rule: "Name at least three nats-servers, or none and let ringrift run them. Otherwise the loss of one server stops or loses their log.",
  },
  {
    keys: ["coordinators.servers", "coordinators.monitors"],
    holds: ({ coordinators: { servers, monitors } }) => servers.length === monitors.length,
    rule: "Each nats-server needs the address of its monitor. Only there it says whether it writes to disk before it answers.",
  },
  {
    keys: ["coordinators.nats_user", "coordinators.nats_password_file"],
    holds: ({ coordinators: { user, password } }) => (user === undefined) === (password === undefined),
    rule: "A user name needs its password, and a password its user name.",
  },
  {
    keys: ["transfers.tls_cert_file", "transfers.tls_key_file"],
    holds: ({ transfers }) => (transfers.tlsCertFile === undefined) === (transfers.tlsKeyFile === undefined),
    rule: "A certificate needs its key, and a key its certificate.",
  },
  {
    keys: ["transfers.serve_host", "transfers.tls_cert_file", "api.allow_plain_http"],
    holds: ({ transfers, api }) =>
      ["127.0.0.1", "localhost", "::1", undefined].includes(transfers.serveHost) ||
      transfers.tlsCertFile !== undefined ||
      api.allowPlainHttp,
    rule: "Beyond loopback files are served over TLS, or they could be read on the way, unless plain HTTP is allowed.",
  },
  {
    keys: ["resources.cpu_warn", "resources.cpu_critical"],
    holds: ({ resources }) => resources.cpu.high <= resources.cpu.critical,
    rule: "The limit for busy must be below the limit for overloaded.",
  },
  {
    keys: ["resources.memory_warn", "resources.memory_critical"],
    holds: ({ resources }) => resources.memory.high <= resources.memory.critical,
    rule: "The warning limit of memory must be below the critical one.",
  },
  {
    keys: ["resources.disk_warn", "resources.disk_critical"],
    holds: ({ resources }) => resources.disk.high <= resources.disk.critical,
    rule: "The warning limit of the disk must be below the critical one.",
  },
  {
    keys: ["artifacts.copies_exceptions"],
    holds: ({ artifacts }) => artifacts.copies.exceptions.every(isCopyException),
    rule: "Each exception is a config, a class and a number from 1 to 20, as in hex8_2p:games:3.",
  },
  {
    keys: ["backup.s3_url", "backup.s3_access_key", "backup.s3_secret_file"],
    holds: ({ backup: { s3Url, s3AccessKey, s3Secret } }) =>
      s3Url === undefined || (bucketIn(s3Url) !== undefined && s3AccessKey !== undefined && s3Secret !== undefined),
    rule: "A store for backups needs a bucket in its address, an access key, and its secret.",
  },
];

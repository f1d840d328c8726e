/** What must hold between several settings. Each row names them, so that the message can say where each value is from. */
import type { SettingKey, SettingValues } from "./values.ts";

export interface Check {
  readonly keys: readonly SettingKey[];
  readonly holds: (values: SettingValues) => boolean;
  /** The rule, as a sentence with what goes wrong otherwise. */
  readonly rule: string;
}

export const settingChecks: readonly Check[] = [
  {
    keys: ["nodes.beat", "nodes.suspect"],
    holds: (values) => values["nodes.beat"] * 2 <= values["nodes.suspect"],
    rule: "A node must have the time for two beats before it is suspect, or one lost request is an alarm.",
  },
  {
    keys: ["nodes.suspect", "nodes.dead"],
    holds: (values) => values["nodes.suspect"] < values["nodes.dead"],
    rule: "A node is suspect before it is dead.",
  },
  {
    keys: ["nodes.dead", "nodes.purge"],
    holds: (values) => values["nodes.dead"] <= values["nodes.purge"],
    rule: "A node is forgotten after it is dead, not before.",
  },
  {
    keys: ["nodes.beat", "work.lease_silence"],
    holds: (values) => values["nodes.beat"] * 2 <= values["work.lease_silence"],
    rule: "A holder must have the time for two beats before its job is given away.",
  },
  {
    keys: ["work.queue_soft_limit", "work.queue_brake_limit"],
    holds: (values) => values["work.queue_soft_limit"] <= values["work.queue_brake_limit"],
    rule: "Producers are asked for half before they are asked for a tenth.",
  },
  {
    keys: ["work.queue_brake_limit", "work.queue_hard_limit"],
    holds: (values) => values["work.queue_brake_limit"] <= values["work.queue_hard_limit"],
    rule: "Producers are asked for a tenth before they are asked for nothing.",
  },
  {
    keys: ["router.retry_first", "router.retry_most"],
    holds: (values) => values["router.retry_first"] <= values["router.retry_most"],
    rule: "The first wait between tries must not be longer than the longest one.",
  },
  {
    keys: ["router.concurrency", "router.window"],
    holds: (values) => values["router.concurrency"] <= values["router.window"],
    rule: "A consumer cannot run more handlers at once than it may have deliveries in memory.",
  },
  {
    keys: ["router.dedup_window", "router.retention"],
    holds: (values) => values["router.dedup_window"] <= values["router.retention"],
    rule: "The journal must keep events for the whole window, or a repeat is answered with an event that is gone.",
  },
  {
    keys: ["daemons.restart_first", "daemons.restart_most"],
    holds: (values) => values["daemons.restart_first"] <= values["daemons.restart_most"],
    rule: "The first wait before a restart must not be longer than the longest one.",
  },
  {
    keys: ["api.tls_cert_file", "api.tls_key_file"],
    holds: (values) => (values["api.tls_cert_file"] === undefined) === (values["api.tls_key_file"] === undefined),
    rule: "A certificate needs its key, and a key its certificate.",
  },
  {
    keys: ["api.host", "api.tls_cert_file", "api.allow_plain_http"],
    holds: (values) =>
      ["127.0.0.1", "localhost", "::1"].includes(values["api.host"]) ||
      values["api.tls_cert_file"] !== undefined ||
      values["api.allow_plain_http"],
    rule: "Beyond loopback the API needs TLS, or tokens could be read on the way, unless plain HTTP is allowed.",
  },
  {
    keys: ["resources.memory_warn", "resources.memory_critical"],
    holds: (values) => values["resources.memory_warn"] <= values["resources.memory_critical"],
    rule: "Memory cannot be critical before it is short.",
  },
  {
    keys: ["resources.disk_warn", "resources.disk_critical"],
    holds: (values) => values["resources.disk_warn"] <= values["resources.disk_critical"],
    rule: "A disk cannot be nearly full before it is low.",
  },
];

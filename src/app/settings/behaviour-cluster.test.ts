/** Each variable of resources and alerts changes what it names: seen at the units and sinks that the program builds of it. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../test/fixtures/unit-world.ts";
import { createClusterServices, createDiskGauge, resourceMonitorDaemon } from "../../cluster/index.ts";
import { alertSinks } from "../../cluster/services.ts";
import { builtinRows } from "../../events/index.ts";
import { seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import { readSettings } from "./read.ts";
import { settingRows } from "./tree.ts";

type Environment = Readonly<Record<string, string>>;

const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "ringrift-settings-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
};
const fileWith = (text: string) => {
  const path = join(folder(), "file");
  writeFileSync(path, text);
  return path;
};

/** The level of a resource of which so much is in use. */
const levelAt = (resource: "cpu" | "memory" | "disk", share: number) => async (environment: Environment) => {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const used = (of: string) => (of === resource ? share : 0.1);
  const sample = async () => ({
    cpus: 1,
    cpuUsage: 0,
    cpuPressure: 1,
    cpuOthers: used("cpu"),
    memory: { usage: used("memory"), totalBytes: 1, limitedBy: "machine" as const, rssBytes: 1 },
    disk: { totalBytes: 100, usedBytes: used("disk") * 100, freeBytes: 100 - used("disk") * 100 },
    loopDelayMs: { p99: 0, max: 0 },
    gpus: [],
  });
  const { resources } = readSettings(environment, "/");
  const unit = resourceMonitorDaemon({
    disk: createDiskGauge(),
    nodeId: "n1",
    sampler: { sample, close() {} },
    settings: { resources },
  });
  await w.driven(w.runtime([unit]).start());
  await w.pass(180_000);
  const [told] = w.router.history({ eventType: "RESOURCE_CONSTRAINT" });
  return (told?.payload as { level?: string } | undefined)?.level ?? "none";
};

/** What a receiver gets of one alert of this severity. */
async function received(environment: Environment, severity: "info" | "warning" | "error"): Promise<string[]> {
  const got: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const signed = request.headers["x-ringrift-signature"] === undefined ? "" : " signed";
    got.push(`${"blocks" in JSON.parse(body) ? "slack" : "webhook"}${signed}`);
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = fileWith(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const files = Object.fromEntries(
    Object.entries(environment).map(([name, text]) => [name, text === "(address)" ? address : text]),
  );
  const snapshot = {
    id: "al_1",
    key: "k",
    severity,
    status: "open" as const,
    title: "t",
    message: "m",
    event_type: null,
    event_id: null,
    subject: null,
    opened_at: 1,
    last_seen_at: 1,
    count: 1,
    closed_at: null,
    acknowledged_by: null,
  };
  const order = ["info", "warning", "error"];
  for (const sink of alertSinks(readSettings(files, "/").alerts, systemClock(), silentLog()))
    if (order.indexOf(severity) >= order.indexOf(sink.minSeverity))
      await sink.deliver(
        { kind: "alert", id: 1, idempotencyKey: "k", transition: "opened-1", alert: snapshot },
        new AbortController().signal,
      );
  return got;
}

const servicesOf = (environment: Environment) => {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  return createClusterServices({
    settings: readSettings(environment, "/"),
    store: w.store,
    clock: w.clock,
    listened: () => w.clock.monotonic(),
    random: seededRandom(1),
    log: silentLog(),
    catalog: w.router.catalog as never,
    version: "0.1.0",
    work: () => [],
  });
};

const WEBHOOK = { RINGRIFT_ALERT_WEBHOOK_URL_FILE: "(address)" };
const rules = { absence: [{ name: "games", event: "NEW_GAMES_AVAILABLE", within_seconds: 60 }] };

interface Behaviour {
  readonly see: (environment: Environment) => Promise<unknown>;
  /** What is seen without it, and with it. */
  readonly without: unknown;
  readonly set: () => string;
  readonly with: unknown;
  readonly beside?: Environment;
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  "resources.cpu_warn": { see: levelAt("cpu", 0.75), without: "none", set: () => "70", with: "high" },
  "resources.cpu_critical": { see: levelAt("cpu", 0.9), without: "high", set: () => "88", with: "critical" },
  "resources.memory_warn": { see: levelAt("memory", 0.8), without: "none", set: () => "75", with: "high" },
  "resources.memory_critical": { see: levelAt("memory", 0.9), without: "high", set: () => "88", with: "critical" },
  "resources.disk_warn": { see: levelAt("disk", 0.8), without: "none", set: () => "75", with: "high" },
  "resources.disk_critical": { see: levelAt("disk", 0.9), without: "high", set: () => "88", with: "critical" },
  "alerts.webhook_url_file": {
    see: (environment) => received(environment, "error"),
    without: [],
    set: () => "(address)",
    with: ["webhook"],
  },
  "alerts.webhook_secret_file": {
    see: (environment) => received(environment, "error"),
    beside: WEBHOOK,
    without: ["webhook"],
    set: () => fileWith("a-secret-of-enough-characters"),
    with: ["webhook signed"],
  },
  "alerts.slack_url_file": {
    see: (environment) => received(environment, "error"),
    without: [],
    set: () => "(address)",
    with: ["slack"],
  },
  "alerts.least_severity": {
    see: (environment) => received(environment, "warning"),
    beside: WEBHOOK,
    without: ["webhook"],
    set: () => "error",
    with: [],
  },
  "alerts.messages_per_minute": {
    see: async (environment) => servicesOf(environment).settings.alerts.messagesPerMinute,
    without: 10,
    set: () => "3",
    with: 3,
  },
  "alerts.rules_file": {
    see: async (environment) => servicesOf(environment).absence.map(({ name }) => name),
    without: [],
    set: () => fileWith(JSON.stringify(rules)),
    with: ["user.games"],
  },
};

const rows = settingRows.filter(({ key }) => key in behaviours);

test("each of them is a setting, and changes something", () => {
  expect(rows.map(({ key }) => key).sort()).toEqual(Object.keys(behaviours).sort());
  for (const behaviour of Object.values(behaviours)) expect(behaviour.with).not.toEqual(behaviour.without);
});

test.each(rows.map(({ key, variable }) => ({ key, variable })))(
  "$variable changes what one sees",
  async ({ key, variable }) => {
    const { see, without, set, with: seen, beside = {} } = behaviours[key]!;
    expect(await see(beside)).toEqual(without);
    expect(await see({ ...beside, [variable]: set() })).toEqual(seen);
  },
);

test("an address that cannot be used is refused at the start, and not repeated", () => {
  const path = fileWith("ftp://secret.example/hook");
  const settings = readSettings({ RINGRIFT_ALERT_WEBHOOK_URL_FILE: path }, "/");
  const build = () => alertSinks(settings.alerts, systemClock(), silentLog());
  expect(build).toThrow("the address of the alert sink 'webhook' cannot be used");
  expect(JSON.stringify(settings)).not.toContain("secret.example");
});

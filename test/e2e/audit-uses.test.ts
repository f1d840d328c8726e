/** Every handler of every unit is run once, everything that can be looked at is looked at, and nobody has written for nobody. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { declaredRegistry } from "../../src/app/registry.ts";
import { readSettings } from "../../src/app/settings.ts";
import { writeOnly } from "../../src/daemons/audit/write-only.ts";
import { createUses, defineCoordinator, isPlaceholder, type Unit } from "../../src/daemons/index.ts";
import { silentLog, systemClock } from "../../src/kernel/index.ts";
import { configPlanSchema } from "../../src/pipeline/index.ts";
import { defineTable } from "../../src/router/index.ts";
import { examplePayload } from "../../src/surfaces/events/example-payload.ts";
import { allRoutes } from "../../src/surfaces/index.ts";
import { PATIENT, patience } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { urlsOf } from "../support/routes.ts";
import { ask } from "../support/surface.ts";

const own = owned();
const clock = systemClock();
const uses = createUses(() => clock.now());
const hoard = defineTable<{ seen: string }>("hoard");
/** A unit of somebody's own that stores an event for nobody. */
const hoarder = defineCoordinator({
  name: "hoarder",
  layer: 9,
  placement: "leader",
  emits: [],
  state: { tables: { hoard } },
  on: {
    NODE_SUSPECT: ({ payload }, { rows }) => rows.put(hoard, payload.node_id, { seen: "yes" }),
  },
});
const quick = (unit: Unit): Unit =>
  unit.everyMs === null ? unit : { ...unit, everyMs: Math.min(unit.everyMs, 1_000) };
const { catalog, units } = declaredRegistry();
const real = units.filter((unit) => !isPlaceholder(unit));
let coordination: Awaited<ReturnType<typeof bootstrapCoordination>>;

/** With these every unit of a leader is stopped, whoever else would hear them. */
const FAREWELL = new Set(["LEADER_ELECTED", "LEADER_LOST", "LEADER_STEPDOWN"]);
const pairsOf = (events: readonly string[]) =>
  real.flatMap(({ name, hears }) => hears.filter((event) => events.includes(event)).map((event) => `${name}/${event}`));
const handled = () => new Set(uses.seen().uses.map(({ unit, trigger }) => `${unit}/${trigger}`));
/** Waits until each was seen; names those that were not. */
const seen = (wanted: readonly string[]) =>
  vi.waitFor(() => expect(wanted.filter((pair) => !handled().has(pair))).toEqual([]), {
    ...PATIENT,
    timeout: patience(180_000),
  });

/** Waits until one has read something. */
const readBy = (who: string, what: string) =>
  vi.waitFor(() => {
    const use = uses.seen().uses.find(({ unit, trigger }) => `${unit}/${trigger}` === who);
    expect([...(use?.reads ?? [])]).toContain(what);
  }, PATIENT);

beforeAll(async () => {
  const dataDir = own.folder();
  coordination = await bootstrapCoordination({
    settings: readSettings({ RINGRIFT_RATE_FACTOR: "10000" }, dataDir, { dataDir, port: 0 }),
    log: silentLog(),
    plans: [{ plan: configPlanSchema().parse({ config_key: "hex8_2p" }), asked: [] }],
    units: [uses.wrap(hoarder)],
    wrapUnit: (unit) => uses.wrap(quick(unit)),
    wrapStore: uses.tap,
  });
  const socket = { socketPath: coordination.api.socketPath };
  const publish = (event: string, more: Readonly<Record<string, unknown>> = {}) =>
    coordination.router.publish(
      event as never,
      { ...(examplePayload(catalog.row(event)!) as object), ...more } as never,
      {
        source: "test",
      },
    );
  const told = async (path: string, body: unknown) => {
    const { status, json } = await ask(socket, path, { method: "POST", body });
    expect(status, JSON.stringify(json)).toBeLessThan(300);
  };
  // What may stop units comes last, one by one: one that is held hears nothing.
  const stopping = real.find(({ name }) => name === "daemon_control")!.hears.filter((event) => !FAREWELL.has(event));
  const others = [...new Set(real.flatMap(({ hears }) => hears))].filter(
    (event) => !stopping.includes(event) && !FAREWELL.has(event),
  );
  for (const event of others) await publish(event);
  await seen(pairsOf(others));
  // Some things are written for the day when a node does jobs, or when a policy is on: both are so here.
  await told("/v1/daemons/HIGH_QUALITY_SYNC/start", {});
  await told("/v1/work/claim", { node_id: "box", offer: { cpu: 4, gpu: 0, memory_gb: 8, gpu_memory_gb: 0, tags: [] } });
  await publish("TASK_SPAWNED", { task_id: "running", node_id: "box" });
  await publish("WORK_COMPLETED", { node_id: "box" });
  await publish("NODE_CAPACITY_UPDATED", { node_id: "box" });
  await readBy("auto_sync/tick", "sync_data_scores");
  await readBy("utilization_optimizer/NODE_CAPACITY_UPDATED", "utilization_optimizer.done");
  for (const event of stopping) {
    await publish(event);
    await seen(pairsOf([event]));
  }
  const ticking = real.filter(({ everyMs }) => everyMs !== null).map(({ name }) => `${name}/tick`);
  await seen(ticking);
  for (const route of allRoutes.filter(({ method, endless }) => method === "GET" && !endless))
    for (const url of urlsOf(route)) await ask(socket, url);
  await readBy("task_coordinator/health", "task_coordinator.seenAt");
}, patience(400_000));

afterAll(async () => {
  await coordination?.shutdown();
  await own.end();
});

test("no unit writes what nobody reads, and a planted one is found", () => {
  const found = writeOnly({ units: [...real, hoarder] }, uses.seen(), clock.now(), 0);
  expect(found.map(({ event, units: who, message }) => [who, event, message])).toEqual([
    [["hoarder"], "NODE_SUSPECT", "'hoarder' writes it into hoard, and nobody has read that."],
  ]);
});

test("the audit of a running process counts them", async () => {
  const report = await coordination.audit();
  expect(report.totals).toMatchObject({ write_only: 0, stale_excuses: 0 });
});

/** Whatever holds a config up, `why`, `status`, `health` and the live view name the same root of it, and what to do. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Cause, isWell } from "../../../src/daemons/index.ts";
import { systemClock } from "../../../src/kernel/index.ts";
import { createPaint } from "../../../src/surfaces/commands/index.ts";
import { pipelineLines } from "../../../src/surfaces/index.ts";
import { CONFIG, planned, QUICK, ticking } from "../../support/loop.ts";
import { PATIENT } from "../../support/patience.ts";
import { type RunningSurface, runSurface } from "../../support/surface.ts";

/** A clock that can be set on: everybody who is there has had the time to ask for work. */
const clockWithLead = () => {
  const real = systemClock();
  let lead = 0;
  return {
    clock: { ...real, monotonic: () => real.monotonic() + lead },
    setOn: (ms: number) => {
      lead += ms;
    },
  };
};

const FIGURES = { eventsPerSecond: 0, alerts: 0, workers: 0, uptimeMs: 0, remainingMs: null };
const PLENTY = { cpu: 64, gpu: 8, memory_gb: 256 };

let surface: RunningSurface;
let time: ReturnType<typeof clockWithLead>;
beforeEach(async () => {
  time = clockWithLead();
  const plans = planned(QUICK);
  surface = await runSurface({}, { plans, clock: time.clock, wrapUnit: ticking(50) });
});
afterEach(() => surface.end());

const get = async (path: string) => (await surface.ask("socket", path)).json;
const post = async (path: string, body: object) => {
  const { json, status } = await surface.ask("socket", path, { method: "POST", body, token: surface.token });
  expect(status, JSON.stringify(json)).toBeLessThan(300);
  return json;
};
const nodeId = () => surface.coordination.settings.nodeId;

/** A worker asks for jobs, in vain or not. */
const claim = async (most = 1) =>
  (await post("/v1/work/claim", { node_id: nodeId(), most, offer: PLENTY })).leases as {
    work_id: string;
    fence: number;
  }[];

/** What each of them says. */
async function told() {
  const why = (await get(`/v1/why/${CONFIG}`)) as unknown as { cause: Cause | null; verdict: string };
  const status = (await get("/status")) as unknown as { causes: Cause[] };
  const health = (await get("/health")) as unknown as { status: string; causes: Cause[]; reasons: string[] };
  const pipeline = surface.coordination.loop();
  const live = pipelineLines(pipeline, FIGURES, { paint: createPaint(false), width: 200, height: 40 }).join("\n");
  return { why, status, health, live, model: pipeline.configs[0]!.cause };
}

/** All four name the root, and nobody says that all is well. */
async function agreeOn(code: string) {
  return vi.waitFor(async () => {
    const found = await told();
    const { why, status, health, live, model } = found;
    expect(why.cause?.code, JSON.stringify(why)).toBe(code);
    const root = why.cause!;
    const same = { code, subject: root.subject, what: expect.any(String) };
    expect(model).toMatchObject({ code, subject: root.subject });
    expect(status.causes).toContainEqual(expect.objectContaining(same));
    expect(health.causes).toContainEqual(expect.objectContaining(same));
    expect(health.status).not.toBe("healthy");
    expect(live).toContain(model!.what.split(";")[0]);
    expect(root.affects).toContain(CONFIG);
    expect(root.advice).not.toBeNull();
    return { ...found, root };
  }, PATIENT);
}

/** The first jobs are there. */
const begun = () =>
  vi.waitFor(
    () => expect(surface.coordination.loop().configs[0]?.stages.some(({ progress }) => progress !== null)).toBe(true),
    PATIENT,
  );

describe("what stands in the way of a config", () => {
  test("that somebody paused it", async () => {
    await begun();
    await post(`/v1/loop/${CONFIG}/pause`, { reason: "we move the machine" });
    const { root, why } = await agreeOn("paused");
    expect(root).toMatchObject({
      subject: CONFIG,
      level: "warn",
      advice: { action: "resume_config", subject: CONFIG },
    });
    expect(why.verdict).toContain("we move the machine");
  });

  test("that no worker is there, and only then", async () => {
    await begun();
    time.setOn(60_000);
    const { root } = await agreeOn("no_worker");
    expect(root).toMatchObject({ level: "bad", advice: { action: "add_worker" } });
    const [lease] = await claim();
    expect(lease).toBeDefined();
    await vi.waitFor(async () => expect((await told()).why.cause).toBeNull(), PATIENT);
  });

  test("that the disk of the only node is too full, in one question", async () => {
    await begun();
    const { router } = surface.coordination;
    const event = await router.publish("RESOURCE_CONSTRAINT", {
      node_id: nodeId(),
      resource: "disk",
      level: "critical",
      usage: 0.97,
      threshold: 0.95,
    });
    await router.settled(event);
    expect(await claim()).toEqual([]);
    const { root, why } = await agreeOn("node_short_of_disk");
    expect(root.because.map(({ kind }) => kind)).toEqual(["config", "stage", "job", "node"]);
    expect(root.advice).toEqual({ action: "free_disk", subject: root.subject });
    expect(why.verdict).toContain("its disk is 97 % in use");
  });

  test("that its program fails, also while it waits for another try", async () => {
    await begun();
    const [lease] = await claim();
    const ref = { work_id: lease!.work_id, node_id: nodeId(), fence: lease!.fence };
    await post("/v1/work/fail", {
      failures: [{ ref, failure: { class: "retryable", error: "no module named torch" } }],
    });
    const { root, why } = await agreeOn("job_failing");
    expect(root).toMatchObject({ subject: lease!.work_id, advice: { action: "show_job", subject: lease!.work_id } });
    expect(why.verdict).toContain("no module named torch");
  });

  test("that a daemon which it needs was stopped", async () => {
    await begun();
    await surface.coordination.daemons.stop("training_coordinator");
    const { root, why } = await agreeOn("daemon_stopped");
    expect(root).toMatchObject({ subject: "training_coordinator", advice: { action: "start" } });
    expect(why.verdict).not.toContain("is at work");
  });
});

test("work in progress is no refusal", async () => {
  await begun();
  expect(await claim()).toHaveLength(1);
  const { why, model, live } = await vi.waitFor(async () => {
    const found = await told();
    expect(found.why.cause).toBeNull();
    expect(found.status.causes.flatMap(({ affects }) => affects)).toEqual([]);
    // A machine that is busy may have an alert of its own: then neither of them is well.
    expect(isWell(found.status.causes)).toBe(found.health.status === "healthy");
    return found;
  }, PATIENT);
  expect(model).toBeNull();
  expect(why.verdict).toContain("is at work");
  expect(live).not.toContain("no progress");
});

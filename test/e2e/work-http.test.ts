/** The queue over the API of a coordination that really runs: by the Unix socket, and with the token of a worker. */
import { hash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Lease } from "../../src/work/index.ts";
import { type Answer, type RunningSurface, runSurface } from "../support/surface.ts";
import { answerSchemaOf, undocumented } from "../support/undocumented.ts";

const OFFER = { cpu: 4, gpu: 0, memory_gb: 16, gpu_memory_gb: 0, tags: [] };
const GAMES = Buffer.from("ten bytes.");
const sha256 = hash("sha256", GAMES);
const EVIDENCE = { outputs: [{ name: "games.bin", sha256, bytes: GAMES.length }], counts: { games: 3 } };
const refOf = ({ work_id, node_id, fence }: Lease) => ({ work_id, node_id, fence });

let surface: RunningSurface;
let workerToken = "";
beforeAll(async () => {
  surface = await runSurface();
  const made = await surface.ask("socket", "/v1/tokens", { method: "POST", body: { label: "w", scope: "worker" } });
  workerToken = String(made.json.token);
  const put = await surface.ask("socket", `/v1/artifacts/${sha256}`, { method: "PUT", raw: GAMES });
  expect(put.status, put.text).toBe(201);
});
afterAll(() => surface.end());

const post = (via: "socket" | "port", path: string, body: unknown): Promise<Answer> =>
  surface.ask(via, path, { method: "POST", body, ...(via === "port" ? { token: workerToken } : {}) });
const add = async (count: number, more = {}): Promise<string[]> => {
  const jobs = Array.from({ length: count }, () => ({ work_type: "selfplay", config_key: "hex8_2p", ...more }));
  const { status, json } = await post("socket", "/v1/work/jobs", { jobs });
  expect(status, JSON.stringify(json)).toBe(201);
  return (json.added as { work_id: string }[]).map(({ work_id }) => work_id);
};
const claim = async (via: "socket" | "port", node_id: string, more = {}): Promise<Lease[]> => {
  const { status, json } = await post(via, "/v1/work/claim", { node_id, most: 1, offer: OFFER, ...more });
  expect(status, JSON.stringify(json)).toBe(200);
  return json.leases as Lease[];
};
const answersOf = ({ json }: Answer) =>
  json.answers as { ok: boolean; value?: Record<string, unknown>; error?: { code: string } }[];
const show = async (id: string) => (await surface.ask("socket", `/v1/work/jobs/${id}`)).json;

describe.each(["socket", "port"] as const)("a worker at the %s", (via) => {
  test("claims, starts, beats and completes, and saying it twice changes nothing", async () => {
    const [id] = await add(1);
    const [lease] = await claim(via, "a");
    expect(lease).toMatchObject({ work_id: id, node_id: "a", work_type: "selfplay", attempts: 1 });
    const ref = refOf(lease!);
    const [started] = answersOf(await post(via, "/v1/work/start", { leases: [{ ref, pid: 7 }] }));
    expect(started).toMatchObject({ ok: true });
    const [beat] = answersOf(await post(via, "/v1/work/beat", { beats: [{ ref, progress: { progress: 0.5 } }] }));
    expect(beat).toMatchObject({ ok: true, value: { stop: null } });
    expect(await show(id!)).toMatchObject({ state: "running", progress: 0.5 });
    const ghost = { ...EVIDENCE, outputs: [{ name: "games.bin", sha256: "ab".repeat(32), bytes: 10 }] };
    const [refused] = answersOf(await post(via, "/v1/work/complete", { completions: [{ ref, evidence: ghost }] }));
    expect(refused).toMatchObject({ ok: false, error: { code: "RESULT_FILE_MISSING" } });
    expect(await show(id!)).toMatchObject({ state: "running" });
    for (const repeated of [false, true]) {
      const [done] = answersOf(await post(via, "/v1/work/complete", { completions: [{ ref, evidence: EVIDENCE }] }));
      expect(done).toEqual({ ok: true, value: { repeated } });
    }
    expect(await show(id!)).toMatchObject({ state: "completed", evidence: EVIDENCE });
  });

  test("gets one answer for each of many: the stale one alone is refused", async () => {
    await add(2);
    const [one] = await claim(via, "a");
    const [two] = await claim(via, "a");
    const stale = { ...refOf(two!), fence: two!.fence + 1 };
    const answers = answersOf(await post(via, "/v1/work/beat", { beats: [{ ref: stale }, { ref: refOf(one!) }] }));
    expect(answers.map(({ ok, error }) => [ok, error?.code])).toEqual([
      [false, "STALE_LEASE"],
      [true, undefined],
    ]);
    const released = await post(via, "/v1/work/release", {
      releases: [{ ref: refOf(one!), reason: "shutting down" }],
    });
    expect(answersOf(released)).toMatchObject([{ ok: true, value: { again: true } }]);
    const failed = await post(via, "/v1/work/fail", {
      failures: [{ ref: refOf(two!), failure: { class: "bad_input", error: "no such board" } }],
    });
    expect(answersOf(failed)).toEqual([{ ok: true, value: { again: false, retry_at: null } }]);
    expect(await show(two!.work_id)).toMatchObject({ state: "failed", failure: { error: "no such board" } });
    const [again] = await claim(via, "a");
    expect(again).toMatchObject({ work_id: one!.work_id, attempts: 1, fence: one!.fence + 1 });
    await post(via, "/v1/work/complete", { completions: [{ ref: refOf(again!), evidence: EVIDENCE }] });
  });

  test("that waits for work gets it when it comes, and nobody gets it twice", async () => {
    const waiting = Array.from({ length: 3 }, (_, i) => claim(via, `waits-${i}`, { wait_seconds: 20 }));
    await expect.poll(async () => (await surface.ask("socket", "/v1/work/stats")).json.claims_waiting).toBe(3);
    const ids = await add(3);
    const leases = (await Promise.all(waiting)).flat();
    expect(leases.map(({ work_id }) => work_id).sort()).toEqual([...ids].sort());
    for (const lease of leases)
      await post(via, "/v1/work/complete", { completions: [{ ref: refOf(lease), evidence: EVIDENCE }] });
  });
});

describe("what a claim answers", () => {
  test("is told by the OpenAPI document to the last field", async () => {
    await add(1, { needs: { cpu: 2, tags: [] }, payload: { games: 4 } });
    const { json } = await post("port", "/v1/work/claim", { node_id: "strict", most: 1, offer: OFFER });
    const document = (await surface.ask("socket", "/openapi.json")).json;
    const schema = answerSchemaOf(document, "post", "/v1/work/claim");
    expect((json.leases as Lease[])[0]).toMatchObject({ needs: { cpu: 2, gpu: 0 } });
    expect(undocumented(document, schema, json)).toEqual([]);
    // The look itself sees what is too much, and what is not there.
    const [{ needs: _, ...lease }] = json.leases as [Lease];
    expect(undocumented(document, schema, { leases: [{ ...lease, more: 1 }] })).toEqual([
      ".leases[0].more is not in the schema",
      ".leases[0].needs is promised and not there",
    ]);
  });

  test("is the same again when the node says the same claim again", async () => {
    await add(2);
    const [first] = await claim("port", "again", { claim_id: "c-1" });
    const [second] = await claim("port", "again", { claim_id: "c-1" });
    expect(second).toEqual({ ...first, beat_by: expect.any(Number) });
    const [other] = await claim("port", "again", { claim_id: "c-2" });
    expect(other!.work_id).not.toBe(first!.work_id);
  });
});

describe("an operator", () => {
  test("adds, lists, cancels and retries; a holder learns of it at its next beat", async () => {
    const [id] = await add(1, { payload: { games: 4 } });
    const [lease] = await claim("socket", "a");
    expect(lease!.payload).toEqual({ games: 4 });
    const ref = refOf(lease!);
    const list = await surface.ask("socket", "/v1/work/jobs?state=claimed&node_id=a&work_type=selfplay");
    expect(list.json.jobs).toMatchObject([{ work_id: id }]);
    const cancelled = await post("socket", `/v1/work/jobs/${id}/cancel`, { reason: "not wanted" });
    expect(cancelled.json).toMatchObject({ state: "cancelled" });
    expect(answersOf(await post("socket", "/v1/work/beat", { beats: [{ ref }] }))).toMatchObject([
      { ok: true, value: { stop: { kind: "cancelled", reason: "not wanted" } } },
    ]);
    const late = await post("socket", "/v1/work/complete", { completions: [{ ref, evidence: EVIDENCE }] });
    expect(answersOf(late)).toMatchObject([{ ok: false, error: { code: "JOB_CANCELLED" } }]);
    expect((await post("socket", `/v1/work/jobs/${id}/retry`, {})).json).toMatchObject({ state: "pending" });
    expect((await post("socket", `/v1/work/jobs/${id}/cancel`, { reason: "enough" })).status).toBe(200);
  });

  test("is told what is wrong with a job, and nothing of the request is taken", async () => {
    const before = (await surface.ask("socket", "/v1/work/stats")).json.unfinished;
    const refused = await post("socket", "/v1/work/jobs", {
      jobs: [{ work_type: "selfplay" }, { work_type: "knitting" }],
    });
    expect([refused.status, refused.json.code]).toEqual([422, "WORK_KIND_UNKNOWN"]);
    expect((await surface.ask("socket", "/v1/work/stats")).json.unfinished).toBe(before);
    expect((await surface.ask("socket", "/v1/work/jobs/w999999")).status).toBe(404);
    expect((await post("port", "/v1/work/jobs", { jobs: [{ work_type: "selfplay" }] })).status).toBe(403);
  });

  test("finds the units of the queue running", async () => {
    const { units } = (await surface.ask("socket", "/v1/units")).json as { units: { name: string; status: string }[] };
    for (const name of ["task_coordinator", "global_task_coordinator", "job_scheduler", "job_reaper"])
      expect(units).toContainEqual(expect.objectContaining({ name, status: "running" }));
  });
});

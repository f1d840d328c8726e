import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { pipelineOf } from "../../../test/fixtures/pipeline-console.ts";
import { healthy, justStarted, sideBySide } from "../../../test/fixtures/pipeline-snapshots.ts";
import { runPipelineSurface } from "../../../test/support/pipeline-surface.ts";
import type { PipelineSnapshot } from "../../pipeline/snapshot.ts";
import { usualStatus } from "../http/wire.ts";
import { modelRoutes } from "../models/routes.ts";
import { pipelineRoutes } from "./routes.ts";
import { getPipeline } from "./wire.ts";

const allRoutes = [...pipelineRoutes, ...modelRoutes];

const world = async (snapshot: PipelineSnapshot = healthy) => {
  const port = pipelineOf(snapshot);
  const surface = await runPipelineSurface(onTestFinished, port);
  const get = (path: string) => surface.ask("socket", path);
  const post = (path: string, body: object = {}) => surface.ask("socket", path, { method: "POST", body });
  return { port, surface, get, post };
};
const [config] = healthy.configs;
const champion = config!.champion!.model;

describe("looking at the loop", () => {
  test("shows it whole, the way its schema says", async () => {
    const { get } = await world(sideBySide);
    const { status, json } = await get("/v1/loop");
    expect(status).toBe(200);
    expect(json).toEqual(JSON.parse(JSON.stringify(z.encode(getPipeline.answer, sideBySide as never))));
    const route = allRoutes.find(({ id }) => id === "getLoop")!;
    expect(route.answers[usualStatus(route)]!.schema.safeParse(json).error).toBeUndefined();
  });

  test("every answer is as the document says", async () => {
    const { get } = await world();
    for (const [id, path] of [
      ["getLoopHistory", "/v1/loop/othello6_2p/history"],
      ["listModels", "/v1/models"],
      ["getModel", `/v1/models/${champion}`],
      ["getLedger", "/v1/ledger"],
      ["getLineage", "/v1/trace/w17"],
    ] as const) {
      const { status, json } = await get(path);
      const route = allRoutes.find((each) => each.id === id)!;
      expect([id, status]).toEqual([id, 200]);
      expect(route.answers[200]!.schema.safeParse(json).error, id).toBeUndefined();
    }
  });

  test("tells a history in seconds, of the stage that was asked for, no longer than asked for", async () => {
    const { get } = await world();
    const { json } = await get("/v1/loop/othello6_2p/history?stage=training&limit=1");
    expect(json.history).toMatchObject([
      { stage: "training", attempt: 2, since: 1_789_999_991, ended_at: 1_789_999_995 },
    ]);
    expect((await get("/v1/loop/othello6_2p/history?stage=promotion")).json).toEqual({ history: [] });
    expect((await get("/v1/loop/othello6_2p/history?stage=lunch")).status).toBe(422);
  });

  test("lists models by config and stage, and knows one by the start of its id", async () => {
    const { get } = await world(sideBySide);
    const { json } = await get("/v1/models?config_key=othello6_2p&stage=production");
    expect(json.models).toMatchObject([{ model_id: champion, generation: 25, stage: "production" }]);
    expect((await get(`/v1/models/${champion.slice(0, 12)}`)).json).toMatchObject({ model_id: champion });
    expect((await get("/v1/models/0000")).json).toMatchObject({ code: "MODEL_NOT_FOUND", status: 404 });
    expect((await get(`/v1/models/${"0".repeat(64)}`)).json).toMatchObject({ code: "MODEL_NOT_FOUND", status: 404 });
    expect((await get("/v1/models/nobody")).status).toBe(422);
  });

  test("asks for more of an id that several models begin with", async () => {
    const port = pipelineOf(healthy);
    const [model] = await port.models({ limit: 1 });
    const twins = ["1", "2"].map((end) => ({ ...model!, model_id: `abcdef${end.repeat(58)}` }));
    const surface = await runPipelineSurface(onTestFinished, { ...port, models: () => twins });
    const { json } = await surface.ask("socket", "/v1/models/abcdef");
    expect(json).toMatchObject({ code: "MODEL_AMBIGUOUS", status: 409, detail: "2 models begin with 'abcdef'" });
  });

  test("says what was meant by a config that nobody has, and that nobody knows an id", async () => {
    const { get } = await world();
    expect((await get("/v1/loop/othelo6_2p/history")).json).toMatchObject({
      status: 404,
      code: "CONFIG_NOT_FOUND",
      detail: "no loop runs for 'othelo6_2p'. Did you mean othello6_2p?",
    });
    expect((await get("/v1/trace/w18")).json).toMatchObject({ status: 404, code: "LINEAGE_NOT_FOUND" });
  });
});

describe("deciding about the loop", () => {
  const decisions = [
    ["/v1/loop/othello6_2p/pause", "pause", "othello6_2p"],
    ["/v1/loop/othello6_2p/resume", "resume", "othello6_2p"],
    ["/v1/loop/othello6_2p/retry", "retry", "othello6_2p"],
    ["/v1/loop/othello6_2p/rollback", "rollback", "othello6_2p"],
    [`/v1/models/${champion.slice(0, 10)}/promote`, "promote", champion],
  ] as const;

  test.each(decisions)("%s is passed on with who and why, and kept on record", async (path, verb, subject) => {
    const { port, surface, post } = await world();
    const { status, json } = await post(path, { reason: "a test" });
    expect([status, json.applied, json.config_key]).toEqual([200, true, "othello6_2p"]);
    expect(port.decisions).toEqual([
      { verb, subject, actor: expect.stringMatching(/^local:/), reason: "a test", dryRun: false },
    ]);
    const { writes } = (await surface.ask("socket", "/v1/writes")).json as { writes: object[] };
    expect(writes).toMatchObject([{ method: "POST", path, status: 200, scope: "operator" }]);
  });

  test.each(decisions)("%s can be tried without doing it", async (path) => {
    const { port, post } = await world();
    const { json } = await post(path, { dry_run: true });
    expect(json.applied).toBe(false);
    expect(port.decisions).toMatchObject([{ dryRun: true, reason: expect.stringMatching(/^asked for by local:/) }]);
  });

  test.each(decisions)("%s needs the token of an operator", async (path) => {
    const { port, surface } = await world();
    const bare = await surface.ask("port", path, { method: "POST", body: {} });
    expect([bare.status, bare.json.code]).toEqual([401, "UNAUTHORIZED"]);
    for (const scope of ["read", "worker"]) {
      const made = await surface.ask("socket", "/v1/tokens", { method: "POST", body: { label: scope, scope } });
      const refused = await surface.ask("port", path, { method: "POST", body: {}, token: String(made.json.token) });
      expect([scope, refused.status, refused.json.code]).toEqual([scope, 403, "SCOPE_TOO_SMALL"]);
    }
    expect(port.decisions).toEqual([]);
    expect((await surface.ask("port", path, { method: "POST", body: {}, token: surface.token })).status).toBe(200);
  });

  test("what the loop refuses is a conflict, on record as such", async () => {
    const { surface, post } = await world(justStarted);
    const { status, json } = await post("/v1/loop/othello6_2p/rollback");
    expect([status, json.code]).toEqual([409, "ROLLBACK_REFUSED"]);
    const { writes } = (await surface.ask("socket", "/v1/writes")).json as { writes: object[] };
    expect(writes).toMatchObject([{ path: "/v1/loop/othello6_2p/rollback", status: 409 }]);
  });

  test("nothing is decided about what is not there, or in words that nobody knows", async () => {
    const { port, post } = await world();
    expect((await post("/v1/loop/hex7_2p/pause")).status).toBe(404);
    expect((await post(`/v1/models/${"0".repeat(64)}/promote`)).status).toBe(404);
    expect((await post("/v1/loop/othello6_2p/pause", { because: "x" })).status).toBe(422);
    expect((await post("/v1/loop/othello6_2p/pause", { reason: "" })).status).toBe(422);
    expect(port.decisions).toEqual([]);
  });
});

test("where no loop runs, every route says so and nothing else", async () => {
  const surface = await runPipelineSurface(onTestFinished, undefined);
  for (const { method, path } of allRoutes) {
    const where = path.replace("{config}", "othello6_2p").replace("{id}", "abcdef12");
    const { status, json } = await surface.ask("socket", where, { method, ...(method === "POST" ? { body: {} } : {}) });
    expect([path, status, json.code, json.retryable]).toEqual([path, 503, "LOOP_NOT_HERE", false]);
  }
});

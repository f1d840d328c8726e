/** Spans leave the process through the exporter of OpenTelemetry, and those of one iteration are one whole trace. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { logPathOf } from "../../src/kernel/index.ts";
import { COMPILE_CACHE } from "../support/compiled.ts";
import { CONFIG, QUICK } from "../support/loop.ts";
import { type ReceivedSpan, startReceiver } from "../support/otlp-receiver.ts";
import { PATIENT } from "../support/patience.ts";
import { type Owned, owned } from "../support/process.ts";
import { onlyThorough } from "../support/thorough.ts";

const REMOTE = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const LOADED = fileURLToPath(new URL("parts/loaded-modules.ts", import.meta.url));

const settingsFile = (own: Owned): string => {
  const file = join(own.folder(), "ringrift.config.json");
  writeFileSync(file, JSON.stringify({ plans: { [CONFIG]: QUICK } }));
  return file;
};

/** What a request over the network carries. */
const headersFor = (dataDir: string) => ({
  "content-type": "application/json",
  authorization: `Bearer ${readFileSync(join(dataDir, "token"), "utf8").trim()}`,
});

const byTrace = (spans: readonly ReceivedSpan[]) => Map.groupBy(spans, ({ traceId }) => traceId);
const orphansOf = (spans: readonly ReceivedSpan[], known: readonly string[] = []) => {
  const ids = new Set([...known, ...spans.map(({ spanId }) => spanId)]);
  return spans.filter(
    ({ parentSpanId }) => parentSpanId !== undefined && parentSpanId !== "" && !ids.has(parentSpanId),
  );
};

test("the spans of an iteration are one trace, from its games to its promotion, and each knows its parent", async () => {
  const own = owned(onTestFinished);
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  // No protocol is asked for: spans go as protobuf then.
  const train = own.startCli(
    ["--config", settingsFile(own), "train", CONFIG, "--iterations", "1", "--port", "0", "--no-report"],
    {
      cwd: own.folder(),
      env: {
        RINGRIFT_DATA_DIR: own.folder(),
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS: "x-key=secret",
        OTEL_SERVICE_NAME: "my-cluster",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test",
        OTEL_BSP_SCHEDULE_DELAY: "100",
        OTEL_BSP_MAX_QUEUE_SIZE: "100000",
      },
    },
  );
  expect(await train.exited, train.stderr()).toMatchObject({ code: 0 });
  expect([...receiver.paths]).toEqual(["/v1/traces"]);
  expect(receiver.headers[0]).toMatchObject({ "x-key": "secret", "content-type": "application/x-protobuf" });
  expect(receiver.resources[0]).toMatchObject({ "service.name": "my-cluster", "deployment.environment": "test" });

  const traces = byTrace(receiver.spans);
  const iteration = [...traces.values()].find((spans) => spans.some(({ name }) => name === "publish MODEL_PROMOTED"))!;
  const published = new Set(iteration.map(({ name }) => name));
  for (const event of [
    "PIPELINE_STAGE_ENTERED",
    "WORK_QUEUED",
    "WORK_COMPLETED",
    "NEW_GAMES_AVAILABLE",
    "TRAINING_COMPLETED",
    "EVALUATION_COMPLETED",
  ])
    expect(published, event).toContain(`publish ${event}`);
  expect(published).toContain("handle WORK_COMPLETED");
  expect(orphansOf(iteration)).toEqual([]);
  expect(iteration.filter(({ parentSpanId }) => !parentSpanId).map(({ name }) => name)).toEqual([
    "publish PIPELINE_STAGE_ENTERED",
  ]);
  expect(new Set(iteration.map(({ spanId }) => spanId)).size).toBe(iteration.length);
});

test("a traceparent on HTTP is the trace of what is published and of what is queued, and reaches the program of a job", async () => {
  const own = owned(onTestFinished);
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const config = join(own.folder(), "ringrift.config.json");
  const program = fileURLToPath(new URL("parts/trace-workload.ts", import.meta.url));
  const teller = {
    command: process.execPath,
    args: [program],
    env_allow: [COMPILE_CACHE],
    kinds: ["tell"],
    config_keys: ["hex8_2p"],
  };
  writeFileSync(config, JSON.stringify({ workloads: { teller } }));
  const dataDir = own.folder();
  const up = own.startCli(["--config", config, "up", "--port", "0", "--workers", "1"], {
    cwd: own.folder(),
    env: {
      RINGRIFT_DATA_DIR: dataDir,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/here`,
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "100",
    },
  });
  const { match } = await up.waitForLine(/^ready .*port (\d+) /);
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`http://127.0.0.1:${match[1]}${path}`, {
      method: "POST",
      headers: { ...headersFor(dataDir), traceparent: `00-${REMOTE.traceId}-${REMOTE.spanId}-01` },
      body: JSON.stringify(body),
    });
    expect(response.ok, await response.clone().text()).toBe(true);
    return response.json();
  };
  const event = { specversion: "1.0", id: "e-1", type: "NEW_GAMES_AVAILABLE", source: "/test" };
  await post("/v1/events", { ...event, data: { config_key: "hex8_2p", new_games: 3, total_games: 3 } });
  const { added } = (await post("/v1/work/jobs", {
    jobs: [{ work_type: "tell", config_key: "hex8_2p", payload: {} }],
  })) as { added: { work_id: string }[] };
  // What the program saw is what it counted: 1 for the message, 1 for the environment.
  await vi.waitFor(async () => {
    const response = await fetch(`http://127.0.0.1:${match[1]}/v1/work/jobs/${added[0]!.work_id}`, {
      headers: headersFor(dataDir),
    });
    const job = (await response.json()) as { state: string; evidence: { counts: Record<string, number> } | null };
    expect(job.state).toBe("completed");
    expect(job.evidence?.counts).toMatchObject({ in_message: 1, in_environment: 1 });
  }, PATIENT);
  await up.stop();
  expect([...receiver.paths]).toEqual(["/here"]);
  const trace = byTrace(receiver.spans).get(REMOTE.traceId) ?? [];
  const roots = trace.filter(({ parentSpanId }) => parentSpanId === REMOTE.spanId).map(({ name }) => name);
  expect(roots.sort()).toEqual(["publish NEW_GAMES_AVAILABLE", "publish WORK_QUEUED"]);
  expect(trace.map(({ name }) => name)).toContain("publish WORK_COMPLETED");
  expect(orphansOf(trace, [REMOTE.spanId])).toEqual([]);
});

test.each([
  ["silent", () => {}],
  ...onlyThorough([
    ["away", undefined],
    ["refusing", (response: import("node:http").ServerResponse) => void response.writeHead(400).end()],
  ] as const),
] as const)("a collector that is %s is told of once at most, and holds nothing up", async (_how, answer) => {
  const own = owned(onTestFinished);
  const receiver = await startReceiver(answer);
  if (answer === undefined) await receiver.close();
  else onTestFinished(receiver.close);
  const dataDir = own.folder();
  const up = own.startCli(["up", "--port", "0"], {
    cwd: own.folder(),
    env: {
      RINGRIFT_DATA_DIR: dataDir,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_TIMEOUT: "300",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_BSP_EXPORT_TIMEOUT: "300",
      OTEL_BSP_MAX_QUEUE_SIZE: "64",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "16",
    },
  });
  const { match } = await up.waitForLine(/^ready .*port (\d+) /);
  const publish = (id: string) =>
    fetch(`http://127.0.0.1:${match[1]}/v1/events`, {
      method: "POST",
      headers: headersFor(dataDir),
      body: JSON.stringify({
        ...{ specversion: "1.0", id, type: "NEW_GAMES_AVAILABLE", source: "/test" },
        data: { config_key: "hex8_2p", new_games: 1, total_games: 1, id },
      }),
    });
  const told = () => readFileSync(logPathOf(dataDir), "utf8").split("spans do not reach the collector").length - 1;
  await vi.waitFor(async () => {
    expect((await publish(`e-${Math.random()}`)).status).toBe(200);
    expect(told()).toBe(1);
  }, PATIENT);
  for (let i = 0; i < 100; i += 1) expect((await publish(`m-${i}`)).status).toBe(200);
  await up.stop();
  expect(told()).toBe(1);
});

test("what sends spans is loaded where one of its variables is set, and nowhere else", async () => {
  const own = owned(onTestFinished);
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
  const starts = [
    {},
    { ...endpoint, OTEL_SDK_DISABLED: "true" },
    { ...endpoint, OTEL_TRACES_EXPORTER: "none" },
    endpoint,
  ];
  const started = own.startNode(LOADED, [JSON.stringify(starts)], { cwd: own.folder() });
  expect(await started.exited, started.stderr()).toMatchObject({ code: 0 });
  const loaded = started
    .stdout()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as string[]);
  expect(loaded.slice(0, -1)).toEqual([[], [], []]);
  const some = loaded.at(-1);
  expect(some).toEqual(expect.arrayContaining(["exporter-trace-otlp-proto", "sdk-trace-node"]));
  expect(some).not.toContain("exporter-trace-otlp-http");
});

/** Reading over HTTP never makes the main thread look through a table that grows: what must be counted is, elsewhere. */
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { silentLog, systemClock } from "../../src/kernel/index.ts";
import { allRoutes } from "../../src/surfaces/index.ts";
import { fillLargeState } from "../support/large-state.ts";
import { planned } from "../support/loop.ts";
import { owned } from "../support/process.ts";
import { urlsOf } from "../support/routes.ts";
import { countingReader } from "../support/rows-stepped.ts";
import { ask } from "../support/surface.ts";

/** A table that grows has more rows than this, and a page of an answer has fewer. */
const ROWS = 12_000;
const PAGE = 3_000;
/** It has trained for months, and goes on. */
const CONFIG = "hex7_2p";
/** What is asked at every look takes fewer rows than a page, however much there is. */
const FEW = 300;
const asking = new AsyncLocalStorage<string>();
const enter = (message: unknown) => asking.enterWith((message as { request: IncomingMessage }).request.url ?? "");
const own = owned();
let coordination: Awaited<ReturnType<typeof bootstrapCoordination>>;
const seen = new Map<string, { rows: number; worst: string }>();

beforeAll(async () => {
  subscribe("http.server.request.start", enter);
  const dataDir = own.folder();
  const path = fillLargeState(
    dataDir,
    { jobs: ROWS, events: 2 * ROWS, artifacts: ROWS, others: ROWS, configKey: CONFIG },
    systemClock().now(),
  );
  const counting = countingReader(path);
  counting.onRead(({ sql, rows }) => {
    const url = asking.getStore();
    if (url === undefined) return;
    const before = seen.get(url) ?? { rows: 0, worst: "" };
    seen.set(url, { rows: before.rows + rows, worst: rows > PAGE ? sql : before.worst });
  });
  coordination = await bootstrapCoordination({
    settings: readSettings({ RINGRIFT_RATE_FACTOR: "10000" }, dataDir, { dataDir, port: 0 }),
    log: silentLog(),
    plans: planned({}, [CONFIG]),
    wrapStore: (store) => ({
      commit: store.commit,
      read: counting.read,
      scan: store.scan,
      onFault: store.onFault,
      close: store.close,
      get fault() {
        return store.fault;
      },
    }),
  });
});

afterAll(async () => {
  unsubscribe("http.server.request.start", enter);
  await coordination.shutdown();
  await own.end();
});

const reads = allRoutes.filter(({ method, endless }) => method === "GET" && !endless);

test.each(reads.map((route) => [route.path, route] as const))(
  "GET %s reads no more rows on the main thread than fit into its answer",
  async (_, route) => {
    for (const url of urlsOf(route)) {
      const { status } = await ask({ socketPath: coordination.api.socketPath }, url);
      // A probe may well say that the process is not ready: it has just been filled.
      if (url !== "/readyz") expect([url, status]).toEqual([url, expect.toSatisfy((code: number) => code < 500)]);
      expect([url, seen.get(url) ?? { rows: 0, worst: "" }]).toEqual([
        url,
        { rows: expect.toSatisfy((n: number) => n <= PAGE), worst: "" },
      ]);
    }
  },
);

test.each(["/v1/overview", "/v1/why/maintenance", "/health"])("%s looks at a few rows", async (url) => {
  seen.delete(url);
  expect((await ask({ socketPath: coordination.api.socketPath }, url)).status).toBe(200);
  expect(seen.get(url)?.rows).toBeLessThanOrEqual(FEW);
});

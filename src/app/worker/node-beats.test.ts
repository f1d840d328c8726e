import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../../../test/support/patience.ts";
import { seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import { makeNodeKey, openLink } from "../../surfaces/index.ts";
import type { Worker } from "../../work/worker/index.ts";
import { readSettings } from "../settings.ts";
import { keepBeating } from "./node-beats.ts";

const NOTHING = { cpu: 0, gpu: 0, memory_gb: 0, gpu_memory_gb: 0, tags: [] };

test("tells what waits in the outbox, and is heard by a main process that knows neither of outboxes nor of settings", async () => {
  const heard: unknown[] = [];
  const reported: unknown[] = [];
  const clocks: number[] = [];
  const onAsked = vi.fn();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += String(part);
    if (request.url === "/v1/node-settings") {
      reported.push((JSON.parse(text) as { settings: unknown }).settings);
      response.writeHead(404, { "content-type": "application/problem+json" });
      response.end(JSON.stringify({ code: "NOT_FOUND", detail: "no such route", retryable: false }));
      return;
    }
    const { outbox, clock: own } = JSON.parse(text) as { outbox?: unknown; clock?: number };
    heard.push(outbox);
    if (own !== undefined) clocks.push(own);
    if (outbox !== undefined) {
      // At first it has no turn to read it in time, which says nothing of what it knows.
      response.writeHead(heard.length === 1 ? 408 : 422, { "content-type": "application/problem+json" });
      response.end(JSON.stringify({ code: "INVALID_REQUEST", detail: "outbox", retryable: false }));
      return;
    }
    const timing = { beat_seconds: 0.01, suspect_seconds: 1, dead_seconds: 2 };
    response.end(JSON.stringify({ state: "online", drain: false, ask: heard.length === 4, timing, server_time: 1 }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const clock = systemClock();
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const key = makeNodeKey();
  const link = openLink({ target: { url, trust: {} }, clock, identity: { key, incarnation: 1 } });
  const status = { running: [], free: NOTHING, spool: { waiting: 0 } };
  const beats = keepBeating({
    link,
    nodeId: key.nodeId,
    incarnation: 1,
    worker: { status: () => status } as unknown as Worker,
    outbox: () => ({ waiting: 2, refused: 1 }),
    about: { ...NOTHING, hostname: "h", platform: "p" },
    settings: readSettings({ RINGRIFT_WORKER_SLOTS: "3" }, "/", {}),
    onAsked,
    version: "1",
    clock,
    random: seededRandom(1),
    log: silentLog(),
  });
  onTestFinished(async () => {
    await beats.stop();
    link.close();
    server.closeAllConnections();
    server.close();
  });
  await vi.waitFor(() => expect(heard.length).toBeGreaterThan(4), PATIENT);
  const told = { waiting: 2, refused: 1 };
  expect(heard.slice(0, 5)).toEqual([told, told, undefined, undefined, undefined]);
  expect(Math.abs(clocks[0]! * 1_000 - clock.now()), "seconds, as all times on the wire").toBeLessThan(3_600_000);
  // It is asked for its transfers where there are some, and only then.
  expect(onAsked).toHaveBeenCalledTimes(1);
  // Only what is set, and once: who does not know the route will not know it with the next beat either.
  expect(reported).toEqual([[{ key: "worker.slots", value: 3 }]]);
});

test("a node with a dead man ends itself when nobody has answered for so long, and one without waits", async () => {
  const clock = systemClock();
  const key = makeNodeKey();
  // Nobody listens there.
  const link = openLink({
    target: { url: new URL("http://127.0.0.1:1"), trust: {} },
    clock,
    identity: { key, incarnation: 1 },
  });
  const beatsWith = (deadManMs: number) =>
    keepBeating({
      link,
      nodeId: key.nodeId,
      incarnation: 1,
      worker: {
        status: () => ({ running: [], free: NOTHING, spool: { waiting: 0 } }),
      } as unknown as Worker,
      outbox: () => ({ waiting: 0, refused: 0 }),
      about: { ...NOTHING, hostname: "h", platform: "p" },
      deadManMs,
      settings: readSettings({ RINGRIFT_WORKER_SLOTS: "3" }, "/", {}),
      version: "1",
      clock,
      random: seededRandom(1),
      log: silentLog(),
    });
  const [mortal, patient] = [beatsWith(300), beatsWith(0)];
  onTestFinished(async () => {
    await Promise.all([mortal.stop(), patient.stop()]);
    link.close();
  });
  let hasEnded = false;
  void patient.broken.then(() => {
    hasEnded = true;
  });
  expect(await mortal.broken).toMatchObject({ code: "COORDINATOR_GONE", exitCode: 5 });
  expect(hasEnded).toBe(false);
});

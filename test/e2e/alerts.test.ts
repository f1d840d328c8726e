/** Alerts of the whole program, against a real receiver on loopback. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { createAlerts } from "../../src/cluster/index.ts";
import { systemHealth } from "../../src/cluster/views.ts";
import { silentLog, systemClock } from "../../src/kernel/index.ts";
import { connect } from "../../src/surfaces/index.ts";
import { owned } from "../support/process.ts";

const SECRET = "signing-secret-of-the-test";
const TOKEN = "hook-token-that-nobody-may-see";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: { type: string; idempotency_key: string; transition: string; alert: Record<string, unknown> };
}

/** A receiver that answers as it is told, and lets the test wait for what it gets. */
async function receiver(answer: (response: ServerResponse, count: number) => void) {
  const got: Received[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    got.push({ headers: request.headers, text, body: JSON.parse(text) });
    mood.answer(response, got.length);
    for (const look of waiting) look();
  });
  const mood = { answer };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const until = (fits: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!fits()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return { got, mood, until, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=${TOKEN}` };
}

const place = (url: string) => {
  const own = owned(onTestFinished);
  const dataDir = own.folder();
  const [address, secret] = [join(dataDir, "hook-url"), join(dataDir, "hook-secret")];
  writeFileSync(address, `${url}\n`);
  writeFileSync(secret, `${SECRET}\n`);
  const env = { RINGRIFT_ALERT_WEBHOOK_URL_FILE: address, RINGRIFT_ALERT_WEBHOOK_SECRET_FILE: secret };
  const boot = async () => {
    const coordination = await bootstrapCoordination({
      settings: readSettings(env, dataDir, { dataDir, port: 0, nodeId: "n1" }),
      log: silentLog(),
    });
    onTestFinished(() => coordination.shutdown());
    const { store } = coordination.router;
    return { coordination, book: createAlerts({ store, clock: systemClock() }), store };
  };
  return { own, dataDir, env, boot };
};

const ofTraining = ({ body }: Received) => body.alert?.event_type === "TRAINING_FAILED";
const failed = { config_key: "hex8_2p", job_id: "j1", error: "no GPU", retryable: true };
const ok = (response: ServerResponse) => void response.end();

test("an alert that was raised and not delivered when the process was killed arrives after the restart, under the same key", async () => {
  // It takes the request and never answers.
  const hook = await receiver(() => {});
  const { own, dataDir, env, boot } = place(hook.url);
  const main = own.startCli(["up", "--data-dir", dataDir, "--port", "0"], { env });
  await main.waitForLine(/^ready /);
  const client = connect({ dataDir, source: "test" });
  await client.publish("TRAINING_FAILED", failed as never);
  client.close();
  await hook.until(() => hook.got.some(ofTraining));
  await main.killNow();
  const told = main.lines.join("\n");
  expect(told).toContain("Training of hex8_2p failed");

  hook.mood.answer = ok;
  const before = hook.got.length;
  const { book } = await boot();
  await hook.until(() => hook.got.slice(before).some(ofTraining));
  const all = hook.got.filter(ofTraining);
  const keys = new Set(all.map(({ headers }) => headers["idempotency-key"]));
  expect(keys.size).toBe(1);
  const [alert] = book.list().filter(({ event_type }) => event_type === "TRAINING_FAILED");
  expect([...keys]).toEqual([`${alert!.id}/opened-1`]);
  expect(alert).toMatchObject({ count: 1, status: "open", severity: "error", title: "Training of hex8_2p failed" });

  // Each try is signed for its own moment, and nothing that was printed holds a secret.
  for (const { headers, text } of all) {
    const [, at, sum] = /^t=(\d+),v1=(\w+)$/.exec(String(headers["x-ringrift-signature"]))!;
    expect(sum).toBe(createHmac("sha256", SECRET).update(`${at}.${text}`).digest("hex"));
  }
  for (const secret of [SECRET, TOKEN]) expect(told).not.toContain(secret);
});

test("a receiver that fails at first gets it later; status tells its trouble without its address", async () => {
  const hook = await receiver((response, count) => void response.writeHead(count === 1 ? 500 : 200).end(TOKEN));
  const { boot } = place(hook.url);
  const { coordination, book } = await boot();
  await coordination.router.publish("TRAINING_FAILED", failed as never, { source: "test" });
  await hook.until(() => hook.got.filter(ofTraining).length >= 2);
  expect(new Set(hook.got.filter(ofTraining).map(({ body }) => body.idempotency_key)).size).toBe(1);
  const [alert] = book.list().filter(({ event_type }) => event_type === "TRAINING_FAILED");
  const webhook = alert!.deliveries.filter(({ sink }) => sink === "webhook");
  expect(webhook).toHaveLength(1);
  const shown = JSON.stringify([coordination.status(), book.list()]);
  for (const secret of [SECRET, TOKEN, hook.url]) expect(shown).not.toContain(secret);
});

test("a thousand equal events on a real disk are one alert with its count, and few messages", async () => {
  const hook = await receiver(ok);
  const { boot } = place(hook.url);
  const { coordination, book, store } = await boot();
  const { router } = coordination;
  const published = await Promise.all(
    Array.from({ length: 1_000 }, (_, i) =>
      router.publish(
        "TASK_FAILED",
        { task_id: `t${i}`, node_id: "n1", work_type: "selfplay", error: "no", retryable: true } as never,
        { source: "test" },
      ),
    ),
  );
  for (const event of published) await router.settled(event);
  const [alert] = book.list().filter(({ event_type }) => event_type === "TASK_FAILED");
  expect(alert).toMatchObject({ count: 1_000, status: "open", severity: "critical" });
  const about = () => hook.got.filter(({ body }) => body.alert?.id === alert!.id).map(({ body }) => body.transition);
  await hook.until(() => about().length >= 3);
  expect(about()).toEqual(["opened", "escalated", "escalated"]);
  expect(router.deadLetters.counts().pending).toBe(0);
  // The same events are an error burst: the system is unhealthy, and it is said why.
  const judged = () => systemHealth(store, Date.now());
  await expect.poll(() => judged().status).toBe("unhealthy");
  expect(judged().reasons.join()).toContain("error_burst");
});

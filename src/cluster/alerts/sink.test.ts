/** Sinks against a real server on loopback. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { isOperatingError, type Log, systemClock } from "../../kernel/index.ts";
import { type AlertMessage, checkedUrl, logSink, slackSink, webhookSink } from "./sink.ts";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly path: string;
}

const server = async (answer: (response: ServerResponse, count: number) => void) => {
  const got: Received[] = [];
  const http = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    got.push({ headers: request.headers, body, path: request.url ?? "" });
    answer(response, got.length);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { got, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook?token=s3cr3t` };
};

const alert: AlertMessage = {
  kind: "alert",
  id: 1,
  idempotencyKey: "al_1/opened-1",
  transition: "opened-1",
  alert: {
    id: "al_1",
    key: "K/a",
    severity: "critical",
    status: "open",
    title: "Disk <full> & more",
    message: "of n1",
    event_type: "DISK_SPACE_LOW",
    event_id: "e1",
    subject: "n1",
    opened_at: 1,
    last_seen_at: 2,
    count: 3,
    closed_at: null,
    acknowledged_by: null,
  },
};
const clock = systemClock();
const never = new AbortController().signal;
const problem = async (work: Promise<void>) => {
  try {
    await work;
    return "delivered";
  } catch (thrown) {
    if (!isOperatingError(thrown, "ALERT_NOT_DELIVERED")) throw thrown;
    expect(JSON.stringify([thrown.message, thrown.hint, thrown.details, thrown.stack])).not.toContain("s3cr3t");
    return `${thrown.message} ${thrown.retryable ? "later" : "never"}`;
  }
};

describe("a webhook", () => {
  test("gets the alert as JSON, with its key and a signature that can be checked", async () => {
    const { got, url } = await server((response) => response.end("{}"));
    await webhookSink({ url, clock, secret: () => "a-secret-of-16-chars" }).deliver(alert, never);
    const [{ headers, body } = {} as Received] = got;
    expect(JSON.parse(body)).toMatchObject({
      type: "alert",
      transition: "opened",
      idempotency_key: "al_1/opened-1",
      alert: { id: "al_1", severity: "critical", count: 3 },
    });
    expect(headers["idempotency-key"]).toBe("al_1/opened-1");
    expect(headers["content-type"]).toBe("application/json");
    const [, at, sum] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["x-ringrift-signature"]))!;
    expect(sum).toBe(createHmac("sha256", "a-secret-of-16-chars").update(`${at}.${body}`).digest("hex"));
    expect(body).not.toContain("a-secret");
  });

  test("without a secret is sent no signature", async () => {
    const { got, url } = await server((response) => response.end());
    await webhookSink({ url, clock }).deliver(alert, never);
    expect(got[0]!.headers["x-ringrift-signature"]).toBeUndefined();
  });

  test.each([
    [500, "HTTP 500 later"],
    [503, "HTTP 503 later"],
    [429, "HTTP 429 later"],
    [401, "HTTP 401 later"],
    [404, "HTTP 404 later"],
    [400, "HTTP 400 never"],
    [413, "HTTP 413 never"],
  ])("that answers %i leads to '%s'", async (status, outcome) => {
    const { url } = await server((response) => response.writeHead(status).end("token=s3cr3t"));
    expect(await problem(webhookSink({ url, clock }).deliver(alert, never))).toBe(outcome);
  });

  test("that sends elsewhere is not followed", async () => {
    const elsewhere = await server((response) => response.end());
    const { url } = await server((response) => response.writeHead(307, { location: elsewhere.url }).end());
    expect(await problem(webhookSink({ url, clock }).deliver(alert, never))).toBe(
      "HTTP 307: redirects are not followed later",
    );
    expect(elsewhere.got).toEqual([]);
  });

  test("that hangs is given up after its time limit", async () => {
    const { url } = await server(() => {});
    expect(await problem(webhookSink({ url, clock, timeoutMs: 50 }).deliver(alert, never))).toBe(
      "no answer in 0.05 s later",
    );
  });

  test("that closes the connection, or is not there, is tried later", async () => {
    const { url } = await server((response) => response.destroy());
    expect(await problem(webhookSink({ url, clock }).deliver(alert, never))).toMatch(/^no connection.* later$/);
    const gone = webhookSink({ url: "http://127.0.0.1:1/?token=s3cr3t", clock, timeoutMs: 2_000 });
    expect(await problem(gone.deliver(alert, never))).toMatch(/^no connection.* later$/);
  });

  test("that answers without end is believed by its status, and not read", async () => {
    const { url } = await server((response) => {
      response.writeHead(200);
      const write = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
        if (!response.destroyed) response.once("drain", write);
      };
      write();
    });
    expect(await problem(webhookSink({ url, clock, timeoutMs: 5_000 }).deliver(alert, never))).toBe("delivered");
  });

  test.each(["ftp://x/y", "file:///etc/passwd", "javascript:1", "not a url", "http://user:s3cr3t@host/"])(
    "cannot be at %s, and the message does not repeat it",
    (url) => {
      expect(() => checkedUrl(url, "webhook")).toThrow("the address of the alert sink 'webhook' cannot be used");
    },
  );
});

describe("a Slack-compatible hook", () => {
  test("gets text and blocks, with what would be markup escaped", async () => {
    const { got, url } = await server((response) => response.end("ok"));
    await slackSink({ url, clock }).deliver(alert, never);
    const body = JSON.parse(got[0]!.body);
    expect(body.text).toBe("[critical] Disk &lt;full&gt; &amp; more (opened)");
    expect(body.blocks).toHaveLength(2);
    expect(body.blocks[1].text).toMatchObject({ type: "mrkdwn" });
    expect(body.blocks[1].text.text).toContain("seen 3 times");
  });

  test("gets a summary in one message", async () => {
    const { got, url } = await server((response) => response.end("ok"));
    const summary = {
      changes: 40,
      by_severity: { info: 0, warning: 30, error: 0, critical: 10 },
      alerts: [
        { id: "al_1", severity: "critical" as const, status: "open" as const, title: "T", transition: "opened-1" },
      ],
    };
    const message: AlertMessage = { kind: "summary", id: 2, idempotencyKey: "k", transition: "summary-9", summary };
    await slackSink({ url, clock }).deliver(message, never);
    expect(JSON.parse(got[0]!.body).text).toBe("40 alerts changed: 30 warning, 10 critical");
  });
});

test("the log gets one line for each message, loud while it is bad", async () => {
  const lines: string[] = [];
  const log: Log = {
    debug() {},
    error() {},
    info: (message) => void lines.push(`info ${message}`),
    warn: (message) => void lines.push(`warn ${message}`),
    child: () => log,
    level: "info",
  };
  const sink = logSink(log);
  await sink.deliver(alert, never);
  await sink.deliver({ ...alert, transition: "closed-2", alert: { ...alert.alert, status: "closed" } }, never);
  expect(lines).toEqual(["warn [critical] Disk <full> & more (opened)", "info [critical] Disk <full> & more (closed)"]);
});

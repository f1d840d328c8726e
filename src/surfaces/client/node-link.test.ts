import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nodeIdOf } from "../../cluster/index.ts";
import { defined, systemClock } from "../../kernel/index.ts";
import { artifactsOver } from "../artifacts/artifact-client.ts";
import { openLink } from "./node-link.ts";
import { makeNodeKey, readNodeKey } from "./node-link-signature.ts";

type Handler = (request: IncomingMessage, body: Buffer, response: ServerResponse) => void;

async function serve(handle: Handler): Promise<URL> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    handle(request, Buffer.concat(parts), response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}
const problem = (response: ServerResponse, status: number, body: object) => {
  response.writeHead(status, { "content-type": "application/problem+json" });
  response.end(JSON.stringify(body));
};
const linkTo = (url: URL, identity?: Parameters<typeof openLink>[0]["identity"]) => {
  const link = openLink({
    target: { url, trust: {} },
    clock: systemClock(),
    ...defined({ identity }),
  });
  onTestFinished(() => link.close());
  return link;
};

test("a key is the same node after it was written down and read again", () => {
  const key = makeNodeKey();
  const again = readNodeKey(key.toPem());
  expect([again.nodeId, again.publicKey]).toEqual([key.nodeId, key.publicKey]);
  expect(key.nodeId).toBe(nodeIdOf(Buffer.from(key.publicKey, "base64")));
  expect(key.nodeId).toMatch(/^n[0-9a-f]{16}$/);
  expect(() => readNodeKey("no key")).toThrow(expect.objectContaining({ code: "NODE_KEY_INVALID" }));
});

test("every request has a number of its own, and is signed anew for a main process that was started again", async () => {
  const seen: Record<string, string>[] = [];
  const url = await serve((request, _, response) => {
    const fields = Object.fromEntries(
      String(request.headers["x-ringrift-node"])
        .slice(3)
        .split(", ")
        .map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
    );
    seen.push(fields);
    if (fields.boot !== "b2")
      return problem(response, 401, { code: "NODE_SESSION_STALE", detail: "started since", boot: "b2" });
    response.end("{}");
  });
  const link = linkTo(url, { key: makeNodeKey(), incarnation: 3 });
  await link.send("POST", "/v1/nodes/beat", { a: 1 });
  await link.send("POST", "/v1/nodes/beat", { a: 1 });
  expect(seen.map(({ counter, boot, incarnation }) => [counter, boot, incarnation])).toEqual([
    ["1", "", "3"],
    ["2", "b2", "3"],
    ["3", "b2", "3"],
  ]);
  expect(new Set(seen.map(({ sig }) => sig)).size).toBe(3);
});

test("a request that is refused for a clock that is off is signed again by the clock of the main process", async () => {
  const serverTime = Math.floor(Date.now() / 1_000) + 3_600;
  const issued: number[] = [];
  const url = await serve((request, _, response) => {
    const at = Number(/issued_at=(\d+)/.exec(String(request.headers["x-ringrift-node"]))?.[1]);
    issued.push(at);
    if (Math.abs(at - serverTime) > 300)
      return problem(response, 401, { code: "CLOCK_SKEW", detail: "off", server_time: serverTime });
    response.end("{}");
  });
  const link = linkTo(url, { key: makeNodeKey(), incarnation: 1 });
  await link.send("POST", "/v1/nodes/beat", {});
  await link.send("POST", "/v1/nodes/beat", {});
  expect(issued.map((at) => Math.abs(at - serverTime) > 300)).toEqual([true, false, false]);
});

test("what something in between answers may be tried again; what the main process refuses may not", async () => {
  const url = await serve((request, _, response) => {
    if (request.url === "/proxy") {
      response.writeHead(404);
      response.end("<html>no</html>");
    } else problem(response, 404, { code: "JOB_NOT_FOUND", detail: "no", retryable: false });
  });
  const link = linkTo(url);
  await expect(link.send("POST", "/proxy", {})).rejects.toMatchObject({ code: "UNEXPECTED_ANSWER", retryable: true });
  await expect(link.send("POST", "/v1/x", {})).rejects.toMatchObject({ code: "JOB_NOT_FOUND", retryable: false });
});

test("a line that is half open is given up", async () => {
  const url = await serve(() => {});
  await expect(linkTo(url).send("POST", "/v1/x", {}, { timeoutMs: 50 })).rejects.toMatchObject({
    code: "UNREACHABLE",
    retryable: true,
  });
});

test("a file goes in parts, from where it stopped, and not at all if it is there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "upload-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bytes = Buffer.from("0123456789");
  const file = join(folder, "f");
  writeFileSync(file, bytes);
  const made = { file, name: "f", kind: "games", sha256: createHash("sha256").update(bytes).digest("hex"), bytes: 10 };
  let there = Buffer.from("012");
  const puts: string[] = [];
  const url = await serve((request, body, response) => {
    if (request.method === "HEAD") {
      const whole = there.length === 10 ? "yes" : "no";
      response.writeHead(200, { "x-artifact-received": there.length, "x-artifact-complete": whole });
      return void response.end();
    }
    puts.push(`${request.headers["content-range"]} ${body}`);
    there = Buffer.concat([there, body]);
    response.writeHead(there.length === 10 ? 201 : 202);
    response.end("{}");
  });
  const artifacts = artifactsOver(linkTo(url), 4);
  const { signal } = new AbortController();
  await artifacts.upload(made, signal);
  expect(puts).toEqual(["bytes 3-6/10 3456", "bytes 7-9/10 789"]);
  await artifacts.upload(made, signal);
  expect(puts).toHaveLength(2);
  there = Buffer.alloc(0);
  rmSync(file);
  await expect(artifacts.upload(made, signal)).rejects.toMatchObject({ code: "ARTIFACT_FILE_LOST", retryable: false });
});

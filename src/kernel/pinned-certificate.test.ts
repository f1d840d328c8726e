import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../../test/support/certificate.ts";
import { whenPinned } from "./pinned-certificate.ts";

const folder = mkdtempSync(join(tmpdir(), "ringrift-pinned-"));
const files = selfSigned(folder);
const [cert, key] =
  files === undefined ? ["", ""] : [readFileSync(files.cert, "utf8"), readFileSync(files.key, "utf8")];
rmSync(folder, { recursive: true });

/** A server, and how it is asked over one connection that is kept. */
async function world() {
  const server = createServer({ cert, key }, (_, answer) => answer.end("yes")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const agent = new Agent({ keepAlive: true, maxSockets: 1, maxCachedSessions: 0, rejectUnauthorized: false });
  onTestFinished(() => {
    agent.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ask = (fingerprint: string) => {
    const outgoing = request({ agent, host: "127.0.0.1", port });
    whenPinned(
      outgoing,
      fingerprint,
      (found) => new Error(`another: ${found}`),
      () => outgoing.end(),
    );
    const answered = new Promise<string>((resolve, reject) => {
      outgoing.once("error", reject);
      outgoing.once("response", (answer) => {
        answer.resume();
        answer.once("end", () => resolve("answered"));
      });
    });
    return { outgoing, answered };
  };
  return { agent, ask };
}

test.skipIf(files === undefined)("who shows another certificate is told nothing", async () => {
  const { ask } = await world();
  const right = new X509Certificate(cert).fingerprint256;
  expect(await ask(right).answered).toBe("answered");
  const found = right.replaceAll(":", "").toLowerCase();
  await expect(ask("00".repeat(32)).answered).rejects.toThrow(`another: ${found}`);
});

test.skipIf(files === undefined)(
  "a kept connection that ends as it is used is a cut line, and ends nobody",
  async () => {
    const { agent, ask } = await world();
    const right = new X509Certificate(cert).fingerprint256;
    await ask(right).answered;
    const { answered } = ask(right);
    // It was given the kept connection, which is lost before it is told so.
    const kept = Object.values(agent.sockets).flat()[0] as TLSSocket;
    kept.destroy();
    await expect(answered).rejects.toThrow(/socket hang up|before its certificate was seen/);
    expect(await ask(right).answered).toBe("answered");
  },
);

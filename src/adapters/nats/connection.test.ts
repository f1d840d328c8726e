import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { connectServers } from "./connection.ts";
import { MAX_MESSAGE_BYTES } from "./stream-settings.ts";

/** Whoever asks this monitor gets these facts. */
async function monitorOf(varz: object): Promise<string> {
  const server = createServer((_, answer) => answer.end(JSON.stringify(varz)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const varz = { server_name: "n1", version: "2.15.1", max_payload: MAX_MESSAGE_BYTES };
const connecting = async (facts: object) =>
  connectServers({ servers: [], monitors: [await monitorOf(facts)], stream: "games", replicas: 3, answerMs: 1_000 });

test("a server that keeps no streams at the moment is waited for; one that answers before it flushes is not", async () => {
  // As long as it starts, and after its disk was full.
  await expect(connecting({ ...varz, jetstream: {} })).rejects.toMatchObject({
    code: "LOG_UNAVAILABLE",
    retryable: true,
  });
  await expect(connecting({ ...varz, jetstream: { config: {} } })).rejects.toMatchObject({ code: "LOG_UNSAFE" });
});

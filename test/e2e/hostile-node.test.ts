/** A joined node that lies about what it sends: refused, counted, alerted, and named. */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { encodeZip } from "../../src/workloads/arena/files/zip.ts";
import { joinNode, type TestNode } from "../support/node-client.ts";
import { PATIENT } from "../support/patience.ts";
import { gamesFile } from "../support/played-games.ts";
import { type RunningSurface, runSurface } from "../support/surface.ts";

let surface: RunningSurface;
let node: TestNode;
beforeAll(async () => {
  surface = await runSurface({ RINGRIFT_RATE_FACTOR: "50" });
  const made = await surface.ask("socket", "/v1/tokens", { method: "POST", body: { label: "w", scope: "worker" } });
  node = await joinNode(
    { host: "127.0.0.1", port: surface.coordination.api.port } as never,
    String(made.json.token),
    "liar",
  );
});
afterAll(() => surface.end());

const shaOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const send = (bytes: Buffer, name = shaOf(bytes), changes = {}) =>
  node.send("PUT", `/v1/artifacts/${name}`, undefined, { raw: bytes, ...changes });
const told = () =>
  surface.coordination.router
    .history({ eventType: "SYNC_CHECKSUM_FAILED", fromJournal: true, limit: 100 })
    .map(({ payload }) => payload as Record<string, unknown>);

function bomb(): Buffer {
  const archive = Buffer.from(encodeZip([{ name: "meta.npy", data: Buffer.alloc(32_000_000) }], true));
  archive.writeUInt32LE(100, archive.lastIndexOf(Buffer.from("504b0102", "hex")) + 24);
  return archive;
}

test("a file that lies about its size, a bomb, and bytes under another name are refused, and their sender is named", async () => {
  const games = Buffer.from(gamesFile(3).bytes);
  expect((await send(games)).status).toBe(201);
  const size = Buffer.from(gamesFile(3, 2).bytes);
  size.writeUInt32LE(0xffff_ffff, 8);
  const lies = [size, bomb(), games.subarray(0, -30)];
  for (const bytes of lies)
    expect((await send(bytes)).json).toMatchObject({
      status: 422,
      type: expect.stringContaining("artifact_structure"),
    });
  const other = "f".repeat(64);
  expect((await send(games, other)).status).toBe(422);
  await vi.waitFor(() => expect(told()).toHaveLength(4), PATIENT);
  for (const one of told()) expect(one).toMatchObject({ source_node_id: node.nodeId, transport: "coordinator" });
  expect(told().map(({ artifact_hash }) => artifact_hash)).toEqual([...lies.map(shaOf), other]);
  const aside = readdirSync(join(surface.dataDir, "artifacts", "quarantine"));
  for (const bytes of lies) expect(aside.some((name) => name.startsWith(shaOf(bytes)))).toBe(true);
  await vi.waitFor(async () => {
    const { alerts } = (await surface.ask("socket", "/v1/alerts")).json as { alerts: { message: string }[] };
    expect(alerts.some(({ message }) => message.includes("ARENA_FILE_") || message.includes(other))).toBe(true);
  }, PATIENT);
});

test("a path outside the store is no artifact, and a clock that is an hour off is refused", async () => {
  const away = await node.send("PUT", "/v1/artifacts/..%2F..%2Fetc%2Fpasswd", undefined, { raw: Buffer.from("x") });
  expect(away.status).toBe(422);
  const bytes = Buffer.from(gamesFile(2, 9).bytes);
  const late = await send(bytes, shaOf(bytes), { issuedAt: Math.round(Date.now() / 1_000) - 3_600 });
  expect(late.status).toBe(401);
  expect((await send(bytes)).status).toBe(201);
});

/** The transport for S3-compatible stores against a real one, with the same suite as its double. */
import { hash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DISK_MARKER } from "../../src/adapters/transports/disk-marker.ts";
import { type S3Request, s3Client } from "../../src/adapters/transports/s3/s3-client.ts";
import { markBucket, type S3TransportOptions, s3Transport } from "../../src/adapters/transports/s3/s3-transport.ts";
import { newFolder, transportContract, wantedOf } from "../../src/sync/transport.contract.ts";
import type { Wanted } from "../../src/sync/transport.port.ts";
import { type SwiftServer, swiftServer } from "../support/swift/swift-server.ts";
import { isThorough } from "../support/thorough.ts";

const folder = mkdtempSync(join(tmpdir(), "ringrift-swift-"));
const { signal } = new AbortController();
let swift: SwiftServer | undefined;
beforeAll(async () => {
  swift = await swiftServer(folder);
  if (swift !== undefined) await s3Client({ ...swift, bucket: "games" }).ask({ method: "PUT", signal });
});
afterAll(async () => {
  await swift?.stop();
  rmSync(folder, { recursive: true, force: true });
});

let worlds = 0;
async function open() {
  if (swift === undefined) return undefined;
  worlds += 1;
  const { endpoint, accessKeyId, secretAccessKey } = swift;
  const options = {
    endpoint,
    accessKeyId,
    secretAccessKey,
    bucket: "games",
    prefix: `cluster ${worlds}/`,
    disk: "backup-1",
    partBytes: 100_000,
  };
  await markBucket(options, signal);
  const { ask } = s3Client(options);
  const keyOf = ({ sha256 }: Wanted) => `${sha256.slice(0, 2)}/${sha256}`;
  const send = async (request: Omit<S3Request, "signal">) => {
    const answer = await ask({ ...request, signal });
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  };
  const put = (key: string, content: Uint8Array) =>
    send({
      method: "PUT",
      key,
      body: { bytes: content.length, sha256: hash("sha256", content, "hex"), open: () => content },
    });
  return {
    options,
    transport: s3Transport(options),
    async give(content: Uint8Array) {
      const wanted = wantedOf(content);
      await put(keyOf(wanted), content);
      return wanted;
    },
    async spoil(wanted: Wanted, content: Uint8Array | undefined) {
      if (content === undefined) await send({ method: "DELETE", key: keyOf(wanted) });
      else await put(keyOf(wanted), content);
    },
    async vanish() {
      await send({ method: "DELETE", key: DISK_MARKER });
    },
    async comeBack() {
      await markBucket(options, signal);
    },
    held: (wanted: Wanted) => send({ method: "GET", key: keyOf(wanted) }).catch(() => undefined),
  };
}

transportContract("Swift", { open, briefly: !isThorough });

test("a wrong secret, an unknown key, a clock an hour off, a lying hash and no such bucket have the codes that the double gives", async () => {
  const world = await open();
  if (world === undefined) return;
  const { options } = world;
  const content = randomBytes(1_000);
  const path = join(newFolder(), "made");
  writeFileSync(path, content);
  const made = { ...wantedOf(content), path };
  const put = (more: Partial<S3TransportOptions>, one = made) =>
    s3Transport({ ...options, ...more }).write!(one, { signal, spend: async () => {} });
  await expect(put({ secretAccessKey: "wrong" })).rejects.toMatchObject({ code: "PLACE_REFUSED" });
  await expect(put({ accessKeyId: "nobody" })).rejects.toMatchObject({ code: "PLACE_REFUSED" });
  await expect(put({ bucket: "another" })).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
  await expect(put({ clock: { now: () => Date.now() - 3_600_000 } })).rejects.toMatchObject({ code: "CLOCK_SKEW" });
  await expect(put({}, { ...made, sha256: "0".repeat(64) })).rejects.toMatchObject({ code: "ARTIFACT_DAMAGED" });
  expect(await world.held(made)).toBeUndefined();
  await put({});
  expect(await world.held(made)).toEqual(content);
});

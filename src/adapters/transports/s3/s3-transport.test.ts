import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { s3Double } from "../../../../test/support/s3-double.ts";
import { newFolder, receiver, transportContract, wantedOf } from "../../../sync/transport.contract.ts";
import type { Wanted } from "../../../sync/transport.port.ts";
import { markBucket, type S3TransportOptions, s3Transport } from "./s3-transport.ts";

async function open(more: Partial<S3TransportOptions> = {}) {
  const double = await s3Double(["games"]);
  onTestFinished(() => double.stop());
  const { endpoint, accessKeyId, secretAccessKey, objects } = double;
  const options = {
    endpoint,
    accessKeyId,
    secretAccessKey,
    bucket: "games",
    prefix: "cluster 1/",
    disk: "backup-1",
    partBytes: 100_000,
  };
  await markBucket(options, new AbortController().signal);
  const nameOf = ({ sha256 }: Wanted) => `games/cluster 1/${sha256.slice(0, 2)}/${sha256}`;
  let away: [string, Uint8Array][] = [];
  return {
    double,
    options,
    transport: s3Transport({ ...options, ...more }),
    async give(content: Uint8Array) {
      const wanted = wantedOf(content);
      objects.set(nameOf(wanted), Buffer.from(content));
      return wanted;
    },
    async spoil(wanted: Wanted, content: Uint8Array | undefined) {
      if (content === undefined) objects.delete(nameOf(wanted));
      else objects.set(nameOf(wanted), content);
    },
    /** A bucket that somebody emptied: it answers, and is not ours any more. */
    async vanish() {
      away = [...objects];
      objects.clear();
    },
    async comeBack() {
      for (const [name, content] of away) objects.set(name, content);
    },
    held: async (wanted: Wanted) => {
      const found = objects.get(nameOf(wanted));
      return found === undefined ? undefined : Buffer.from(found);
    },
  };
}

transportContract("an S3-compatible store", { open });

const signal = new AbortController().signal;
const made = (content: Uint8Array) => {
  const path = join(newFolder(), "made");
  writeFileSync(path, content);
  return { ...wantedOf(content), path };
};

test("a wrong secret, an unknown key, a clock an hour off and a bucket that is not there have codes of their own; nothing is written", async () => {
  const { double, options } = await open();
  const one = made(randomBytes(1_000));
  const put = (more: Partial<S3TransportOptions>) =>
    s3Transport({ ...options, ...more }).write!(one, { signal, spend: async () => {} });
  const before = [...double.objects.keys()];
  await expect(put({ secretAccessKey: "wrong" })).rejects.toMatchObject({ code: "PLACE_REFUSED", retryable: false });
  await expect(put({ accessKeyId: "nobody" })).rejects.toMatchObject({ code: "PLACE_REFUSED" });
  await expect(put({ bucket: "another" })).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
  await expect(put({ disk: "backup-2" })).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
  double.aheadMs = 3_600_000;
  await expect(put({})).rejects.toMatchObject({ code: "CLOCK_SKEW" });
  double.aheadMs = 0;
  await double.stop();
  await expect(put({})).rejects.toMatchObject({ code: "PLACE_UNREACHABLE", retryable: true });
  await double.start();
  expect([...double.objects.keys()]).toEqual(before);
  await put({});
});

test("a file that was changed since it was named is refused by the store itself, in one go and in parts", async () => {
  const { double, transport } = await open();
  const before = double.objects.size;
  for (const bytes of [1_000, 250_000]) {
    const one = { ...made(randomBytes(bytes)), sha256: wantedOf(randomBytes(bytes)).sha256 };
    await expect(transport.write!(one, { signal, spend: async () => {} })).rejects.toMatchObject({
      code: "ARTIFACT_DAMAGED",
    });
  }
  expect(double.objects.size).toBe(before);
});

test("a bucket keeps the name that it was given", async () => {
  const { options } = await open();
  await markBucket(options, signal);
  await expect(markBucket({ ...options, disk: "backup-2" }, signal)).rejects.toMatchObject({ code: "PLACE_TAKEN" });
});

test("a store that is down in the middle is gone on with when it is back", async () => {
  const { double, transport, give } = await open();
  const wanted = await give(randomBytes(400_000));
  const here = receiver();
  await double.stop();
  expect((await here.fetch([wanted], [transport])).failed).toMatchObject([{ code: "PLACE_UNREACHABLE" }]);
  await double.start();
  expect((await here.fetch([wanted], [transport])).arrived).toEqual([wanted.sha256]);
});

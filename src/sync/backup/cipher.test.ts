import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { deriveKey, isSealed, seal, sealedBytes, unseal } from "./cipher.ts";

const key = deriveKey("a secret of sixteen or more", Buffer.alloc(32, 1));

async function* pieces(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const all = async (bytes: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const found: Uint8Array[] = [];
  for await (const piece of bytes) found.push(Buffer.from(piece));
  return Buffer.concat(found);
};
const sealed = (content: Uint8Array, by = key, context = "c") => all(seal(pieces(content, 10_000), by, context));
const opened = (content: Uint8Array, by = key, context = "c", size = 7_777) =>
  all(unseal(pieces(content, size), by, context, "it"));

const SIZES = [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000];

test("what is sealed comes out as it was, whatever its size and however it is cut, and is as long as foretold", async () => {
  for (const size of SIZES) {
    const content = randomBytes(size);
    const hidden = await sealed(content);
    expect(hidden.length).toBe(sealedBytes(size));
    expect(isSealed(hidden)).toBe(true);
    for (const cut of [1_000, 65_552, 1_000_000]) expect(await opened(hidden, key, "c", cut)).toEqual(content);
  }
});

test("the same content gives the same bytes under one key, and others under another key or name", async () => {
  const content = randomBytes(1_000);
  const hidden = await sealed(content);
  expect(await sealed(content)).toEqual(hidden);
  expect(await sealed(content, key, "d")).not.toEqual(hidden);
  expect(await sealed(content, deriveKey("a secret of sixteen or more", Buffer.alloc(32, 2)))).not.toEqual(hidden);
  expect(hidden.includes(content.subarray(0, 16))).toBe(false);
});

test("a wrong key, a turned byte anywhere, a cut, a chunk left out or swapped, and what is none at all have their codes", async () => {
  const hidden = await sealed(randomBytes(200_000));
  const other = deriveKey("another secret, as long", key.salt);
  await expect(opened(hidden, other)).rejects.toMatchObject({ code: "BACKUP_KEY_WRONG" });
  for (const at of [21, 30_000, 65_580, 199_000, hidden.length - 1]) {
    const turned = Buffer.from(hidden);
    turned[at]! ^= 1;
    await expect(opened(turned)).rejects.toMatchObject({ code: "BACKUP_DAMAGED" });
  }
  const [head, chunk] = [21, 65_552];
  const first = hidden.subarray(head, head + chunk);
  const second = hidden.subarray(head + chunk, head + 2 * chunk);
  const rest = hidden.subarray(head + 2 * chunk);
  const broken = [
    hidden.subarray(0, hidden.length - 1),
    hidden.subarray(0, head + chunk),
    hidden.subarray(0, head),
    hidden.subarray(0, 10),
    Buffer.concat([hidden.subarray(0, head), second, first, rest]),
    Buffer.concat([hidden.subarray(0, head), first, rest]),
    Buffer.concat([hidden, first]),
    Buffer.concat([Buffer.from("PK"), hidden.subarray(2)]),
  ];
  for (const bytes of broken) await expect(opened(bytes)).rejects.toMatchObject({ code: "BACKUP_DAMAGED" });
  await expect(opened(hidden, key, "d")).rejects.toMatchObject({ code: "BACKUP_DAMAGED" });
  const newer = Buffer.from(hidden);
  newer[4] = 9;
  await expect(opened(newer)).rejects.toMatchObject({ code: "BACKUP_NEWER" });
});

import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Wanted } from "../transport.port.ts";
import { packEnd, packHead, packOf, unpack } from "./pack.ts";

const wantedOf = (content: Uint8Array): Wanted => ({
  sha256: createHash("sha256").update(content).digest("hex"),
  bytes: content.length,
});

async function* inPieces(bytes: Uint8Array, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const packed = async (contents: readonly Uint8Array[]): Promise<Buffer> => {
  const all = new Map(contents.map((content) => [wantedOf(content).sha256, content]));
  const pieces: Uint8Array[] = [];
  const readInto = ({ sha256 }: Wanted, content: Buffer) => {
    content.set(all.get(sha256)!);
    return true;
  };
  // What is lent is copied.
  for await (const piece of packOf([...all.values()].map(wantedOf), readInto)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
};

const unpacked = async (bytes: Uint8Array, asked: readonly Wanted[], size = 7) => {
  const found: Buffer[] = [];
  for await (const files of unpack(inPieces(bytes, size), asked))
    found.push(...files.map(({ content }) => Buffer.from(content)));
  return found;
};

const contents = fc.uniqueArray(fc.uint8Array({ maxLength: 60 }), {
  maxLength: 12,
  selector: (one) => Buffer.from(one).toString("hex"),
});

test("what was packed comes out, however the bytes come", async () => {
  await fc.assert(
    fc.asyncProperty(contents, fc.integer({ min: 1, max: 100 }), async (given, size) => {
      expect(await unpacked(await packed(given), given.map(wantedOf), size)).toEqual(
        given.map((one) => Buffer.from(one)),
      );
    }),
  );
});

test("one that ends anywhere before its end is cut, never whole", async () => {
  const given = [Buffer.from("a"), Buffer.from("bb"), Buffer.alloc(0)];
  const whole = await packed(given);
  for (let length = 0; length < whole.length; length += 1)
    await expect(unpacked(whole.subarray(0, length), given.map(wantedOf))).rejects.toMatchObject({
      code: "TRANSFER_CUT",
    });
});

test("files that nobody asked for, that come twice, of another size, or behind the end are refused", async () => {
  const [one, other] = [Buffer.from("one"), Buffer.from("other")];
  const head = packHead(wantedOf(one));
  const bad: [string, Uint8Array[]][] = [
    ["nobody asked", [packHead(wantedOf(other)), other, packEnd(1)]],
    ["came before", [head, one, head, one, packEnd(2)]],
    ["bytes, not", [packHead({ ...wantedOf(one), bytes: 2 ** 50 }), one, packEnd(1)]],
    ["were sent", [head, one, packEnd(2)]],
    ["follows its end", [head, one, packEnd(1), one]],
  ];
  for (const [why, pieces] of bad)
    await expect(unpacked(Buffer.concat(pieces), [wantedOf(one)])).rejects.toMatchObject({
      code: "PACK_MALFORMED",
      message: expect.stringContaining(why),
    });
});

/**
 * Many small files as one stream. Each is its hash (32 bytes), its size (8) and its bytes; at the end stands a hash of zeros with
 * the number of files, so that one which breaks off is not taken for a whole one. Nothing in it is compressed: what comes is never
 * more than what was asked for, and the first byte beyond it ends the transfer.
 */
import { OperatingError } from "../../kernel/index.ts";
import type { Wanted } from "../transport.port.ts";

export const PACK_HEAD_BYTES = 40;
/** Each piece that is sent costs calls to the system: thousands of small ones would cost more than their bytes. */
const PIECE_BYTES = 256 * 1_024;
const END = Buffer.alloc(32);
const END_NAME = END.toString("hex");

const headOf = (hash: Uint8Array, count: number): Buffer => {
  const head = Buffer.allocUnsafe(PACK_HEAD_BYTES);
  head.set(hash);
  head.writeBigUInt64BE(BigInt(count), 32);
  return head;
};

export const packHead = ({ sha256, bytes }: Wanted): Buffer => headOf(Buffer.from(sha256, "hex"), bytes);

/** The reverse; a size that no file has becomes one that none may have. */
export const readPackHead = (head: Uint8Array): Wanted => {
  const bytes = Buffer.from(head.buffer, head.byteOffset, PACK_HEAD_BYTES);
  return { sha256: bytes.toString("hex", 0, 32), bytes: Number(bytes.readBigUInt64BE(32)) };
};
export const packEnd = (files: number): Buffer => headOf(END, files);

const malformed = (why: string) =>
  OperatingError.invalid("PACK_MALFORMED", `the pack is not what was requested: ${why}`, {
    hint: "The other side is broken, or not the right one. Nothing was kept.",
  });

/** Takes so many bytes at a time from a stream. */
function reader(bytes: AsyncIterable<Uint8Array>) {
  const from = bytes[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  return {
    /** Undefined where the stream ends before the first of them. */
    async take(count: number): Promise<Uint8Array | undefined> {
      if (rest.length < count) {
        const pieces = [rest];
        for (let have = rest.length; have < count; ) {
          const { done, value } = await from.next();
          if (done) {
            if (have === 0) return undefined;
            throw OperatingError.unavailable("TRANSFER_CUT", "a pack broke off");
          }
          pieces.push(value);
          have += value.length;
        }
        rest = Buffer.concat(pieces);
      }
      const taken = rest.subarray(0, count);
      rest = rest.subarray(count);
      return taken;
    },
    isEmpty: async () => rest.length === 0 && (await from.next()).done === true,
    end: () => from.return?.(),
  };
}

/** The files of a pack as they come. Whoever sends one that was not asked for, or twice, or of another size, is refused. */
export async function* unpack(
  bytes: AsyncIterable<Uint8Array>,
  asked: readonly Wanted[],
): AsyncIterable<Wanted & { readonly content: Uint8Array }> {
  const open = new Map(asked.map(({ sha256, bytes: size }) => [sha256, size]));
  const from = reader(bytes);
  let files = 0;
  try {
    for (;;) {
      const head = await from.take(PACK_HEAD_BYTES);
      if (head === undefined) throw OperatingError.unavailable("TRANSFER_CUT", "a pack broke off");
      const { sha256, bytes: count } = readPackHead(head);
      if (sha256 === END_NAME) {
        if (count !== files) throw malformed(`${files} files came, ${count} were sent`);
        if (!(await from.isEmpty())) throw malformed("something follows its end");
        return;
      }
      const size = open.get(sha256);
      if (size === undefined) throw malformed(`nobody asked for ${sha256}, or it came before`);
      if (size !== count) throw malformed(`${sha256} has ${size} bytes, not ${count}`);
      open.delete(sha256);
      files += 1;
      yield { sha256, bytes: size, content: size === 0 ? new Uint8Array() : ((await from.take(size)) ?? cut()) };
    }
  } finally {
    await from.end();
  }
}

const cut = (): never => {
  throw OperatingError.unavailable("TRANSFER_CUT", "a pack broke off");
};

/** Files of one place as a pack, in large pieces; those that it lacks, or has in another size, are left out. */
export async function* packOf(
  wanted: readonly Wanted[],
  read: (wanted: Wanted) => Uint8Array | undefined,
): AsyncIterable<Uint8Array> {
  let files = 0;
  let pieces: Uint8Array[] = [];
  let gathered = 0;
  for (const one of wanted) {
    const content = read(one);
    if (content?.length !== one.bytes) continue;
    files += 1;
    pieces.push(packHead(one), content);
    gathered += PACK_HEAD_BYTES + content.length;
    if (gathered < PIECE_BYTES) continue;
    yield Buffer.concat(pieces);
    pieces = [];
    gathered = 0;
  }
  yield Buffer.concat([...pieces, packEnd(files)]);
}

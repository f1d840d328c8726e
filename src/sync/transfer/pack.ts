/**
 * Many small files as one stream. Each is its hash (32 bytes), its size (8) and its bytes; at the end stands a hash of zeros with
 * the number of files, so that one which breaks off is not taken for a whole one. Nothing in it is compressed: what comes is never
 * more than what was asked for, and the first byte beyond it ends the transfer.
 */
import { OperatingError } from "../../kernel/index.ts";
import type { Wanted } from "../transport.port.ts";

export const PACK_HEAD_BYTES = 40;
/** Each piece that is sent costs calls to the system: thousands of small ones would cost more than their bytes. */
const PIECE_BYTES = 512 * 1_024 + PACK_HEAD_BYTES;
export const PACK_END_NAME = "0".repeat(64);

const HIGH = 2 ** 32;

function writeHead(into: Buffer, at: number, sha256: string, count: number): void {
  into.write(sha256, at, 32, "hex");
  into.writeUInt32BE(Math.floor(count / HIGH), at + 32);
  into.writeUInt32BE(count % HIGH, at + 36);
}

/** Heads of all of these, one behind the other. */
export function packHeads(wanted: readonly Wanted[]): Buffer {
  const heads = Buffer.alloc(wanted.length * PACK_HEAD_BYTES);
  for (const [i, { sha256, bytes }] of wanted.entries()) writeHead(heads, i * PACK_HEAD_BYTES, sha256, bytes);
  return heads;
}

export const packHead = (wanted: Wanted): Buffer => packHeads([wanted]);

/** The reverse; a size that no file has becomes one that none may have. */
export const readPackHead = (heads: Buffer, at = 0): Wanted => ({
  sha256: heads.toString("hex", at, at + 32),
  bytes: heads.readUInt32BE(at + 32) * HIGH + heads.readUInt32BE(at + 36),
});
export const packEnd = (files: number): Buffer => packHead({ sha256: PACK_END_NAME, bytes: files });

const malformed = (why: string) =>
  OperatingError.invalid("PACK_MALFORMED", `the pack is not what was requested: ${why}`, {
    hint: "The other side is broken, or not the right one. Nothing was kept.",
  });

/** A file of a pack. Its bytes are lent: whoever wants them later than the next files copies them. */
export interface Unpacked extends Wanted {
  readonly content: Uint8Array;
  /** The same with its head before it; what comes next stands right behind. */
  readonly framed: Uint8Array;
}

/** Gathers what comes in one buffer that is used again and again: new ones for all of it would cost more than the bytes in them. */
function createGathering() {
  let buffer = Buffer.allocUnsafe(PIECE_BYTES);
  let [from, to] = [0, 0];
  return {
    get bytes() {
      return to - from;
    },
    add(piece: Uint8Array): void {
      if (to + piece.length > buffer.length) {
        const room =
          to - from + piece.length > buffer.length ? Buffer.allocUnsafe(2 * (to - from + piece.length)) : buffer;
        buffer.copy(room, 0, from, to);
        buffer = room;
        [from, to] = [0, to - from];
      }
      buffer.set(piece, to);
      to += piece.length;
    },
    /** The next ones, without taking them. */
    next: (count: number): Buffer => buffer.subarray(from, from + count),
    drop(count: number): void {
      from += count;
    },
  };
}

/**
 * The files of a pack as they come, as many at a time as are whole: to wait for each would cost more than to write it. Whoever sends one
 * that was not asked for, or twice, or of another size, is refused; what came before it is given first.
 */
export async function* unpack(
  bytes: AsyncIterable<Uint8Array>,
  asked: readonly Wanted[],
): AsyncIterable<readonly Unpacked[]> {
  const open = new Map(asked.map(({ sha256, bytes: size }) => [sha256, size]));
  const gathered = createGathering();
  let files = 0;
  let isOver = false;
  /** The file whose head has come. */
  let coming: Wanted | undefined;
  const begin = (): void => {
    const { sha256, bytes: count } = readPackHead(gathered.next(PACK_HEAD_BYTES));
    if (sha256 === PACK_END_NAME) {
      if (count !== files) throw malformed(`${files} files came, ${count} were sent`);
      gathered.drop(PACK_HEAD_BYTES);
      isOver = true;
      return;
    }
    const size = open.get(sha256);
    if (size === undefined) throw malformed(`nobody asked for ${sha256}, or it came before`);
    if (size !== count) throw malformed(`${sha256} has ${size} bytes, not ${count}`);
    open.delete(sha256);
    files += 1;
    coming = { sha256, bytes: size };
  };
  /** Takes all that is whole; false if there is less than the next part of it. */
  const takeInto = (whole: Unpacked[]): boolean => {
    if (isOver) {
      if (gathered.bytes > 0) throw malformed("something follows its end");
      return false;
    }
    if (coming === undefined) {
      if (gathered.bytes < PACK_HEAD_BYTES) return false;
      begin();
      return true;
    }
    const length = PACK_HEAD_BYTES + coming.bytes;
    if (gathered.bytes < length) return false;
    const framed = gathered.next(length);
    whole.push({ ...coming, content: framed.subarray(PACK_HEAD_BYTES), framed });
    gathered.drop(length);
    coming = undefined;
    return true;
  };
  for await (const piece of bytes) {
    gathered.add(piece);
    const whole: Unpacked[] = [];
    let fault: unknown;
    try {
      while (takeInto(whole));
    } catch (thrown) {
      fault = thrown;
    }
    if (whole.length > 0) yield whole;
    if (fault !== undefined) throw fault;
  }
  if (!isOver) throw OperatingError.unavailable("TRANSFER_CUT", "a pack broke off");
}

/**
 * Files of one place as a pack, in large pieces; those that it lacks, or has in another size, are left out. `readInto` fills just the
 * bytes that it is given, or says that it cannot. A piece is lent: it is filled anew for the next one.
 */
export async function* packOf(
  wanted: readonly Wanted[],
  readInto: (wanted: Wanted, content: Buffer) => boolean,
): AsyncIterable<Uint8Array> {
  let files = 0;
  let piece = Buffer.allocUnsafe(PIECE_BYTES);
  let filled = 0;
  for (const one of wanted) {
    const size = PACK_HEAD_BYTES + one.bytes;
    if (filled > 0 && filled + size > piece.length) {
      yield piece.subarray(0, filled);
      filled = 0;
    }
    if (size > piece.length) piece = Buffer.allocUnsafe(size);
    if (!readInto(one, piece.subarray(filled + PACK_HEAD_BYTES, filled + size))) continue;
    writeHead(piece, filled, one.sha256, one.bytes);
    filled += size;
    files += 1;
  }
  if (filled > 0) yield piece.subarray(0, filled);
  yield packEnd(files);
}

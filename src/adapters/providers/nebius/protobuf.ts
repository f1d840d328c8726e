/** Messages of Protocol Buffers, as far as we speak them: whole numbers, texts, and messages within messages. */

type Value = string | number | Uint8Array;

const VARINT = 0;
const SIXTY_FOUR_BITS = 1;
const LENGTH = 2;
const THIRTY_TWO_BITS = 5;

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let left = BigInt(value); ; left >>= 7n) {
    const low = Number(left & 0x7fn);
    if (left < 0x80n) return Uint8Array.from([...bytes, low]);
    bytes.push(low | 0x80);
  }
}

/** Fields by their numbers; those without a value are left out, as the language has it. */
export function encode(...fields: readonly (readonly [field: number, value: Value | undefined])[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const [field, value] of fields) {
    if (value === undefined) continue;
    if (typeof value === "number") parts.push(varint(field * 8 + VARINT), varint(value));
    else {
      const bytes = typeof value === "string" ? Buffer.from(value, "utf8") : value;
      parts.push(varint(field * 8 + LENGTH), varint(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

/** A message that was read. What is not there has the value that the language gives it: no text, 0, no message. */
export interface Decoded {
  text(field: number): string;
  whole(field: number): number;
  message(field: number): Decoded | undefined;
  messages(field: number): Decoded[];
}

/** The bytes are no message, or break off. */
class MessageBroken extends Error {}

export const isMessageBroken = (thrown: unknown): boolean => thrown instanceof MessageBroken;

const utf8 = new TextDecoder("utf-8", { fatal: true });

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new MessageBroken("a text is not UTF-8");
  }
}

/** Whatever fields we do not know are passed over. */
export function decode(bytes: Uint8Array): Decoded {
  const found = new Map<number, (number | Uint8Array)[]>();
  let at = 0;
  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw new MessageBroken("it breaks off");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const number = (): number => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const [byte = 0] = take(1);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(value);
    }
    throw new MessageBroken("a number does not end");
  };
  while (at < bytes.length) {
    const tag = number();
    const field = Math.floor(tag / 8);
    const kind = tag % 8;
    const value =
      kind === VARINT
        ? number()
        : kind === LENGTH
          ? take(number())
          : kind === SIXTY_FOUR_BITS
            ? take(8)
            : kind === THIRTY_TWO_BITS
              ? take(4)
              : undefined;
    if (value === undefined || field === 0) throw new MessageBroken(`there is no field like ${tag}`);
    const all = found.get(field);
    if (all === undefined) found.set(field, [value]);
    else all.push(value);
  }
  const bytesOf = (field: number): Uint8Array[] =>
    (found.get(field) ?? []).map((value) => {
      if (typeof value === "number") throw new MessageBroken(`field ${field} is a number`);
      return value;
    });
  return {
    text: (field) => textOf(bytesOf(field).at(-1) ?? new Uint8Array()),
    whole(field) {
      const value = found.get(field)?.at(-1) ?? 0;
      if (typeof value !== "number") throw new MessageBroken(`field ${field} is no number`);
      return value;
    },
    message(field) {
      const last = bytesOf(field).at(-1);
      return last === undefined ? undefined : decode(last);
    },
    messages: (field) => bytesOf(field).map(decode),
  };
}

import type { encoderOf } from "./encode.ts";

/** Things of a list that are worked on before others have their turn on the loop. */
const SLICE = 64;
/** Text of an answer that is written before others have their turn. */
const SLICE_CHARACTERS = 128 * 1_024;

/** All others have their turn on the loop. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Few things may be large ones: a list is at least so many slices. */
const MIN_SLICES = 16;

/** A list made into another, a slice at a time: nobody waits for all of it. */
export async function inSlices<T, R>(list: readonly T[], map: (one: T) => R, max = SLICE): Promise<R[]> {
  const slice = Math.min(max, Math.max(1, Math.floor(list.length / MIN_SLICES)));
  const made: R[] = [];
  for (const one of list) {
    made.push(map(one));
    if (made.length % slice === 0 && made.length < list.length) await turn();
  }
  return made;
}

/** The text of an answer. Its long lists are written a slice at a time, whatever their things weigh. */
export async function answerText(given: unknown, encode: ReturnType<typeof encoderOf>): Promise<string> {
  const wire = (value: unknown) => (encode === undefined ? value : encode(value));
  const isLong = (value: unknown): value is readonly unknown[] => Array.isArray(value) && value.length > SLICE;
  if (typeof given !== "object" || given === null || !Object.values(given).some(isLong))
    return JSON.stringify(wire(given));
  const fields: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    // An object is encoded field by field, so a part of it is encoded as the whole would be.
    const text = (part: unknown) => JSON.stringify((wire({ [name]: part }) as Record<string, unknown>)[name]);
    const written = isLong(value) ? await listText(value, (one) => text([one])?.slice(1, -1) ?? "null") : text(value);
    if (written !== undefined) fields.push(`${JSON.stringify(name)}:${written}`);
  }
  return `{${fields.join(",")}}`;
}

async function listText(list: readonly unknown[], text: (one: unknown) => string): Promise<string> {
  const parts: string[] = [];
  let since = 0;
  for (const [index, one] of list.entries()) {
    const part = text(one);
    parts.push(part);
    since += part.length;
    if (since < SLICE_CHARACTERS && (index + 1) % SLICE !== 0) continue;
    since = 0;
    await turn();
  }
  return `[${parts.join(",")}]`;
}

/** Places in the catalog as a row of bits, deflated: what a node holds fits into a few bytes where it holds nearly all. */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { OperatingError } from "../../kernel/index.ts";

export function packSeqs(seqs: readonly number[], upto: number): string {
  const bits = Buffer.alloc(Math.floor(upto / 8) + 1);
  for (const seq of seqs) bits[seq >> 3]! |= 1 << (seq & 7);
  return deflateRawSync(bits).toString("base64");
}

const malformed = (why: string) => OperatingError.invalid("INVALID_REQUEST", `bits: ${why}`);

/** Those up to `upto`; what unfolds to more than that is refused. */
export function unpackSeqs(text: string, upto: number): number[] {
  const max = Math.floor(upto / 8) + 1;
  let bits: Buffer;
  try {
    bits = inflateRawSync(Buffer.from(text, "base64"), { maxOutputLength: max });
  } catch (cause) {
    throw malformed(`not a deflated row of ${max} bytes (${(cause as Error).message})`);
  }
  if (bits.length !== max) throw malformed(`${bits.length} bytes, ${max} were expected`);
  const seqs: number[] = [];
  for (const [at, byte] of bits.entries())
    for (let bit = 0; byte >> bit !== 0; bit += 1) if ((byte >> bit) & 1) seqs.push(at * 8 + bit);
  return seqs.filter((seq) => seq > 0 && seq <= upto);
}

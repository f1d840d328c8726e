/** SHA-256 in the language alone, for browsers, which offer theirs only on secure pages and never at once. */

const PRIMES = (() => {
  const found: number[] = [];
  for (let n = 2; found.length < 64; n += 1) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
})();
const fraction = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32);
const CONSTANTS = Uint32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const START = Uint32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

const turn = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

export function sha256(bytes: Uint8Array): Uint8Array {
  const blocks = Math.ceil((bytes.length + 9) / 64);
  const end = new Uint8Array(128);
  // The last one or two blocks: what is left, a one, zeros, and the length in bits.
  const whole = Math.floor(bytes.length / 64);
  end.set(bytes.subarray(whole * 64));
  end[bytes.length - whole * 64] = 0x80;
  const tail = new DataView(end.buffer);
  const tailLength = (blocks - whole) * 64;
  tail.setUint32(tailLength - 8, Math.floor((bytes.length * 8) / 2 ** 32));
  tail.setUint32(tailLength - 4, (bytes.length * 8) >>> 0);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const words = new Uint32Array(64);
  const state = START.slice();
  for (let block = 0; block < blocks; block += 1) {
    const [source, at] = block < whole ? [view, block * 64] : [tail, (block - whole) * 64];
    for (let i = 0; i < 16; i += 1) words[i] = source.getUint32(at + i * 4);
    for (let i = 16; i < 64; i += 1) {
      const a = words[i - 15]!;
      const b = words[i - 2]!;
      const low = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
      const high = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
      words[i] = words[i - 16]! + low + words[i - 7]! + high;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i += 1) {
      const high = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const first = (h + high + ((e & f) ^ (~e & g)) + CONSTANTS[i]! + words[i]!) | 0;
      const low = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const second = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = state[i]! + word;
  }
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  for (let i = 0; i < 8; i += 1) out.setUint32(i * 4, state[i]!);
  return digest;
}

export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

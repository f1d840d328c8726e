/** Randomness as an argument: a seeded generator gives one sequence for ever, on any machine. */

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform 32 bits, unsigned. */
  bits(): number;
}

/** xoshiro128** seeded through splitmix32, so that neighbouring seeds give unrelated sequences. */
export function seededRandom(seed: number): Random {
  let mix = seed >>> 0;
  const splitmix = () => {
    mix = (mix + 0x9e3779b9) >>> 0;
    let z = mix;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
  let a = splitmix();
  let b = splitmix();
  let c = splitmix();
  let d = splitmix();
  const bits = () => {
    const x = Math.imul(b, 5);
    const result = Math.imul((x << 7) | (x >>> 25), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = (d << 11) | (d >>> 21);
    return result;
  };
  return { bits, next: () => bits() / 0x1_0000_0000 };
}

/** Randomness of the operating system, for ids and jitter in production. */
export function systemRandom(): Random {
  const pool = new Uint32Array(1024);
  let left = 0;
  const bits = () => {
    if (left === 0) {
      crypto.getRandomValues(pool);
      left = pool.length;
    }
    left -= 1;
    return pool[left]!;
  };
  return { bits, next: () => bits() / 0x1_0000_0000 };
}

/** An integer in [0, below). */
export const pick = (random: Random, below: number): number => Math.floor(random.next() * below);

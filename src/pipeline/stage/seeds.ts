import { hash } from "node:crypto";

/** 32 bits that follow from a plan's seed and what they are for: the same in every run, unlike for everything else. */
export const seedFor = (seed: number, ...purpose: readonly (string | number)[]): number =>
  Number.parseInt(hash("sha256", [seed, ...purpose].join("/"), "hex").slice(0, 8), 16);

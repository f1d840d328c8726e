/** How many copies an artifact shall have: by what it is, and for a config by a word of its own. */

/** What may be lost differently hard: games cannot be played again, models can, samples and the rest are made anew. */
export const COPY_CLASSES = ["games", "models", "samples", "rebuildable"] as const;
export type CopyClass = (typeof COPY_CLASSES)[number];

export type CopyPolicy = Readonly<Record<CopyClass, number>> & {
  /** `config:class:number`, as in `hex8_2p:games:3`. */
  readonly exceptions: readonly string[];
};

const CLASS_OF_KIND: Readonly<Record<string, CopyClass>> = {
  games: "games",
  // Games that came from elsewhere: nobody can make this set again.
  game_set: "games",
  sample_set: "games",
  model: "models",
  samples: "samples",
};

const copyClassOf = (kind: string): CopyClass => CLASS_OF_KIND[kind] ?? "rebuildable";

const EXCEPTION = new RegExp(`^([a-z0-9][a-z0-9_-]*_[234]p):(${COPY_CLASSES.join("|")}):([1-9]|1\\d|20)$`);

export const isCopyException = (text: string): boolean => EXCEPTION.test(text);

/** How many copies an artifact of this kind and config shall have. */
export function factorOf(
  { kind, config_key }: { readonly kind: string; readonly config_key: string | null },
  policy: CopyPolicy,
): number {
  const wanted = copyClassOf(kind);
  for (const text of policy.exceptions) {
    const [, config, ofClass, copies] = EXCEPTION.exec(text) ?? [];
    if (config === config_key && ofClass === wanted) return Number(copies);
  }
  return policy[wanted];
}

/** The most copies that anything of a class shall have, in whatever config; or anything at all. */
export function maxFactorOf(policy: CopyPolicy, of?: CopyClass): number {
  const classes = of === undefined ? COPY_CLASSES : [of];
  const exceptions = policy.exceptions.flatMap((text) => {
    const [, , ofClass, copies] = EXCEPTION.exec(text) ?? [];
    return classes.some((one) => one === ofClass) ? [Number(copies)] : [];
  });
  return Math.max(...classes.map((one) => policy[one]), ...exceptions);
}

/** The least that any policy asks for: the last copy goes with its artifact, and not before. */
export const MIN_COPIES = 1;

/** What can be had: on one machine that is one copy, whatever is wished for. */
export const requiredCopies = (factor: number, places: number): number =>
  Math.max(MIN_COPIES, Math.min(factor, places));

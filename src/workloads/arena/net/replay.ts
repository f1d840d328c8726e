export interface ReplayConfig {
  /** The newest `base` rows, and this share of all older ones, but never more than `most`. */
  readonly base: number;
  readonly share: number;
  readonly most: number;
}

export const DEFAULT_REPLAY: ReplayConfig = { base: 30_000, share: 0.4, most: 500_000 };

/** How many of the newest rows to train on, when so many have been made: early rows are soon worthless, late ones last. */
export const windowRows = (total: number, { base, share, most }: ReplayConfig): number =>
  Math.min(most, total <= base ? total : base + Math.floor(share * (total - base)));

/**
 * Who is served next, between configs. Each config that has fitting work is owed its share of all that is handed out; what
 * it is owed and has not had is its deficit. The one with the largest deficit is served and pays what the job costs. That is
 * deficit round robin in its smooth form: equal shares take turns, and no config waits longer than the others' shares.
 */
export const sharePolicyDefaults = {
  /** Relative weight of a config; 1 for those that are not named. */
  weights: {} as Readonly<Record<string, number>>,
  /** No config that has work gets less than this share, as long as all of them can have it. */
  minShare: 0.02,
  /** Urgent work may overtake until its config has had so much more than its share. */
  maxDebt: 8,
};
export type SharePolicy = typeof sharePolicyDefaults;

/** What each config is owed, in units of cost; below zero it has had more than its share. */
export type Deficits = ReadonlyMap<string, number>;

/** Shares that add up to one, none of them below the minimum (or an equal part, where the minimum is too much for all). */
export function sharesOf(configs: readonly string[], { weights, minShare }: SharePolicy): Map<string, number> {
  const min = Math.min(minShare, 1 / Math.max(1, configs.length));
  const weightOf = (config: string) => Math.max(0, weights[config] ?? 1);
  const shares = new Map<string, number>();
  let open = configs.map((config) => ({ config, weight: weightOf(config) }));
  let left = 1;
  // Those that would get too little get the minimum, the rest is divided anew; each round settles at least one.
  for (;;) {
    const sum = open.reduce((total, { weight }) => total + weight, 0);
    const small = open.filter(({ weight }) => sum === 0 || (left * weight) / sum < min);
    if (small.length === 0 || sum === 0) {
      for (const { config, weight } of open) shares.set(config, sum === 0 ? left / open.length : (left * weight) / sum);
      return shares;
    }
    for (const { config } of small) shares.set(config, min);
    left -= small.length * min;
    open = open.filter((entry) => !small.includes(entry));
    if (open.length === 0) return shares;
  }
}

/** What stands at the front of one config's line. */
export interface Head {
  readonly config: string;
  readonly cost: number;
  /** Critical, or aged until it is: it may overtake. */
  readonly urgent: boolean;
}

/** Shares are fractions: what differs by less is the same. */
const SAME = 1e-9;

/** The config to serve next: an urgent one within its debt, and otherwise the one that is owed most. */
export function nextConfig(heads: readonly Head[], deficits: Deficits, policy: SharePolicy): string | undefined {
  const owed = ({ config }: Head) => deficits.get(config) ?? 0;
  const maxOwed = (among: readonly Head[]) =>
    among.reduce<Head | undefined>(
      (best, head) => (best === undefined || owed(head) > owed(best) + SAME ? head : best),
      undefined,
    );
  const urgent = maxOwed(heads.filter((head) => head.urgent && owed(head) > -policy.maxDebt));
  return (urgent ?? maxOwed(heads))?.config;
}

/** The deficits after one job: all that had fitting work are owed their share of its cost, and the served one pays it. */
export function afterServing(
  deficits: Deficits,
  shares: ReadonlyMap<string, number>,
  served: { readonly config: string; readonly cost: number },
  maxDebt: number,
): Map<string, number> {
  // Bounded both ways: nobody saves up so much that the others would stand still for long.
  const max = 4 * maxDebt;
  const bounded = (value: number) => Math.max(-max, Math.min(max, value));
  const next = new Map(deficits);
  for (const [config, share] of shares) next.set(config, bounded((next.get(config) ?? 0) + share * served.cost));
  next.set(served.config, bounded((next.get(served.config) ?? 0) - served.cost));
  return next;
}

/** Of those that have no work nothing is kept but their debt: credit is for those who wait. */
export function forgetIdle(deficits: Deficits, idle: Iterable<string>): Deficits {
  const gone = [...idle].filter((config) => (deficits.get(config) ?? 0) > 0);
  if (gone.length === 0) return deficits;
  const next = new Map(deficits);
  for (const config of gone) next.delete(config);
  return next;
}

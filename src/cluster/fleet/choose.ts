/** Which offers are taken: the cheapest for the work they do, where it went well before. Pure. */
import { sumOf } from "../../kernel/index.ts";
import type { Priced } from "./inventory.ts";

export interface Wish {
  readonly minCpus: number;
  readonly minGpus: number;
  /** 0: any price. */
  readonly maxPriceUsdHour: number;
  /** Empty: all. */
  readonly regions: readonly string[];
  /** Only of this one; null for any. */
  readonly provider: string | null;
}

export interface ProviderRecord {
  /** Failures in a row. */
  readonly failures: number;
  /** It is passed over until then. */
  readonly until: number;
}

/** How fast machines of one offer do the work that is there, as measured: usual jobs in the time of one. */
export type Speeds = ReadonlyMap<string, number>;

/** How long the work of each kind takes; empty while there is none. */
export type WorkMix = ReadonlyMap<string, number>;

/**
 * How fast a machine does such a mix: a machine that plays fast may train slowly. By what its jobs of each kind took, and by all of them
 * where there is no work to go by; undefined while too few are known.
 */
export function speedAt(
  slots: number,
  mix: WorkMix,
  pace: (kind: string | undefined) => number | undefined,
): number | undefined {
  const total = sumOf([...mix.values()], (work) => work);
  const shares: [string | undefined, number][] =
    total > 0 ? [...mix].map(([kind, work]) => [kind, work / total]) : [[undefined, 1]];
  let times = 0;
  for (const [kind, share] of shares) {
    const own = pace(kind);
    if (own === undefined || own <= 0) return undefined;
    times += share * own;
  }
  return slots / times;
}

export const offerKey = ({ provider, offer_id }: Pick<Priced, "provider" | "offer_id">): string =>
  `${provider}/${offer_id}`;

/** What an accelerator is worth in processors while nobody has measured it. */
const CPUS_OF_A_GPU = 16;
const sizeOf = ({ cpus, gpus }: Pick<Priced, "cpus" | "gpus">): number => Math.max(0.1, cpus + CPUS_OF_A_GPU * gpus);

/** Why an offer is none for us; undefined if it is. */
export function whyNotOffer(
  offer: Priced,
  wish: Wish,
  record: ProviderRecord | undefined,
  now: number,
): string | undefined {
  if (wish.provider !== null && offer.provider !== wish.provider) return `it is not at ${wish.provider}`;
  if (offer.not_rented !== undefined) return offer.not_rented;
  if (record !== undefined && record.until > now)
    return `${offer.provider} failed ${record.failures} times and is passed over for ${Math.ceil((record.until - now) / 1_000)} s`;
  if (offer.available === 0) return "none is left";
  if (offer.cpus < wish.minCpus) return `it has ${offer.cpus} CPUs of ${wish.minCpus} (fleet.min_cpus)`;
  if (offer.gpus < wish.minGpus) return `it has ${offer.gpus} accelerators of ${wish.minGpus} (fleet.min_gpus)`;
  if (wish.maxPriceUsdHour > 0 && offer.price_usd_hour > wish.maxPriceUsdHour)
    return `it costs ${offer.price_usd_hour} USD an hour, and ${wish.maxPriceUsdHour} are allowed (fleet.max_price)`;
  if (wish.regions.length > 0 && (offer.region === null || !wish.regions.includes(offer.region)))
    return `it is in ${offer.region ?? "no region"}, not in ${wish.regions.join(", ")} (fleet.regions)`;
  return undefined;
}

/** How fast a machine of an offer will be: as measured, or by its size at the pace of those that were measured. */
function speedOf(offer: Priced, offers: readonly Priced[], speeds: Speeds): number {
  const own = speeds.get(offerKey(offer));
  if (own !== undefined && own > 0) return own;
  const paces = offers.flatMap((other) => {
    const speed = speeds.get(offerKey(other));
    return speed === undefined || speed <= 0 ? [] : [speed / sizeOf(other)];
  });
  const pace = paces.length === 0 ? 1 : paces.toSorted((a, b) => a - b)[Math.floor(paces.length / 2)]!;
  return sizeOf(offer) * pace;
}

/** Offers that may be taken, best first: least money for the work, and somewhat dearer where it failed lately. */
export function rankOffers(
  offers: readonly Priced[],
  wish: Wish,
  records: ReadonlyMap<string, ProviderRecord>,
  speeds: Speeds,
  now: number,
): Priced[] {
  const score = (offer: Priced): number => {
    const failures = records.get(offer.provider)?.failures ?? 0;
    return (offer.price_usd_hour / speedOf(offer, offers, speeds)) * (1 + 0.25 * Math.min(failures, 8));
  };
  return offers
    .filter((offer) => whyNotOffer(offer, wish, records.get(offer.provider), now) === undefined)
    .map((offer) => ({ offer, score: score(offer) }))
    .toSorted(
      (a, b) =>
        a.score - b.score ||
        a.offer.price_usd_hour - b.offer.price_usd_hour ||
        (offerKey(a.offer) < offerKey(b.offer) ? -1 : 1),
    )
    .map(({ offer }) => offer);
}

/** So many machines from the best offers, as far as there are any. */
export function takeOffers(ranked: readonly Priced[], count: number): Priced[] {
  const taken: Priced[] = [];
  for (const offer of ranked) {
    const left = Math.min(count - taken.length, offer.available ?? count);
    for (let n = 0; n < left; n += 1) taken.push(offer);
  }
  return taken;
}

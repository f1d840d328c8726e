import { describe, expect, test } from "vitest";
import { offerKey, rankOffers, speedAt, takeOffers, type Wish, whyNotOffer } from "./choose.ts";
import type { Priced } from "./inventory.ts";

const NOW = 1_000_000;
const offer = (provider: string, offer_id: string, price_usd_hour: number, more: Partial<Priced> = {}): Priced => ({
  ...{ provider, offer_id, price_usd_hour, region: "eu", cpus: 4, memory_gb: 8 },
  ...{ gpus: 0, gpu_name: null, gpu_memory_gb: 0, available: null, ...more },
});
const ANY: Wish = { minCpus: 1, minGpus: 0, maxPriceUsdHour: 0, regions: [], provider: null };
const record = (failures: number, until = 0) => ({ failures, until });
const ranked = (
  offers: readonly Priced[],
  { wish = {}, records = {}, speeds = {} }: { wish?: Partial<Wish>; records?: object; speeds?: object } = {},
) =>
  rankOffers(
    offers,
    { ...ANY, ...wish },
    new Map(Object.entries(records)),
    new Map(Object.entries(speeds) as [string, number][]),
    NOW,
  ).map(offerKey);

describe("of several offers that one comes first", () => {
  const [dear, cheap] = [offer("p", "dear", 2), offer("p", "cheap", 1)];

  test("that costs less for its size, while nobody has measured any", () => {
    expect(ranked([dear, cheap])).toEqual(["p/cheap", "p/dear"]);
    expect(ranked([offer("p", "large", 3, { cpus: 16 }), cheap])).toEqual(["p/large", "p/cheap"]);
    expect(ranked([offer("p", "gpu", 3, { gpus: 1 }), cheap])).toEqual(["p/gpu", "p/cheap"]);
  });

  test("that costs less for the work it was measured to do, whatever its size says", () => {
    expect(ranked([dear, cheap], { speeds: { "p/dear": 12, "p/cheap": 4 } })).toEqual(["p/dear", "p/cheap"]);
    // Of one that was never measured its size is taken, at the pace of those that were.
    const speeds = { "p/cheap": 2 };
    expect(ranked([offer("p", "new", 1.5, { cpus: 8 }), cheap], { speeds })).toEqual(["p/new", "p/cheap"]);
    expect(ranked([offer("p", "new", 2.5, { cpus: 8 }), cheap], { speeds })).toEqual(["p/cheap", "p/new"]);
  });

  test("whose provider failed less lately, if it is not much dearer", () => {
    const [here, there] = [offer("a", "x", 1), offer("b", "x", 1.3)];
    expect(ranked([here, there])).toEqual(["a/x", "b/x"]);
    expect(ranked([here, there], { records: { a: record(1) } })).toEqual(["a/x", "b/x"]);
    expect(ranked([here, there], { records: { a: record(2) } })).toEqual(["b/x", "a/x"]);
    // While it rests after a failure nothing is taken there.
    expect(ranked([here, there], { records: { a: record(1, NOW + 1) } })).toEqual(["b/x"]);
  });

  test("that is in one of the regions, at the provider, and as large as was asked for", () => {
    const offers = [
      offer("a", "eu", 1),
      offer("a", "us", 0.5, { region: "us" }),
      offer("b", "none", 0.1, { region: null }),
    ];
    expect(ranked(offers, { wish: { regions: ["eu"] } })).toEqual(["a/eu"]);
    expect(ranked(offers, { wish: { regions: ["us", "eu"] } })).toEqual(["a/us", "a/eu"]);
    expect(ranked(offers, { wish: { provider: "b" } })).toEqual(["b/none"]);
    expect(ranked(offers, { wish: { minGpus: 1 } })).toEqual([]);
    expect(ranked(offers, { wish: { maxPriceUsdHour: 0.6 } })).toEqual(["b/none", "a/us"]);
  });
});

test("why an offer is not taken is said in a sentence with what it has and what was asked for", () => {
  const why = (of: Partial<Priced>, wish: Partial<Wish> = {}, until = 0) =>
    whyNotOffer(offer("p", "o", 1, of), { ...ANY, ...wish }, record(3, until), NOW);
  expect(why({})).toBeUndefined();
  expect(why({ available: 0 })).toBe("none is left");
  expect(why({ cpus: 2 }, { minCpus: 4 })).toBe("it has 2 CPUs of 4 (fleet.min_cpus)");
  expect(why({}, { regions: ["us"] })).toBe("it is in eu, not in us (fleet.regions)");
  expect(why({}, { maxPriceUsdHour: 0.5 })).toBe("it costs 1 USD an hour, and 0.5 are allowed (fleet.max_price)");
  expect(why({}, {}, NOW + 4_200)).toBe("p failed 3 times and is passed over for 5 s");
  expect(why({ not_rented: "it is only shown" })).toBe("it is only shown");
});

test("so many machines are taken of the best offer as there are, then of the next", () => {
  const some = [offer("a", "x", 1, { available: 2 }), offer("b", "y", 2)];
  expect(takeOffers(some, 4).map(offerKey)).toEqual(["a/x", "a/x", "b/y", "b/y"]);
  expect(takeOffers(some.slice(0, 1), 4)).toHaveLength(2);
});

describe("the speed of a machine", () => {
  /** It plays twice as fast as usual, and trains at a quarter of the usual speed. */
  const paces = new Map<string | undefined, number>([
    ["selfplay", 0.5],
    ["training", 4],
    [undefined, 1],
  ]);
  const speed = (mix: Readonly<Record<string, number>>) =>
    speedAt(8, new Map(Object.entries(mix)), (kind) => paces.get(kind));

  test("is that at the work that is there", () => {
    expect(speed({ selfplay: 100 })).toBe(16);
    expect(speed({ training: 5 })).toBe(2);
    // Half of the time of each: an hour of the mix takes two and a quarter.
    expect(speed({ selfplay: 50, training: 50 })).toBeCloseTo(8 / 2.25, 9);
  });

  test("is that of all its jobs where no work is there, and unknown where a kind was never measured", () => {
    expect(speed({})).toBe(8);
    expect(speed({ selfplay: 50, validation: 1 })).toBeUndefined();
  });
});

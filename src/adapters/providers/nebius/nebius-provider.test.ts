/** The client of Nebius against a double of its API, and its messages against those of Google's own compiler. */
import { describe, expect, onTestFinished, test } from "vitest";
import { NEBIUS_PROJECT, type NebiusDouble, nebiusDouble } from "../../../../test/support/nebius-double.ts";
import { whyNotOffer } from "../../../cluster/fleet/choose.ts";
import { madeNothing } from "../../../cluster/fleet/index.ts";
import { createInventory } from "../../../cluster/fleet/inventory.ts";
import { type Clock, messageOf, silentLog, systemClock } from "../../../kernel/index.ts";
import { nebiusHosts, nebiusProvider } from "./nebius-provider.ts";
import { decode, encode, isMessageBroken } from "./protobuf.ts";

const { signal } = new AbortController();
/** The double needs no rest between two requests. */
const hurried = (): Clock => {
  const clock = systemClock();
  return { ...clock, after: (delayMs, run, hold) => clock.after(Math.min(delayMs, 1), run, hold) };
};
const clientOf = ({ url, keyFile }: NebiusDouble, key = keyFile) =>
  nebiusProvider({
    hosts: { compute: url, prices: url, tokens: url },
    project: NEBIUS_PROJECT,
    key: { reveal: () => key },
    clock: hurried(),
  });

async function open() {
  const double = await nebiusDouble();
  onTestFinished(() => {
    double.close();
    expect(double.wrong, "held against the published documents").toEqual([]);
  });
  return { double, provider: clientOf(double) };
}

test("its services have hosts of their own under one address", () => {
  expect(nebiusHosts("https://api.nebius.cloud/")).toEqual({
    compute: "https://compute.api.nebius.cloud",
    prices: "https://api.calculator.billing-data-plane.api.nebius.cloud",
    tokens: "https://tokens.iam.api.nebius.cloud",
  });
});

test("it offers every preset that has a price, and none is rented", async () => {
  const { double, provider } = await open();
  const offers = await provider.offers(signal);
  expect(offers.map(({ offer_id, price_usd_hour }) => [offer_id, price_usd_hour])).toEqual([
    ["cpu-d3/4vcpu-16gb", 0.0992],
    ["cpu-d3/8vcpu-32gb", 0.1984],
    ["gpu-h100-sxm/1gpu-16vcpu-200gb", 2.95],
  ]);
  expect(offers[2]).toMatchObject({ cpus: 16, memory_gb: 215, gpus: 1, gpu_name: "NVIDIA H100", gpu_memory_gb: 80 });
  // One token serves until it ends.
  expect(double.asked.filter((method) => method.endsWith("Exchange"))).toHaveLength(1);

  const inventory = createInventory([provider], hurried(), silentLog());
  const wish = { minCpus: 1, minGpus: 0, maxPriceUsdHour: 0, regions: [], provider: null };
  for (const offer of await inventory.offers(signal))
    expect(whyNotOffer(offer, wish, undefined, 0)).toMatch(/^Nebius is only listed/);
  const order = { label: "rr-abcdefgh-01jcxkq8ca7ssawmw1s6ht6j5p", offer: offers[0]!, max_price_usd_hour: 1 };
  const refused = await provider.create(order as never, signal).catch((thrown: unknown) => thrown);
  expect(refused).toMatchObject({ code: "PROVIDER_REFUSED" });
  expect(madeNothing(refused)).toBe(true);
});

test("it lists all machines, page by page; a state that nobody knows is unknown", async () => {
  const { double, provider } = await open();
  const states = [1, 3, 4, 5, 6, 7, 2, 8, 99];
  for (const [n, state] of states.entries())
    double.instances.push({
      id: `computeinstance-e00${n}`,
      label: n === 0 ? "rr-one" : null,
      state,
      address: n === 2 ? "192.0.2.7" : null,
    });
  const listed = await provider.list(signal);
  expect(listed.map(({ state }) => state)).toEqual([
    "starting",
    "starting",
    "running",
    "stopped",
    "stopped",
    "ending",
    "unknown",
    "unknown",
    "unknown",
  ]);
  expect(listed[0]).toMatchObject({ machine_id: "computeinstance-e000", label: "rr-one", said: "CREATING" });
  expect(listed[2]).toMatchObject({ label: null, address: "192.0.2.7", said: "RUNNING" });
  expect(listed[8]).toMatchObject({ said: "state 99" });
});

describe("what goes wrong", () => {
  test.each([
    [16, "PROVIDER_DENIED"],
    [7, "PROVIDER_DENIED"],
    [8, "PROVIDER_BUSY"],
    [3, "PROVIDER_REFUSED"],
    [14, "PROVIDER_UNAVAILABLE"],
    [13, "PROVIDER_UNAVAILABLE"],
  ] as const)("status %i is %s", async (status, code) => {
    const { double, provider } = await open();
    double.fails = { status, said: "not now: 100 %\nof it" };
    await expect(provider.list(signal)).rejects.toMatchObject({
      code,
      message: expect.stringContaining("not now: 100 % of it"),
    });
  });

  test("a key that opens nothing is in no error, also where the other side repeats it", async () => {
    const { double } = await open();
    const key = "a-token-that-opens-nothing";
    const failed = await clientOf(double, key)
      .list(signal)
      .catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ code: "PROVIDER_DENIED" });
    expect(messageOf(failed)).toContain("(key)");
    expect(JSON.stringify(failed) + String((failed as Error).stack)).not.toContain(key);
    const broken = JSON.stringify({
      "subject-credentials": { alg: "RS256", "private-key": "no key at all", kid: "k", iss: "i", sub: "i" },
    });
    const unsigned = await clientOf(double, broken)
      .list(signal)
      .catch((thrown: unknown) => thrown);
    expect(unsigned).toMatchObject({ code: "PROVIDER_DENIED" });
    expect(messageOf(unsigned)).not.toContain("no key at all");
  });

  const bends: ((bytes: Uint8Array) => Uint8Array)[] = [
    (bytes) => bytes.subarray(0, bytes.length - 1),
    () => Buffer.from("<html>"),
    () => encode([1, "no message"]),
    (bytes) => Buffer.concat([bytes, encode([1, encode([1, encode([1, "../etc"])])])]),
  ];
  test.each(bends.map((bend, n) => [n, bend] as const))("mutated answers give typed errors (%i)", async (_, bend) => {
    const { double, provider } = await open();
    double.instances.push({ id: "computeinstance-e00one", label: null, state: 4, address: null });
    double.bend = bend;
    await expect(provider.list(signal)).rejects.toMatchObject({ code: "PROVIDER_ANSWER_INVALID" });
  });

  test("a list that does not end, prices in other money, and nobody who answers", async () => {
    const { double, provider } = await open();
    double.instances.push({ id: "computeinstance-e00one", label: null, state: 4, address: null });
    double.isEndless = true;
    await expect(provider.list(signal)).rejects.toMatchObject({ code: "PROVIDER_ANSWER_INVALID" });
    double.currency = "ils";
    await expect(provider.offers(signal)).rejects.toMatchObject({ code: "PROVIDER_ANSWER_INVALID" });
    double.close();
    await expect(provider.offers(signal)).rejects.toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    await expect(provider.offers(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  });
});

describe("messages", () => {
  /** Written by protoc 3.21.12 from the published files. */
  const ESTIMATE =
    "0a740a720a3b747970652e676f6f676c65617069732e636f6d2f6e65626975732e636f6d707574652e76312e437265617465496e7374616e63655265717565737412330a19120e70726f6a6563742d6530306162631a076f666665722d30121612140a066370752d6433120a34766370752d313667625a03757364a201030a0102";
  const INSTANCES =
    "0a420a2a0a16636f6d70757465696e7374616e63652d6530306f6e653a100a0872696e6772696674120472722d781a1408041210220e0a0c3139322e302e322e372f3332";

  test("are those of the compiler", () => {
    const create = encode(
      [1, encode([2, NEBIUS_PROJECT], [3, "offer-0"])],
      [2, encode([2, encode([1, "cpu-d3"], [2, "4vcpu-16gb"])])],
    );
    const any = encode([1, "type.googleapis.com/nebius.compute.v1.CreateInstanceRequest"], [2, create]);
    // A list of numbers of which there is one is packed to the same bytes as a text of one byte.
    const hours = encode([1, Uint8Array.of(2)]);
    expect(Buffer.from(encode([1, encode([1, any])], [11, "usd"], [20, hours])).toString("hex")).toBe(ESTIMATE);
    const [instance] = decode(Buffer.from(INSTANCES, "hex")).messages(1);
    expect(instance?.message(1)?.text(1)).toBe("computeinstance-e00one");
    expect(instance?.message(1)?.messages(7)[0]?.text(2)).toBe("rr-x");
    expect(instance?.message(3)?.whole(1)).toBe(4);
  });

  test("keep every number and text", () => {
    for (const value of [0, 1, 127, 128, 300, 2 ** 31, Number.MAX_SAFE_INTEGER])
      expect(decode(encode([7, value])).whole(7)).toBe(value);
    expect(decode(encode([2_000, "zoë 🎲"])).text(2_000)).toBe("zoë 🎲");
    const none = decode(new Uint8Array());
    expect([none.text(1), none.whole(1), none.message(1), none.messages(1)]).toEqual(["", 0, undefined, []]);
  });

  test("that break off, or are none, are told apart from all else", () => {
    for (const bytes of [[0x0a], [0x0a, 5, 1], [0xff], [0x0b], [0x00, 1], Array.from({ length: 12 }, () => 0xff)]) {
      let thrown: unknown;
      try {
        decode(Uint8Array.from(bytes)).text(1);
      } catch (error) {
        thrown = error;
      }
      expect(isMessageBroken(thrown), String(bytes)).toBe(true);
    }
  });
});

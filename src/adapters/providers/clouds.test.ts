/** The clients of clouds, each against a double of its API. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type CloudDouble,
  cloudDouble,
  DOUBLE_KEY,
  hetznerCloud,
  lambdaCloud,
  runPodCloud,
  vastCloud,
} from "../../../test/support/cloud-doubles.ts";
import { unpackedPackages } from "../../../test/support/debian-programs.ts";
import { providerSchemas } from "../../../test/support/provider-schemas.ts";
import { type MachineProvider, machineIdOf, madeNothing } from "../../cluster/fleet/index.ts";
import { type ProviderWorld, providerContract } from "../../cluster/fleet/provider.contract.ts";
import { type Clock, messageOf, systemClock } from "../../kernel/index.ts";
import { hetznerProvider, lambdaProvider, runPodProvider, vastProvider } from "./index.ts";
import { startScript } from "./start-script.ts";

const start: ProviderWorld["start"] = {
  url: "https://home.example.org:8770",
  fingerprint: "ab".repeat(32),
  token: "rrt_a_token_of_the_test",
  tags: ["rented"],
  deadManMs: 7_200_000,
  program: { install: "ringrift-coordination@0.1.0" },
};
const { signal } = new AbortController();
/** The doubles need no rest between two requests; that of Lambda alone looks at the pace, below. */
const hurried = (clock = systemClock()): Clock => ({
  ...clock,
  after: (delayMs, run, hold) => clock.after(Math.min(delayMs, 1), run, hold),
});
const account = (url: string, clock = hurried()) => ({
  ...{ url, key: { reveal: () => DOUBLE_KEY }, clock, image: "debian-12" },
});

const clouds = {
  hetzner: [hetznerCloud, (url: string) => hetznerProvider({ ...account(url), usdPerEur: 1.25 })],
  lambda: [
    lambdaCloud,
    (url: string) => lambdaProvider({ ...account(url), sshKey: "mine" }, { requestMs: 1, launchMs: 1 }),
  ],
  vast: [vastCloud, (url: string) => vastProvider(account(url))],
  runpod: [
    runPodCloud,
    (url: string) => runPodProvider({ ...account(url), types: ["NVIDIA_GeForce_RTX_4090:0.80"], regions: [] }),
  ],
} as const;

async function open(name: keyof typeof clouds): Promise<{ double: CloudDouble; provider: MachineProvider }> {
  const [cloud, client] = clouds[name];
  const double = await cloudDouble(cloud);
  onTestFinished(() => {
    double.close();
    expect(double.wrong, "held against the published documents").toEqual([]);
  });
  return { double, provider: client(double.url) };
}

for (const name of ["hetzner", "lambda", "vast", "runpod"] as const)
  providerContract(name, {
    async open() {
      const { double, provider } = await open(name);
      const hasPages = name === "hetzner" || name === "vast";
      return {
        provider,
        start,
        exists: async (id) => double.machines.has(id),
        until: async (condition) => expect(await condition()).toBe(true),
        stranger: async () => double.make(null).id,
        failAfterEffect: () => Object.assign(double.next, { failAfterEffect: true }),
        sellOut: () => Object.assign(double.next, { sellOut: true }),
        lockOut: () => Object.assign(double.next, { lockedOut: true }),
        confuse(id) {
          double.isOdd = true;
          Object.assign(double.machines.get(id)!, { status: "MIGRATING_TO_MARS" });
        },
        ...(hasPages && {
          breakList() {
            for (let n = 0; n < 4; n += 1) double.make(null);
            double.next.breakList = true;
          },
        }),
      };
    },
  });

const orderFor = async (provider: MachineProvider) => {
  const [offer] = await provider.offers(signal);
  const label = "rr-abcdefgh-01jcxkq8ca7ssawmw1s6ht6j5p";
  return { label, offer: offer!, max_price_usd_hour: offer!.price_usd_hour, start: { ...start, label } };
};

test("what no document allows is noticed, both ways", () => {
  const { ofRequest, ofAnswer } = providerSchemas("hetzner");
  const create = { method: "POST", path: "/servers", query: new URLSearchParams() };
  const sound = { name: "rr-a", server_type: "cpx22", image: "debian-12" };
  expect(ofRequest({ ...create, body: sound })).toEqual([]);
  expect(ofRequest({ ...create, body: { ...sound, server_typ: "cpx22" } })[0]).toContain("additional properties");
  expect(ofRequest({ ...create, body: { name: "rr-a" } })[0]).toContain("server_type");
  expect(ofRequest({ ...create, path: "/server", body: sound })).toEqual(["no document names this route"]);
  expect(ofAnswer(create, 201, { server: {} })[0]).toContain("must have required property");
  expect(ofAnswer(create, 202, {})).toEqual(["no document names the answer 202"]);
});

describe("answers that are not as the documents say", () => {
  const bends: ((body: unknown) => unknown)[] = [
    () => "no",
    () => ({}),
    () => null,
    () => ({ servers: null, data: null, instances: null, meta: null }),
    (body) =>
      JSON.parse(JSON.stringify(body).replace(/"(id|price_cents_per_hour|dph_total)":"?[\w.-]+"?/g, '"$1":-1e99')),
  ];
  test.each(["hetzner", "lambda", "vast", "runpod"] as const)("%s gives typed errors", async (name) => {
    const { double, provider } = await open(name);
    const order = await orderFor(provider);
    double.make("somebody");
    for (const bend of bends) {
      double.bend = bend;
      const failed = await provider.list(signal).catch((thrown: unknown) => thrown);
      expect(failed, String(bend)).toMatchObject({ name: "OperatingError", code: "PROVIDER_ANSWER_INVALID" });
      // An answer to a create has none of these numbers.
      if (bend === bends.at(-1)) continue;
      const create = await provider.create(order, signal).catch((thrown: unknown) => thrown);
      expect(create, String(bend)).toMatchObject({ name: "OperatingError" });
      expect(madeNothing(create), String(bend)).toBe(false);
    }
  });

  test("the key is in no error, also where the other side repeats it", async () => {
    const { double, provider } = await open("hetzner");
    double.next.lockedOut = true;
    const failed = await provider.list(signal).catch((thrown: unknown) => thrown);
    expect(messageOf(failed)).toContain("(key)");
    expect(JSON.stringify(failed) + messageOf(failed) + String((failed as Error).stack)).not.toContain(DOUBLE_KEY);
  });
});

test("a create at Vast that failed and bills is ended, and named in the error", async () => {
  const { double, provider } = await open("vast");
  const order = await orderFor(provider);
  double.bend = (body) => ({ ...(body as object), success: false, msg: "it failed" });
  const failed = await provider.create(order, signal).catch((thrown: unknown) => thrown);
  expect(machineIdOf(failed)).toBe("901");
  expect(madeNothing(failed)).toBe(false);
  expect(double.machines.size).toBe(0);
});

test("a pod at RunPod that costs more than allowed is ended at once, and nothing is left", async () => {
  const { double, provider } = await open("runpod");
  const order = await orderFor(provider);
  const failed = await provider
    .create({ ...order, offer: { ...order.offer, price_usd_hour: 0.5 }, max_price_usd_hour: 0.5 }, signal)
    .catch((thrown: unknown) => thrown);
  expect(madeNothing(failed)).toBe(true);
  expect(double.machines.size).toBe(0);
});

test("Lambda is asked at its pace, and launches at theirs", async () => {
  const double = await cloudDouble(lambdaCloud);
  onTestFinished(() => double.close());
  const provider = lambdaProvider(
    { ...account(double.url, systemClock()), sshKey: "mine" },
    { requestMs: 50, launchMs: 300 },
  );
  const order = await orderFor(provider);
  await Promise.all([
    provider.create(order, signal),
    provider.create(order, signal),
    provider.list(signal),
    provider.list(signal),
  ]);
  const gaps = (times: readonly number[]) => times.slice(1).map((at, n) => at - times[n]!);
  const times = double.asked.map(({ at }) => at);
  expect(times.at(-1)! - times[0]!).toBeGreaterThanOrEqual(50 * (times.length - 1) - 40);
  const launches = double.asked.filter(({ what }) => what.endsWith("/launch")).map(({ at }) => at);
  for (const gap of gaps(launches)) expect(gap).toBeGreaterThanOrEqual(290);
});

test("what a machine is told opens nothing but one join, and is safe in a shell", () => {
  const script = startScript({ ...start, label: "a'; rm -rf /; '" }, { powerOff: true });
  expect(script).toContain(`--label 'a'\\''; rm -rf /; '\\'''`);
  expect(script).toContain("RINGRIFT_WORKER_DEAD_MAN=7200");
  expect(script).not.toContain(DOUBLE_KEY);
});

test("Debian's hcloud-cli speaks with the double of Hetzner: it lists all pages, describes a server and ends it", async () => {
  const folder = unpackedPackages("hcloud-cli", ["hcloud-cli"], "usr/bin/hcloud");
  if (folder === undefined) {
    if (process.env.CI === "true") throw new Error("hcloud-cli cannot be fetched here");
    return console.warn("SKIPPED: hcloud-cli cannot be fetched here, so it was not tried against the double");
  }
  const { double } = await open("hetzner");
  const ids = ["rr-one", null, "rr-three"].map((label) => double.make(label).id);
  const env = { ...process.env, HCLOUD_ENDPOINT: double.url.replace(/\/$/, ""), HCLOUD_TOKEN: DOUBLE_KEY };
  const hcloud = async (...args: string[]) =>
    (await promisify(execFile)(join(folder, "usr/bin/hcloud"), args, { env })).stdout;
  const listed = await hcloud("server", "list", "-o", "noheader");
  expect(
    listed
      .trim()
      .split("\n")
      .map((line) => line.split(/\s+/).slice(0, 2)),
  ).toEqual([
    [ids[0], "rr-one"],
    [ids[1], "web-1"],
    [ids[2], "rr-three"],
  ]);
  expect(await hcloud("server", "describe", ids[2]!)).toMatch(/Name:\s+rr-three[\s\S]*ringrift: rr-three/);
  await hcloud("server", "delete", ids[0]!);
  expect([...double.machines.keys()]).toEqual(ids.slice(1));
});

/** Each variable of the fleet changes what it names: seen at the providers, the choice and the decisions that the program builds of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { typesIn } from "../../adapters/providers/runpod/runpod-provider.ts";
import { refusalOf } from "../../cluster/fleet/budget.ts";
import { whyNotOffer } from "../../cluster/fleet/choose.ts";
import { decideGrowth } from "../../cluster/fleet/units/provisioner/decide.ts";
import { systemClock } from "../../kernel/index.ts";
import { providersOf } from "../between-rooms/fleet.ts";
import { readSettings } from "./read.ts";
import { settingRows } from "./tree.ts";

type Environment = Readonly<Record<string, string>>;

const folder = mkdtempSync(join(tmpdir(), "ringrift-fleet-settings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const keyFile = join(folder, "key");
writeFileSync(keyFile, "a-key-of-an-account");
const inventoryFile = join(folder, "hosts.json");
const sshKeys = { identity_file: "key", known_hosts_file: "known" };
writeFileSync(inventoryFile, JSON.stringify({ ssh: sshKeys, hosts: [{ host: "192.0.2.1" }] }));

const fleetOf = (environment: Environment) => readSettings(environment, "/").fleet;
const names = (environment: Environment) =>
  providersOf(readSettings(environment, "/"), systemClock(), {}).map(({ name }) => name);
const offer = {
  ...{ provider: "p", offer_id: "o", region: "nbg1", cpus: 4, memory_gb: 8, gpus: 0, gpu_name: null },
  ...{ gpu_memory_gb: 0, price_usd_hour: 1, available: null },
};
const isTaken = (environment: Environment) => {
  const { minCpus, minGpus, maxPriceUsdHour, regions } = fleetOf(environment);
  return whyNotOffer(offer, { minCpus, minGpus, maxPriceUsdHour, regions, provider: null }, undefined, 0) === undefined;
};
const BUDGET = { RINGRIFT_FLEET_BUDGET_PER_HOUR: "5", RINGRIFT_FLEET_BUDGET_PER_DAY: "50" };
const refusal = (environment: Environment) => refusalOf([], 1, fleetOf({ ...BUDGET, ...environment }).budget, 0)?.code;
const growth = (environment: Environment, waiting = 0, sinceMs = 0) =>
  decideGrowth([], { waiting, free: 0, missingGpus: 0 }, fleetOf(environment), 0, sinceMs).count;
const LOCAL = { RINGRIFT_FLEET_LOCAL_MACHINES: "2" };
const localOffer = async (environment: Environment) => {
  const [local] = providersOf(readSettings({ ...LOCAL, ...environment }, "/"), systemClock(), {});
  return (await local!.offers(new AbortController().signal))[0]!;
};

interface Behaviour {
  readonly see: (environment: Environment) => unknown;
  readonly without: unknown;
  readonly set: string;
  readonly with: unknown;
}
const value = (see: Behaviour["see"], without: unknown, set: string, changed: unknown): Behaviour => ({
  ...{ see, without, set, with: changed },
});
const account = (name: string, more: Environment = {}): Behaviour =>
  value((environment) => names({ ...more, ...environment }), [], keyFile, [name]);
const address = (of: "hetzner" | "vast" | "runpod" | "lambda" | "nebius", without: string): Behaviour =>
  value((environment) => fleetOf(environment)[of].url, without, "http://127.0.0.1:1/", "http://127.0.0.1:1/");

const behaviours: Readonly<Record<string, Behaviour>> = {
  "fleet.ssh_inventory": value(names, [], inventoryFile, ["ssh"]),
  "fleet.slurm_folder": value(names, [], "/shared", ["slurm"]),
  "fleet.slurm_partitions": value((environment) => fleetOf(environment).slurm.partitions, [], "a,b", ["a", "b"]),
  "fleet.slurm_cpus": value((environment) => fleetOf(environment).slurm.cpus, 4, "8", 8),
  "fleet.slurm_time_limit": value((environment) => fleetOf(environment).slurm.limitMs, 0, "3600", 3_600_000),
  "fleet.budget_per_hour": value(refusal, undefined, "0.5", "BUDGET_HOUR"),
  "fleet.budget_per_day": value(refusal, undefined, "0", "BUDGET_NOT_SET"),
  "fleet.min": value((environment) => growth(environment), 0, "3", 3),
  "fleet.max": value((environment) => growth({ RINGRIFT_FLEET_MIN: "9", ...environment }), 9, "4", 4),
  "fleet.jobs_per_machine": value((environment) => growth(environment, 100, 1_000_000), 2, "10", 10),
  "fleet.grow_after": value((environment) => growth(environment, 100, 60_000), 0, "30", 2),
  "fleet.idle_after": value((environment) => fleetOf(environment).idleAfterMs, 900_000, "300", 300_000),
  "fleet.max_price": value(isTaken, true, "0.5", false),
  "fleet.min_cpus": value(isTaken, true, "8", false),
  "fleet.min_gpus": value(isTaken, true, "1", false),
  "fleet.regions": value(isTaken, true, "fsn1", false),
  "fleet.boot_time": value((environment) => fleetOf(environment).bootMs, 900_000, "60", 60_000),
  "fleet.dead_man": value((environment) => fleetOf(environment).deadManMs, 21_600_000, "3600", 3_600_000),
  "fleet.look_interval": value((environment) => fleetOf(environment).lookMs, 30_000, "5", 5_000),
  "fleet.program": value((environment) => fleetOf(environment).program, undefined, "mine@1.0.0", "mine@1.0.0"),
  "fleet.local_machines": value(names, [], "2", ["local"]),
  "fleet.local_slots": value(async (environment) => (await localOffer(environment)).cpus, 1, "3", 3),
  "fleet.local_price": value(async (environment) => (await localOffer(environment)).price_usd_hour, 0, "0.4", 0.4),
  "fleet.usd_per_eur": value((environment) => fleetOf(environment).usdPerEur, 1.25, "1.1", 1.1),
  "fleet.hetzner_key_file": account("hetzner"),
  "fleet.hetzner_url": address("hetzner", "https://api.hetzner.cloud/v1/"),
  "fleet.hetzner_image": value((environment) => fleetOf(environment).hetzner.image, "debian-12", "mine", "mine"),
  "fleet.vast_key_file": account("vast"),
  "fleet.vast_url": address("vast", "https://console.vast.ai/"),
  "fleet.vast_image": value((environment) => fleetOf(environment).vast.image, "node:24-bookworm", "mine", "mine"),
  "fleet.runpod_key_file": account("runpod"),
  "fleet.runpod_url": address("runpod", "https://rest.runpod.io/v1/"),
  "fleet.runpod_image": value((environment) => fleetOf(environment).runpod.image, "node:24-bookworm", "mine", "mine"),
  "fleet.runpod_types": value(
    (environment) => typesIn(fleetOf(environment).runpod.types),
    [],
    "NVIDIA_GeForce_RTX_4090:0.80,nothing",
    [{ name: "NVIDIA GeForce RTX 4090", priceUsdHour: 0.8 }],
  ),
  "fleet.nebius_key_file": account("nebius", { RINGRIFT_FLEET_NEBIUS_PROJECT: "project-e00abc" }),
  "fleet.nebius_url": address("nebius", "https://api.nebius.cloud/"),
  "fleet.nebius_project": value(
    (environment) => names({ RINGRIFT_FLEET_NEBIUS_KEY_FILE: keyFile, ...environment }),
    [],
    "project-e00abc",
    ["nebius"],
  ),
  "fleet.lambda_key_file": account("lambda", { RINGRIFT_FLEET_LAMBDA_SSH_KEY: "mine" }),
  "fleet.lambda_url": address("lambda", "https://cloud.lambda.ai/"),
  "fleet.lambda_ssh_key": value(
    (environment) => names({ RINGRIFT_FLEET_LAMBDA_KEY_FILE: keyFile, ...environment }),
    [],
    "mine",
    ["lambda"],
  ),
};

const rows = settingRows.filter(({ key }) => key in behaviours);

test("each of them is a setting, and changes something", () => {
  expect(rows.map(({ key }) => key).sort()).toEqual(Object.keys(behaviours).sort());
});

test.each(rows.map(({ key, variable }) => ({ key, variable })))("$key changes it", async ({ key, variable }) => {
  const { see, without, set, with: changed } = behaviours[key]!;
  expect(await see({})).toEqual(without);
  expect(await see({ [variable]: set })).toEqual(changed);
});

test("without a key, and without machines of its own, nobody is asked for anything", () => {
  expect(names({})).toEqual([]);
});

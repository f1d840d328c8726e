/** What operators may set of machines that are rented. Without a budget nothing is. */
import {
  decimal,
  line,
  name,
  path,
  type SettingValues,
  seconds,
  secretFile,
  tagList,
  url,
  whole,
} from "../../kernel/settings/index.ts";

const DAY_SECONDS = 86_400;

const price = (row: Omit<Parameters<typeof decimal>[0], "min" | "max" | "unit" | "default">) =>
  decimal({ min: 0, max: 1_000_000, unit: "USD", default: 0, ...row });

const key = (provider: string, variable: `RINGRIFT_${string}`, shown: string) =>
  secretFile({
    key: `fleet.${provider}_key_file`,
    variable,
    shown: "none: nothing is rented there",
    about: `File with the API key of ${shown}. The key stays in the coordinator's memory.`,
  });

const address = (provider: string, variable: `RINGRIFT_${string}`, shown: string, at: string) =>
  url({
    key: `fleet.${provider}_url`,
    variable,
    default: at,
    about: `Address of the API of ${shown}.`,
  });

export const fleetSettings = {
  budget: {
    usdPerHour: price({
      key: "fleet.budget_per_hour",
      variable: "RINGRIFT_FLEET_BUDGET_PER_HOUR",
      about: "What all rented machines together may cost in an hour. 0: nothing that costs money is rented.",
    }),
    usdPerDay: price({
      key: "fleet.budget_per_day",
      variable: "RINGRIFT_FLEET_BUDGET_PER_DAY",
      about:
        "What may be spent in a day (UTC). Before it is used up, machines are returned, the most expensive first. 0: nothing that costs money is rented.",
    }),
  },
  min: whole({
    key: "fleet.min",
    variable: "RINGRIFT_FLEET_MIN",
    min: 0,
    max: 1_000,
    unit: "machines",
    default: 0,
    about: "Rented machines that there should always be, as far as the budget allows. Idle ones above it are returned.",
  }),
  max: whole({
    key: "fleet.max",
    variable: "RINGRIFT_FLEET_MAX",
    min: 0,
    max: 1_000,
    unit: "machines",
    default: 10,
    about: "Rented machines that there may be at once.",
  }),
  jobsPerMachine: whole({
    key: "fleet.jobs_per_machine",
    variable: "RINGRIFT_FLEET_JOBS_PER_MACHINE",
    min: 0,
    max: 100_000,
    unit: "jobs",
    default: 50,
    about: "For each so many jobs that wait, one machine is rented. 0: machines are rented only if you ask for them.",
  }),
  growAfterMs: seconds({
    key: "fleet.grow_after",
    variable: "RINGRIFT_FLEET_GROW_AFTER",
    min: 0,
    max: DAY_SECONDS,
    default: 120,
    about: "Jobs must wait for so long before machines are rented for them.",
  }),
  idleAfterMs: seconds({
    key: "fleet.idle_after",
    variable: "RINGRIFT_FLEET_IDLE_AFTER",
    min: 1,
    max: 30 * DAY_SECONDS,
    default: 900,
    about: "A rented machine that had nothing to do for so long is returned.",
  }),
  maxPriceUsdHour: price({
    key: "fleet.max_price",
    variable: "RINGRIFT_FLEET_MAX_PRICE",
    about: "Machines that cost more in an hour are not rented. 0: the budget alone decides.",
  }),
  minCpus: whole({
    key: "fleet.min_cpus",
    variable: "RINGRIFT_FLEET_MIN_CPUS",
    min: 1,
    max: 4_096,
    unit: "CPUs",
    default: 1,
    about: "Machines with fewer CPUs are not rented.",
  }),
  minGpus: whole({
    key: "fleet.min_gpus",
    variable: "RINGRIFT_FLEET_MIN_GPUS",
    min: 0,
    max: 64,
    unit: "accelerators",
    default: 0,
    about: "Machines with fewer accelerators are not rented.",
  }),
  regions: tagList({
    key: "fleet.regions",
    variable: "RINGRIFT_FLEET_REGIONS",
    default: "",
    shown: "all",
    about: "Regions in which machines are rented, in the words of their providers.",
  }),
  bootMs: seconds({
    key: "fleet.boot_time",
    variable: "RINGRIFT_FLEET_BOOT_TIME",
    min: 5,
    max: DAY_SECONDS,
    default: 900,
    about: "A rented machine that has not joined after so long is returned.",
  }),
  deadManMs: seconds({
    key: "fleet.dead_man",
    variable: "RINGRIFT_FLEET_DEAD_MAN",
    min: 60,
    max: 30 * DAY_SECONDS,
    default: 6 * 3_600,
    about: "A rented node that has not heard its coordinator for so long ends itself.",
  }),
  lookMs: seconds({
    key: "fleet.look_interval",
    variable: "RINGRIFT_FLEET_LOOK_INTERVAL",
    min: 0.2,
    max: 3_600,
    default: 30,
    about: "How often providers are asked for their machines while the fleet has any.",
  }),
  program: line({
    key: "fleet.program",
    variable: "RINGRIFT_FLEET_PROGRAM",
    default: undefined,
    shown: "this version, from the npm registry",
    about:
      "What rented machines give to `npm install` for the program: a package, or the HTTPS address of what `npm pack` wrote.",
  }),
  local: {
    machines: whole({
      key: "fleet.local_machines",
      variable: "RINGRIFT_FLEET_LOCAL_MACHINES",
      min: 0,
      max: 64,
      unit: "processes",
      default: 0,
      about: "Nodes that may run as processes on this machine, for trying the fleet out. 0: none.",
    }),
    slots: whole({
      key: "fleet.local_slots",
      variable: "RINGRIFT_FLEET_LOCAL_SLOTS",
      min: 1,
      max: 1_024,
      unit: "slots",
      default: 1,
      about: "Jobs at once of each of these.",
    }),
    priceUsdHour: price({
      key: "fleet.local_price",
      variable: "RINGRIFT_FLEET_LOCAL_PRICE",
      about: "What an hour of each of these counts in the ledger.",
    }),
  },
  usdPerEur: decimal({
    key: "fleet.usd_per_eur",
    variable: "RINGRIFT_FLEET_USD_PER_EUR",
    min: 0.1,
    max: 10,
    unit: "USD",
    default: 1.25,
    about: "What a euro counts, for prices in euros. Set it rather too high than too low.",
  }),
  hetzner: {
    key: key("hetzner", "RINGRIFT_FLEET_HETZNER_KEY_FILE", "Hetzner Cloud"),
    url: address("hetzner", "RINGRIFT_FLEET_HETZNER_URL", "Hetzner Cloud", "https://api.hetzner.cloud/v1/"),
    image: line({
      key: "fleet.hetzner_image",
      variable: "RINGRIFT_FLEET_HETZNER_IMAGE",
      default: "debian-12",
      about: "Image of servers at Hetzner; its cloud-init starts the node.",
    }),
  },
  vast: {
    key: key("vast", "RINGRIFT_FLEET_VAST_KEY_FILE", "Vast.ai"),
    url: address("vast", "RINGRIFT_FLEET_VAST_URL", "Vast.ai", "https://console.vast.ai/"),
    image: line({
      key: "fleet.vast_image",
      variable: "RINGRIFT_FLEET_VAST_IMAGE",
      default: "node:24-bookworm",
      about: "Container image of instances at Vast.ai.",
    }),
  },
  runpod: {
    key: key("runpod", "RINGRIFT_FLEET_RUNPOD_KEY_FILE", "RunPod"),
    url: address("runpod", "RINGRIFT_FLEET_RUNPOD_URL", "RunPod", "https://rest.runpod.io/v1/"),
    image: line({
      key: "fleet.runpod_image",
      variable: "RINGRIFT_FLEET_RUNPOD_IMAGE",
      default: "node:24-bookworm",
      about: "Container image of pods at RunPod.",
    }),
    types: tagList({
      key: "fleet.runpod_types",
      variable: "RINGRIFT_FLEET_RUNPOD_TYPES",
      default: "",
      shown: "none: nothing is rented there",
      about:
        "Accelerators to rent at RunPod, each with the most that an hour may cost, as in NVIDIA_GeForce_RTX_4090:0.80: its API lists no prices.",
    }),
  },
  lambda: {
    key: key("lambda", "RINGRIFT_FLEET_LAMBDA_KEY_FILE", "Lambda"),
    url: address("lambda", "RINGRIFT_FLEET_LAMBDA_URL", "Lambda", "https://cloud.lambda.ai/"),
    sshKey: line({
      key: "fleet.lambda_ssh_key",
      variable: "RINGRIFT_FLEET_LAMBDA_SSH_KEY",
      default: undefined,
      shown: "none: nothing is rented there",
      about: "Name of the SSH key at Lambda with which instances are launched.",
    }),
  },
  nebius: {
    key: secretFile(
      {
        key: "fleet.nebius_key_file",
        variable: "RINGRIFT_FLEET_NEBIUS_KEY_FILE",
        shown: "none: nothing is shown of it",
        about:
          "File with the credentials of a service account of Nebius, as its own tools make it, or with an access token. It is only listed: offers, prices and machines.",
      },
      { isDocument: true },
    ),
    url: address("nebius", "RINGRIFT_FLEET_NEBIUS_URL", "Nebius", "https://api.nebius.cloud/"),
    project: name({
      key: "fleet.nebius_project",
      variable: "RINGRIFT_FLEET_NEBIUS_PROJECT",
      default: undefined,
      shown: "none: nothing is shown of it",
      about: "Id of the project at Nebius whose offers and machines are shown.",
    }),
  },
  ssh: {
    inventory: path("file", {
      key: "fleet.ssh_inventory",
      variable: "RINGRIFT_FLEET_SSH_INVENTORY",
      default: undefined,
      shown: "none: no hosts are used",
      about:
        "File with hosts that you reach over ssh, as for `ringrift deploy`. With it, each host can be a machine of the fleet.",
    }),
  },
  slurm: {
    folder: path("folder", {
      key: "fleet.slurm_folder",
      variable: "RINGRIFT_FLEET_SLURM_FOLDER",
      default: undefined,
      shown: "none: SLURM is not used",
      about: "Folder that the hosts of a SLURM cluster share with this machine. With it, jobs of SLURM become nodes.",
    }),
    partitions: tagList({
      key: "fleet.slurm_partitions",
      variable: "RINGRIFT_FLEET_SLURM_PARTITIONS",
      default: "",
      shown: "all",
      about: "Partitions of SLURM that may be used.",
    }),
    cpus: whole({
      key: "fleet.slurm_cpus",
      variable: "RINGRIFT_FLEET_SLURM_CPUS",
      min: 1,
      max: 1_024,
      unit: "processors",
      default: 4,
      about: "Processors of each job of SLURM, and jobs at once of its node.",
    }),
    limitMs: seconds({
      key: "fleet.slurm_time_limit",
      variable: "RINGRIFT_FLEET_SLURM_TIME_LIMIT",
      min: 0,
      max: 30 * DAY_SECONDS,
      default: 0,
      about: "Longest time of a job of SLURM. 0: as long as its partition allows.",
    }),
  },
};

export type FleetSettings = SettingValues<typeof fleetSettings>;

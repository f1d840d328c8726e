/** The adapter of SLURM before a real one: what every provider stands, and a job that becomes a node. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { slurmProvider } from "../../src/adapters/providers/slurm/slurm-provider.ts";
import { providerContract } from "../../src/cluster/fleet/provider.contract.ts";
import { patience } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { slurmCluster } from "../support/slurm.ts";

const own = owned();
const undo: (() => Promise<void>)[] = [];
let cluster: Awaited<ReturnType<typeof slurmCluster>>;
const signal = new AbortController().signal;
const folder = own.folder();

beforeAll(async () => {
  cluster = await slurmCluster(join(folder, "slurm"), (end) => undo.push(end));
}, patience(180_000));
afterAll(async () => {
  for (const end of undo) await end();
  await own.end();
});

const until = async (condition: () => Promise<boolean>): Promise<void> => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 200));
};

/** A provider whose nodes are a program that writes down how it was started, and stays. */
function open(name: string) {
  if (cluster === undefined) return undefined;
  const { env, ask } = cluster;
  const at = join(folder, name);
  mkdirSync(at, { recursive: true });
  const program = join(at, "program.sh");
  writeFileSync(program, '#!/bin/sh\nprintf "%s\\n" "$@" >> "$RINGRIFT_DATA_DIR/started"\nexec sleep 600\n', {
    mode: 0o755,
  });
  const provider = slurmProvider({
    ...{ folder: join(at, "fleet"), partitions: [], cpus: 1, limitMs: 0 },
    command: [program],
    env,
  });
  return {
    provider,
    at,
    start: {
      ...{ url: "https://coordinator:8770", fingerprint: "ab".repeat(32), token: "secret", tags: ["rented"] },
      ...{ deadManMs: 60_000, program: { install: "ringrift-coordination" } },
    },
    async exists(id: string) {
      return / (PENDING|RUNNING|COMPLETING)$/m.test(
        ask("squeue", "--noheader", "--states=all", "--array", "--format=%i %T")
          .split("\n")
          .filter((line) => line.startsWith(`${id} `))
          .join("\n"),
      );
    },
    until,
    async stranger() {
      return ask("sbatch", "--parsable", "--output=/dev/null", "--wrap=sleep 600", "--job-name=somebody else").trim();
    },
  };
}

providerContract("slurm", { open: async () => open("contract") });

test("a job is told where to join, waits anew when it is put back, and is gone when it is ended", {
  timeout: patience(120_000),
}, async () => {
  const world = open("node");
  if (world === undefined || cluster === undefined) return;
  const { provider, start, at } = world;
  const [offer] = await provider.offers(signal);
  const order = { label: "rr-one", offer: offer!, max_price_usd_hour: 0, start: { ...start, label: "rr-one" } };
  const { machine_id } = await provider.create(order, signal);
  const state = async () => (await provider.list(signal)).find((one) => one.machine_id === machine_id)?.state;
  const started = () => {
    try {
      return readFileSync(join(at, "fleet", "rr-one", "data", "started"), "utf8").split("\n");
    } catch {
      return [];
    }
  };
  await until(async () => started().length > 1);
  expect(started().slice(0, -1)).toEqual([
    ...["join", "https://coordinator:8770", "--label", "rr-one", "--slots", "1"],
    ...["--fingerprint", "ab".repeat(32), "--token-file", join(at, "fleet", "rr-one", "join-token")],
  ]);
  expect(await state()).toBe("running");
  // Put back into the queue it waits there, as the same job.
  await provider.reboot!(machine_id, signal);
  await until(async () => (await state()) === "starting");
  await provider.terminate(machine_id, signal);
  await until(async () => (await state()) === "gone");
  await expect(provider.terminate("not a job", signal)).rejects.toMatchObject({ code: "PROVIDER_REFUSED" });
});

/** A real SLURM: many jobs at once beside an array of somebody else, jobs that are put back, and a host that is lost and comes back. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { slurmProvider } from "../../src/adapters/providers/slurm/slurm-provider.ts";
import { owned } from "../support/process.ts";
import { slurmCluster } from "../support/slurm.ts";

export interface SlurmOptions {
  readonly jobs?: number;
  /** Whether the host is taken away: SLURM waits for it for some time. */
  readonly loseHost?: boolean;
}
export const tiny: SlurmOptions = { jobs: 2, loseHost: false };

const LATE_MS = 300_000;

export async function run({ jobs = 8, loseHost = true }: SlurmOptions = {}) {
  const ends: (() => Promise<void>)[] = [];
  await using own = owned();
  try {
    const folder = own.folder();
    const cluster = await slurmCluster(join(folder, "slurm"), (end) => ends.push(end));
    if (cluster === undefined) return { skipped: "no SLURM here" };
    const program = join(folder, "program.sh");
    writeFileSync(program, '#!/bin/sh\necho start >> "$RINGRIFT_DATA_DIR/started"\nexec sleep 3600\n', { mode: 0o755 });
    mkdirSync(join(folder, "fleet"));
    const provider = slurmProvider({
      ...{
        folder: join(folder, "fleet"),
        partitions: ["main"],
        cpus: 1,
        limitMs: 0,
      },
      ...{ command: [program], env: cluster.env },
    });
    const { signal } = new AbortController();
    const until = async (what: string, holds: () => Promise<boolean>) => {
      for (const begun = Date.now(); !(await holds()); await new Promise((resolve) => setTimeout(resolve, 300)))
        if (Date.now() - begun > LATE_MS) throw new Error(`${what} did not come about`);
    };
    const stateOf = async (id: string) => (await provider.list(signal)).find((one) => one.machine_id === id)?.state;
    const array = cluster.ask("sbatch", "--parsable", "--array=1-3", "--output=/dev/null", "--wrap=sleep 2").trim();
    const [offer] = await provider.offers(signal);
    const made: Awaited<ReturnType<typeof provider.create>>[] = [];
    for (let n = 0; n < jobs; n += 1) {
      const label = `rr-${n}`;
      const start = {
        ...{ url: "https://c:8770", fingerprint: null, token: "t", tags: [], deadManMs: 60_000, label },
        program: { install: "ringrift-coordination" },
      };
      made.push(await provider.create({ label, offer: offer!, max_price_usd_hour: 0, start }, signal));
    }
    const [first] = made as [(typeof made)[number], ...typeof made];
    await until("the first job", async () => (await stateOf(first.machine_id)) === "running");
    await until("the end of the array of another", async () =>
      (await provider.list(signal))
        .filter(({ machine_id }) => machine_id.startsWith(`${array}_`))
        .every(({ state }) => state === "gone"),
    );
    const starts = () => readFileSync(join(folder, "fleet", "rr-0", "data", "started"), "utf8").split("\n").length - 1;
    const endAll = async (some: typeof made) => {
      for (const { machine_id } of some) await provider.terminate(machine_id, signal);
      for (const { machine_id } of some)
        await until("the end", async () => ["gone", undefined].includes(await stateOf(machine_id)));
    };
    let lostHost = false;
    if (loseHost) {
      // Those that wait would have its place: SLURM lets a job that was put back wait for two minutes.
      await endAll(made.slice(1));
      const before = starts();
      await cluster.hostDown();
      await until("that the loss is noticed", async () => (await stateOf(first.machine_id)) !== "running");
      cluster.hostUp();
      await until("a start after the loss", async () => starts() > before);
      lostHost = true;
    }
    await endAll(made);
    return { jobs, starts: starts(), lost_host: lostHost };
  } finally {
    for (const end of ends) await end();
  }
}

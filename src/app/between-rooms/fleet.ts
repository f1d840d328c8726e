/** The fleet put together: its providers, and what it needs of the other rooms. */
import { mkdtempSync } from "node:fs";
import { tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readInventory } from "../../adapters/deploy/inventory.ts";
import { makeRelease } from "../../adapters/deploy/release.ts";
import { openSshSession } from "../../adapters/deploy/ssh-session.ts";
import {
  hetznerProvider,
  lambdaProvider,
  localProvider,
  nebiusHosts,
  nebiusProvider,
  runPodProvider,
  slurmProvider,
  sshProvider,
  vastProvider,
} from "../../adapters/providers/index.ts";
import {
  createFleetServices,
  type FleetServices,
  type FleetSurroundings,
  type Invitation,
  type MachineProvider,
} from "../../cluster/fleet/index.ts";
import type { ClusterServices } from "../../cluster/index.ts";
import { type Clock, type Environment, type Guard, moduleBeside, OperatingError } from "../../kernel/index.ts";
import { plannedJobs } from "../../pipeline/index.ts";
import type { WorkServices } from "../../work/index.ts";
import { candidateOf } from "../causes/facts.ts";
import { packedProgram } from "../packed-program.ts";
import type { Settings } from "../settings.ts";
import { guardedProvider } from "./outside-acts.ts";

/** The accounts and machines that the settings open. Without a key nothing is asked. */
export function providersOf(
  { fleet, dataDir, configFile }: Pick<Settings, "fleet" | "dataDir" | "configFile">,
  clock: Clock,
  env: Environment,
): MachineProvider[] {
  const { local, hetzner, vast, runpod, lambda, nebius, slurm, ssh, usdPerEur, regions } = fleet;
  const program = fileURLToPath(moduleBeside(import.meta.url, "../cli"));
  const found: MachineProvider[] = [];
  if (local.machines > 0)
    found.push(
      localProvider({
        folder: join(dataDir, "fleet"),
        command: [process.execPath, program, ...(configFile === undefined ? [] : ["--config", configFile])],
        env,
        max: local.machines,
        slots: local.slots,
        priceUsdHour: local.priceUsdHour,
        memoryGb: Math.floor(totalmem() / 1e9),
        clock,
      }),
    );
  if (hetzner.key !== undefined) found.push(hetznerProvider({ ...hetzner, key: hetzner.key, usdPerEur, clock }));
  if (vast.key !== undefined) found.push(vastProvider({ ...vast, key: vast.key, clock }));
  if (runpod.key !== undefined) found.push(runPodProvider({ ...runpod, key: runpod.key, regions, clock }));
  if (lambda.key !== undefined && lambda.sshKey !== undefined)
    found.push(lambdaProvider({ url: lambda.url, key: lambda.key, sshKey: lambda.sshKey, clock }));
  if (nebius.key !== undefined && nebius.project !== undefined)
    found.push(nebiusProvider({ hosts: nebiusHosts(nebius.url), key: nebius.key, project: nebius.project, clock }));
  if (ssh.inventory !== undefined) {
    const scratch = join(dataDir, "fleet-ssh");
    found.push(
      sshProvider({
        inventory: readInventory(ssh.inventory),
        open: (host) => openSshSession(host, { ssh: "ssh", rsync: "rsync" }, scratch),
        release: async () => makeRelease(packedProgram(), mkdtempSync(join(tmpdir(), "ringrift-release-"))),
      }),
    );
  }
  if (slurm.folder !== undefined) {
    const { folder, partitions, cpus, limitMs } = slurm;
    found.push(slurmProvider({ folder, partitions, cpus, limitMs, command: [process.execPath, program], env }));
  }
  return found;
}

type Around = Pick<FleetSurroundings, "store" | "clock" | "random" | "log"> & {
  readonly settings: Settings;
  readonly cluster: Pick<ClusterServices, "nodes">;
  readonly work: Pick<WorkServices, "queue" | "desk">;
  /** Files that lie nowhere but on this node. */
  readonly aloneOn: (nodeId: string) => Promise<number>;
  /** Asked before machines are rented or ended. */
  readonly guard?: Guard | undefined;
};

const MAX_WAITING = 100_000;

/** Where the surface says how one joins; before it is open nobody can. */
export interface FleetDoor {
  invite: FleetSurroundings["invite"] | undefined;
}

export function createFleet(around: Around): { readonly fleet: FleetServices; readonly door: FleetDoor } {
  const door: FleetDoor = { invite: undefined };
  const { settings, cluster, work, aloneOn, clock } = around;
  const { queue, desk } = work;
  const fleet = createFleetServices({
    ...around,
    settings: settings.fleet,
    providers: providersOf(settings, clock, process.env).map((one) => guardedProvider(around.guard, one)),
    nodes: () =>
      cluster.nodes.list().map(({ node_id, joined_by, state, state_since, draining }) => ({
        node_id,
        joined_by,
        state,
        state_since,
        draining,
      })),
    drain: async (nodeId, reason) =>
      void (await cluster.nodes.cordon(nodeId, { reason, by: "idle_shutdown", drain: true })),
    async burden(nodeId) {
      const view = cluster.nodes.view(cluster.nodes.find(nodeId));
      return {
        held: queue.held(nodeId).length,
        fitting: queue.fittingFor(candidateOf(view, queue)),
        alone: await aloneOn(nodeId),
        unsent: (view.spool?.waiting ?? 0) + (view.outbox?.waiting ?? 0),
      };
    },
    demand() {
      const { slots, wanted_slots: wanted, errors } = queue.loadForecast(plannedJobs(around.store));
      const foreseen = { slots, wanted, error: errors[0]?.error ?? null };
      return { waiting: queue.claimable(MAX_WAITING), free: desk.freeSlots, foreseen };
    },
    games: async (nodeId) => (await queue.figures(nodeId)).games,
    mix: () => queue.workByKind(),
    pace: (nodeId, kind) => queue.pace(nodeId, kind),
    async invite(label, expiresMs): Promise<Invitation> {
      if (door.invite === undefined)
        throw OperatingError.unavailable("API_NOT_READY", "nodes cannot join yet: the API is not open");
      return door.invite(label, expiresMs);
    },
  });
  return { fleet, door };
}

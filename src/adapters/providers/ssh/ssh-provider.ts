/**
 * Machines that are there already, reached over ssh: each host of an inventory can be one machine of the fleet. Its folder on the host,
 * `<folder>/fleet/<label>`, bears the label; what runs there is a release as `ringrift deploy` brings it. They cost nothing; whoever
 * returns one has its node ended and its folder taken away, and the host is free again.
 */
import {
  type Machine,
  type MachineOffer,
  type MachineOrder,
  type MachineProvider,
  providerErrors,
} from "../../../cluster/fleet/index.ts";
import { isOperatingError, messageOf } from "../../../kernel/index.ts";
import type { DeployHost, Inventory } from "../../deploy/inventory.ts";
import type { Release } from "../../deploy/release.ts";
import { ACTIVATE, END_NODE, JOIN, PREPARE, RESTART_NODE, SETTLE, SHOW_FLEET } from "../../deploy/scripts.ts";
import type { SshSession } from "../../deploy/ssh-session.ts";

export interface SshProviderOptions {
  readonly inventory: Pick<Inventory, "hosts">;
  readonly open: (host: DeployHost) => SshSession;
  /** What is brought to a host; made when the first one needs it. */
  readonly release: () => Promise<Release>;
}

const NAME = "ssh";
const LABEL = /^[\w-][\w.-]{0,99}$/;

interface SeenHost {
  readonly cpus: number;
  readonly memoryGb: number;
  readonly machines: readonly Machine[];
}

const idOf = (host: DeployHost, label: string): string => `${host.label}:${label}`;

/** `cpus 8`, `memory 16384000`, `machine <label> running`: what a host says of itself. */
function seenIn(text: string, host: DeployHost): SeenHost {
  const lines = text.split("\n").map((line) => line.trim().split(" "));
  const numberOf = (key: string) => Number(lines.find(([name]) => name === key)?.[1] ?? 0);
  const cpus = numberOf("cpus");
  const memoryKb = numberOf("memory");
  if (!Number.isSafeInteger(cpus) || cpus < 1 || !Number.isFinite(memoryKb) || memoryKb < 0)
    throw providerErrors.answerInvalid(NAME, `${host.host} says of itself what we cannot read`);
  const machines = lines.flatMap(([key, label = "", said = ""]): Machine[] => {
    if (key !== "machine" || !LABEL.test(label)) return [];
    const state = said === "running" ? "running" : said === "stopped" ? "stopped" : "unknown";
    return [{ machine_id: idOf(host, label), label, state, said, price_usd_hour: 0, address: host.host }];
  });
  return { cpus: host.slots ?? cpus, memoryGb: Math.floor(memoryKb / 1e6), machines };
}

const isRefusal = (thrown: unknown): boolean =>
  isOperatingError(thrown, "HOST_UNTRUSTED") || isOperatingError(thrown, "HOST_REFUSED");

/** What a node is told by its environment; its values are checked where they come from. */
const environmentOf = (host: DeployHost, { start: { tags, deadManMs } }: MachineOrder, slots: number): string =>
  [
    "# Written by the fleet.",
    `RINGRIFT_WORKER_SLOTS=${slots}`,
    `RINGRIFT_WORKER_TAGS=${[...new Set([...host.tags, ...tags])].join(",")}`,
    `RINGRIFT_WORKER_DEAD_MAN=${Math.round(deadManMs / 1_000)}`,
  ].join("\n");

export function sshProvider({ inventory: { hosts }, open, release }: SshProviderOptions): MachineProvider {
  /** What each host showed last: one that does not answer now has not lost its machine. */
  const last = new Map<DeployHost, SeenHost>();
  let made: Promise<Release> | undefined;

  const run = (host: DeployHost, label: string, script: string, lines: readonly string[], signal: AbortSignal) =>
    open(host).run(script, [`${host.folder}/fleet/${label}`, ...lines], signal);
  const look = async (host: DeployHost, signal: AbortSignal): Promise<SeenHost> => {
    const seen = seenIn(await open(host).run(SHOW_FLEET, [host.folder], signal), host);
    last.set(host, seen);
    return seen;
  };
  const hostOf = (machineId: string) => {
    const [name, label = ""] = machineId.split(":");
    const host = hosts.find((each) => each.label === name);
    return host === undefined || !LABEL.test(label) ? undefined : { host, label };
  };

  const listOf = async (host: DeployHost, signal: AbortSignal): Promise<readonly Machine[]> => {
    try {
      return (await look(host, signal)).machines;
    } catch (thrown) {
      signal.throwIfAborted();
      if (isRefusal(thrown)) throw providerErrors.denied(NAME, messageOf(thrown), { cause: thrown });
      const before = last.get(host);
      if (before === undefined) throw providerErrors.unavailable(NAME, messageOf(thrown), { cause: thrown });
      return before.machines.map((machine) => ({ ...machine, state: "unknown", said: "it does not answer" }));
    }
  };

  /** From here on something may be on the host. */
  const install = async (host: DeployHost, order: MachineOrder, slots: number, signal: AbortSignal): Promise<void> => {
    const { label, start } = order;
    made ??= release();
    made.catch(() => {
      made = undefined;
    });
    const { id, folder } = await made;
    const on = (script: string, ...lines: readonly string[]) => run(host, label, script, lines, signal);
    await on(PREPARE, id);
    await open(host).copy(folder, `${host.folder}/fleet/${label}/releases/${id}.part`, signal);
    await on(SETTLE, id, environmentOf(host, order, slots));
    await on(JOIN, id, start.url, start.label, start.fingerprint ?? "", start.token);
    await on(ACTIVATE, id);
  };

  return {
    name: NAME,
    isRemote: true,
    billingStepMs: 1_000,
    async offers(signal) {
      const found = await Promise.all(
        hosts.map(async (host): Promise<MachineOffer[]> => {
          try {
            const { cpus, memoryGb, machines } = await look(host, signal);
            if (machines.length > 0) return [];
            const size = { cpus, memory_gb: memoryGb, gpus: 0, gpu_name: null, gpu_memory_gb: 0 };
            return [{ offer_id: host.label, region: null, ...size, price_usd_hour: 0, available: 1 }];
          } catch {
            signal.throwIfAborted();
            // The others are there all the same; `list` tells of this one.
            return [];
          }
        }),
      );
      return found.flat();
    },
    async list(signal) {
      signal.throwIfAborted();
      return (await Promise.all(hosts.map((host) => listOf(host, signal)))).flat();
    },
    async create(order, signal) {
      const host = hosts.find(({ label }) => label === order.offer.offer_id);
      if (host === undefined || !LABEL.test(order.label))
        throw providerErrors.refused(NAME, `'${order.offer.offer_id}' is no host of the inventory`);
      let seen: SeenHost;
      try {
        seen = await look(host, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        throw isRefusal(thrown)
          ? providerErrors.denied(NAME, messageOf(thrown), { cause: thrown })
          : providerErrors.soldOut(NAME, messageOf(thrown), { cause: thrown });
      }
      if (seen.machines.length > 0) throw providerErrors.soldOut(NAME, `${host.host} is in use`);
      try {
        await install(host, order, seen.cpus, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        const said = messageOf(thrown);
        throw providerErrors.unavailable(NAME, said, { cause: thrown, machineId: idOf(host, order.label) });
      }
      const about = { price_usd_hour: 0, address: host.host, said: "running" };
      return { machine_id: idOf(host, order.label), label: order.label, state: "starting", ...about };
    },
    async terminate(machineId, signal) {
      signal.throwIfAborted();
      const found = hostOf(machineId);
      if (found === undefined) return;
      try {
        await run(found.host, found.label, END_NODE, [], signal);
      } catch (thrown) {
        signal.throwIfAborted();
        throw isRefusal(thrown)
          ? providerErrors.denied(NAME, messageOf(thrown), { cause: thrown })
          : providerErrors.unavailable(NAME, messageOf(thrown), { cause: thrown });
      }
    },
    async reboot(machineId, signal) {
      const found = hostOf(machineId);
      if (found === undefined) throw providerErrors.notFound(NAME, `there is no machine ${machineId}`);
      await run(found.host, found.label, RESTART_NODE, [], signal);
    },
  };
}

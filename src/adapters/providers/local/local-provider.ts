/**
 * Machines that are processes on this machine: each has a folder of its own, joins like any other, and outlives the process that started
 * it. For trying the fleet out, and for the tests that use no double.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  type Machine,
  type MachineOffer,
  type MachineOrder,
  type MachineProvider,
  providerErrors,
} from "../../../cluster/fleet/index.ts";
import { type Clock, type Environment, sleep, systemCode } from "../../../kernel/index.ts";
import { isAlive, startTimeOf } from "./process-identity.ts";

export interface LocalProviderOptions {
  /** Holds a folder for each machine. */
  readonly folder: string;
  /** What `ringrift` is here: the program and its first arguments. */
  readonly command: readonly [string, ...string[]];
  readonly env: Environment;
  /** Machines that there may be. */
  readonly max: number;
  readonly slots: number;
  readonly priceUsdHour: number;
  readonly memoryGb: number;
  readonly clock: Clock;
}

const NAME = "local";
const MACHINE_FILE = "machine.json";
const TOKEN_FILE = "join-token";
const END_MS = 20_000;
const LOOK_MS = 50;
const LABEL = /^[\w.-]{1,64}$/;

const machineFile = z.object({
  label: z.string().regex(LABEL),
  pid: z.int().positive().nullable(),
  /** When the process began, as the system counts it: a number that is used again is another process. */
  started: z.string().nullable(),
  ending: z.boolean(),
  url: z.string(),
  fingerprint: z.string().nullable(),
  tags: z.array(z.string()),
  dead_man_seconds: z.number(),
});
type MachineFile = z.output<typeof machineFile>;

/** Settings of the coordinator are none of the node's: not its ports, not its folders, and above all not where its keys lie. */
const bareEnv = (env: LocalProviderOptions["env"]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith("RINGRIFT_"),
    ),
  );

export function localProvider(options: LocalProviderOptions): MachineProvider {
  const { folder, command, env, max, slots, priceUsdHour, memoryGb, clock } = options;
  const at = (label: string, ...rest: string[]) => join(folder, label, ...rest);

  const read = async (label: string): Promise<MachineFile | undefined> => {
    try {
      return machineFile.parse(JSON.parse(await readFile(at(label, MACHINE_FILE), "utf8")));
    } catch (thrown) {
      // A folder without its file was being made when somebody died; or it is just going.
      if (systemCode(thrown) === "ENOENT") return undefined;
      throw providerErrors.answerInvalid(NAME, `${at(label, MACHINE_FILE)} cannot be read`, { cause: thrown });
    }
  };
  const keep = async (machine: MachineFile): Promise<void> => {
    const path = at(machine.label, MACHINE_FILE);
    await writeFile(`${path}.new`, `${JSON.stringify(machine)}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  };
  const labels = async (): Promise<string[]> => {
    try {
      const entries = await readdir(folder, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory() && LABEL.test(entry.name)).map(({ name }) => name);
    } catch (thrown) {
      if (systemCode(thrown) === "ENOENT") return [];
      throw providerErrors.unavailable(NAME, "the folder of its machines cannot be read", { cause: thrown });
    }
  };

  const shown = (label: string, machine: MachineFile | undefined): Machine => {
    const runs = machine !== undefined && machine.pid !== null && isAlive(machine.pid, machine.started);
    const state = machine === undefined ? "starting" : machine.ending ? "ending" : runs ? "running" : "stopped";
    return { machine_id: label, label, state, said: state, price_usd_hour: priceUsdHour, address: "127.0.0.1" };
  };

  /** Starts the node in its folder; with a token it joins first. */
  const start = async (machine: MachineFile, withToken: boolean): Promise<MachineFile> => {
    const { label, url, fingerprint, tags, dead_man_seconds } = machine;
    const [program, ...first] = command;
    const args = [
      ...first,
      ...["--data-dir", at(label, "data"), "join", url, "--label", label, "--slots", String(slots)],
      ...(fingerprint === null ? [] : ["--fingerprint", fingerprint]),
      ...(withToken ? ["--token-file", at(label, TOKEN_FILE)] : []),
    ];
    const output = openSync(at(label, "output.log"), "a", 0o600);
    try {
      const child = spawn(program, args, {
        cwd: at(label),
        detached: true,
        stdio: ["ignore", output, output],
        env: {
          ...bareEnv(env),
          RINGRIFT_WORKER_TAGS: tags.join(","),
          RINGRIFT_WORKER_CPUS: String(slots),
          RINGRIFT_WORKER_DEAD_MAN: String(dead_man_seconds),
        },
      });
      const begun = Promise.withResolvers<void>();
      child.once("spawn", () => begun.resolve());
      child.once("error", (cause) =>
        begun.reject(providerErrors.refused(NAME, "no process could be started", { cause })),
      );
      await begun.promise;
      child.unref();
      const started = { ...machine, pid: child.pid!, started: startTimeOf(child.pid!) };
      await keep(started);
      return started;
    } finally {
      closeSync(output);
    }
  };

  const end = async ({ pid, started }: MachineFile, signal: AbortSignal): Promise<void> => {
    if (pid === null) return;
    const tell = (how: NodeJS.Signals) => {
      try {
        if (isAlive(pid, started)) process.kill(pid, how);
      } catch (thrown) {
        if (systemCode(thrown) !== "ESRCH") throw thrown;
      }
    };
    tell("SIGTERM");
    const untilMs = clock.monotonic() + END_MS;
    while (isAlive(pid, started) && clock.monotonic() < untilMs) await sleep(clock, LOOK_MS, signal);
    tell("SIGKILL");
    while (isAlive(pid, started)) await sleep(clock, LOOK_MS, signal);
  };

  return {
    name: NAME,
    isRemote: false,
    billingStepMs: 1_000,
    async offers() {
      const offer: MachineOffer = {
        offer_id: "process",
        region: null,
        cpus: slots,
        memory_gb: memoryGb,
        gpus: 0,
        gpu_name: null,
        gpu_memory_gb: 0,
        price_usd_hour: priceUsdHour,
        available: Math.max(0, max - (await labels()).length),
      };
      return [offer];
    },
    async list(signal) {
      signal.throwIfAborted();
      const found = [];
      for (const label of await labels()) found.push(shown(label, await read(label)));
      return found;
    },
    async create({ label, start: order, max_price_usd_hour }: MachineOrder, signal) {
      signal.throwIfAborted();
      if (!LABEL.test(label)) throw providerErrors.refused(NAME, "the label is no name of a folder");
      if (priceUsdHour > max_price_usd_hour) throw providerErrors.refused(NAME, "it costs more by now");
      if ((await labels()).length >= max) throw providerErrors.soldOut(NAME, `there are ${max} processes already`);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      try {
        await mkdir(at(label), { mode: 0o700 });
      } catch (cause) {
        if (systemCode(cause) === "EEXIST") throw providerErrors.unavailable(NAME, "it was made before", { cause });
        throw providerErrors.refused(NAME, "its folder cannot be made", { cause });
      }
      const { url, fingerprint, tags, deadManMs, token } = order;
      const machine: MachineFile = {
        label,
        pid: null,
        started: null,
        ending: false,
        url,
        fingerprint,
        tags: [...tags],
        dead_man_seconds: deadManMs / 1_000,
      };
      await writeFile(at(label, TOKEN_FILE), token, { mode: 0o600 });
      await keep(machine);
      return shown(label, await start(machine, true));
    },
    async terminate(machineId, signal) {
      signal.throwIfAborted();
      if (!LABEL.test(machineId)) return;
      const machine = await read(machineId);
      if (machine !== undefined) {
        if (!machine.ending) await keep({ ...machine, ending: true });
        await end(machine, signal);
      }
      await rm(at(machineId), { recursive: true, force: true });
    },
    async reboot(machineId, signal) {
      const machine = LABEL.test(machineId) ? await read(machineId) : undefined;
      if (machine === undefined) throw providerErrors.notFound(NAME, `there is no machine ${machineId}`);
      await end(machine, signal);
      await start(machine, false);
    },
  };
}

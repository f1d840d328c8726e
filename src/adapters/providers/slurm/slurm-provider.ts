/**
 * Machines that are jobs of a SLURM cluster: each runs a node until it is cancelled, its time is over, or its host goes. The job's name is
 * the label. It is asked by the programs of SLURM, with arguments and never through a shell; what a node needs lies in a folder that the
 * hosts of the cluster share with us. A job that SLURM puts back into its queue starts as the same node, since its key lies there.
 */
import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Machine, type MachineOrder, type MachineProvider, providerErrors } from "../../../cluster/fleet/index.ts";
import type { Environment } from "../../../kernel/index.ts";
import { machinesOf, offersOf, PARTITION_FORMAT } from "./slurm-text.ts";

export interface SlurmProviderOptions {
  /** On a disk that the hosts of the cluster share with us. */
  readonly folder: string;
  /** Partitions that may be used; all unless named. */
  readonly partitions: readonly string[];
  /** Processors of each job, and the longest time that it may run; 0: as long as the partition allows. */
  readonly cpus: number;
  readonly limitMs: number;
  /** What `ringrift` is on the hosts of the cluster: a program and its first arguments. */
  readonly command: readonly [string, ...string[]];
  /** Where the programs of SLURM are, and what they need. */
  readonly env: Environment;
}

const NAME = "slurm";
const LABEL = /^[\w.-]{1,64}$/;
const JOB_ID = /^\d{1,10}(_\d{1,10})?$/;
const PARTITION = /^[\w.-]{1,64}$/;
const MAX_PRINTED = 16 * 1_024 * 1_024;
const ASK_MS = 60_000;

/**
 * What a job runs: a constant. Its one argument is the folder of the machine; what it works on are lines of a file there. The token is good
 * for one machine, and is left alone once it has joined: a job that begins anew goes on as the node that it is.
 */
const SCRIPT = `#!/bin/sh
set -eu
D="$1"
{ IFS= read -r URL; IFS= read -r PRINT; IFS= read -r LABEL; IFS= read -r SLOTS; IFS= read -r TAGS; IFS= read -r DEAD; } < "$D/start"
export RINGRIFT_DATA_DIR="$D/data" RINGRIFT_WORKER_TAGS="$TAGS" RINGRIFT_WORKER_CPUS="$SLOTS" RINGRIFT_WORKER_DEAD_MAN="$DEAD"
unset RINGRIFT_CONFIG RINGRIFT_TOKEN || true
set --
while IFS= read -r ARG; do set -- "$@" "$ARG"; done < "$D/command"
set -- "$@" join "$URL" --label "$LABEL" --slots "$SLOTS"
[ -z "$PRINT" ] || set -- "$@" --fingerprint "$PRINT"
[ ! -f "$D/join-token" ] || [ -f "$D/data/node/node.json" ] || set -- "$@" --token-file "$D/join-token"
exec "$@"
`;

interface Printed {
  readonly code: number | null;
  readonly out: string;
  readonly said: string;
}

export function slurmProvider(options: SlurmProviderOptions): MachineProvider {
  const { folder, partitions, cpus, limitMs, command, env } = options;

  const ask = async (program: string, args: readonly string[], signal: AbortSignal): Promise<Printed> => {
    signal.throwIfAborted();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]);
    const child = spawn(program, args, {
      env: { ...bareEnv(env), LC_ALL: "C", SLURM_TIME_FORMAT: "standard" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [out, said] = ["", ""];
    let isTooLong = false;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      isTooLong ||= out.length + text.length > MAX_PRINTED;
      if (!isTooLong) out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = `${said}${text}`.slice(-4_000);
    });
    const stop = () => child.kill("SIGKILL");
    limit.addEventListener("abort", stop, { once: true });
    try {
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", resolve);
      });
      signal.throwIfAborted();
      if (limit.aborted) throw providerErrors.unavailable(NAME, `${program} did not answer within ${ASK_MS / 1_000} s`);
      if (isTooLong) throw providerErrors.answerInvalid(NAME, `${program} printed more than 16 MB`);
      return { code, out, said: said.trim() };
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
      throw providerErrors.refused(NAME, `${program} is not installed here`, { cause });
    } finally {
      limit.removeEventListener("abort", stop);
    }
  };
  const failed = (what: string, { said, code }: Printed) =>
    /Access\/permission denied|Invalid account|Invalid user/i.test(said)
      ? providerErrors.denied(NAME, `${what}: ${said}`)
      : providerErrors.unavailable(NAME, `${what}: ${said || `it ended with ${code}`}`);

  const list = async (signal: AbortSignal): Promise<readonly Machine[]> => {
    const printed = await ask("scontrol", ["--oneliner", "show", "job"], signal);
    if (printed.code !== 0) throw failed("scontrol show job", printed);
    const machines = machinesOf(printed.out);
    if (machines === undefined) throw providerErrors.answerInvalid(NAME, "scontrol printed what we cannot read");
    return machines;
  };

  const write = async ({ label, start }: MachineOrder): Promise<string> => {
    const at = join(folder, label);
    const { url, fingerprint, tags, deadManMs, token } = start;
    const lines = [url, fingerprint ?? "", start.label, String(cpus), tags.join(","), String(deadManMs / 1_000)];
    if ([...lines, ...command].some((line) => /[\n\0]/.test(line)))
      throw providerErrors.refused(NAME, "what the node is to be told has more than one line");
    await mkdir(join(at, "data"), { recursive: true, mode: 0o700 });
    await writeFile(join(folder, "node.sh"), SCRIPT, { mode: 0o700 });
    await writeFile(join(at, "start"), `${lines.join("\n")}\n`, { mode: 0o600 });
    await writeFile(join(at, "command"), `${command.join("\n")}\n`, { mode: 0o600 });
    await writeFile(join(at, "join-token"), token, { mode: 0o600 });
    return at;
  };

  return {
    name: NAME,
    isRemote: true,
    billingStepMs: 1_000,
    async offers(signal) {
      const printed = await ask("sinfo", ["--noheader", "--format", PARTITION_FORMAT], signal);
      if (printed.code !== 0) throw failed("sinfo", printed);
      const offers = offersOf(printed.out, cpus);
      if (offers === undefined) throw providerErrors.answerInvalid(NAME, "sinfo printed what we cannot read");
      return offers.filter(({ offer_id }) => partitions.length === 0 || partitions.includes(offer_id));
    },
    list,
    async create(order, signal) {
      const { label, offer } = order;
      if (!LABEL.test(label)) throw providerErrors.refused(NAME, "the label is no name of a job");
      if (!PARTITION.test(offer.offer_id)) throw providerErrors.refused(NAME, "the offer names no partition");
      signal.throwIfAborted();
      const at = await write(order);
      const asked = [
        "--parsable",
        `--job-name=${label}`,
        `--partition=${offer.offer_id}`,
        "--nodes=1",
        "--ntasks=1",
        `--cpus-per-task=${cpus}`,
        ...(limitMs > 0 ? [`--time=${Math.max(1, Math.ceil(limitMs / 60_000))}`] : []),
        "--requeue",
        "--open-mode=append",
        // Its own process is told to end first, and has KillWait for it.
        `--output=${join(at, "output.log")}`,
        `--chdir=${at}`,
        join(folder, "node.sh"),
        at,
      ];
      const printed = await ask("sbatch", asked, signal);
      const id = /^(\d{1,10})(;[\w.-]+)?$/m.exec(printed.out.trim())?.[1];
      if (printed.code === 0 && id !== undefined)
        return {
          ...{ machine_id: id, label, state: "starting", said: "PENDING" },
          ...{ price_usd_hour: 0, address: null },
        };
      // What sbatch refuses it has not made; what it did not answer may be in the queue.
      if (/Batch job submission failed|Invalid|not available|violates/i.test(printed.said))
        throw /Requested node configuration is not available|limit|violates/i.test(printed.said)
          ? providerErrors.soldOut(NAME, printed.said)
          : /timed out|Unable to contact/i.test(printed.said)
            ? providerErrors.unavailable(NAME, printed.said)
            : providerErrors.refused(NAME, printed.said);
      throw failed("sbatch", printed);
    },
    async terminate(machineId, signal) {
      if (!JOB_ID.test(machineId)) throw providerErrors.refused(NAME, "this is no id of a job");
      const known = (await list(signal)).find(({ machine_id }) => machine_id === machineId);
      const printed = await ask("scancel", [machineId], signal);
      if (printed.code !== 0 && !/Invalid job id|already completing/i.test(printed.said))
        throw failed("scancel", printed);
      // What lay on its disk lies here: once it is gone nobody needs it.
      if (known?.state === "gone" && known.label !== null && LABEL.test(known.label))
        await rm(join(folder, known.label), { recursive: true, force: true });
    },
    async reboot(machineId, signal) {
      if (!JOB_ID.test(machineId)) throw providerErrors.notFound(NAME, "this is no id of a job");
      const printed = await ask("scontrol", ["requeue", machineId], signal);
      if (printed.code === 0) return;
      if (/Invalid job id/i.test(printed.said)) throw providerErrors.notFound(NAME, printed.said);
      throw failed("scontrol requeue", printed);
    },
  };
}

/** SLURM hands the environment on to the job: settings of the coordinator, and where its keys lie, are none of the node's. */
const bareEnv = (env: SlurmProviderOptions["env"]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith("RINGRIFT_"),
    ),
  );

/** The accelerators that a worker gives to jobs: those that the settings name, or those that the machine has. */
import { execFile } from "node:child_process";
import type { Environment } from "../../kernel/index.ts";

export interface Gpu {
  /** What a program names it by, in CUDA_VISIBLE_DEVICES. */
  readonly id: string;
  /** Its place in the list of the machine. */
  readonly index: number;
  readonly memoryGb: number;
}

const QUERY = ["--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits"];
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 65_536;
const MAX_GPUS = 64;
const UUID = /^(GPU|MIG)-[0-9a-f-]{8,64}$/i;
const MEBIBYTE_GB = 2 ** 20 / 1e9;

/** What `nvidia-smi` says, line by line; what is no accelerator is left out, and each counts once. */
export function parseGpus(text: string): Gpu[] {
  const found = new Map<string, Gpu>();
  for (const line of text.split("\n").slice(0, MAX_GPUS)) {
    const [index = "", id = "", memory = ""] = line.split(",").map((cell) => cell.trim());
    if (!/^\d{1,3}$/.test(index) || !UUID.test(id) || !/^\d{1,9}$/.test(memory)) continue;
    found.set(id, { id, index: Number(index), memoryGb: Math.floor(Number(memory) * MEBIBYTE_GB * 10) / 10 });
  }
  return [...found.values()];
}

/** None where there is no such tool, or no answer from it: a machine without accelerators is a machine like any other. */
export const findGpus = (tool = "nvidia-smi"): Promise<Gpu[]> =>
  new Promise((resolve) => {
    const options = { timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES, killSignal: "SIGKILL" } as const;
    execFile(tool, QUERY, options, (error, stdout) => resolve(error === null ? parseGpus(stdout) : []));
  });

/** What whoever started the worker lets it see; undefined for all. */
const visibleIn = ({ CUDA_VISIBLE_DEVICES: given }: Environment): string[] | undefined =>
  given
    ?.split(",")
    .map((id) => id.trim())
    .filter((id) => id !== "");

interface GpuSettings {
  readonly gpus: number;
  readonly gpuMemoryGb: number;
  readonly detectGpus: boolean;
}

/** The accelerators to give out: as many as the settings say, or else all that were found and may be seen. */
export function offeredGpus({ gpus, gpuMemoryGb }: GpuSettings, found: readonly Gpu[], env: Environment): Gpu[] {
  const visible = visibleIn(env);
  const known = (id: string) => found.find((gpu) => gpu.id === id || String(gpu.index) === id);
  const there =
    visible === undefined
      ? found
      : visible.flatMap((id, index) => known(id) ?? (gpus > 0 ? [{ id, index, memoryGb: 0 }] : []));
  // What the settings name and nobody has found is there all the same.
  const unseen = (index: number): Gpu => ({ id: String(index), index, memoryGb: 0 });
  const given =
    gpus === 0
      ? there
      : visible === undefined
        ? Array.from({ length: gpus }, (_, index) => there[index] ?? unseen(index))
        : there.slice(0, gpus);
  return given.slice(0, MAX_GPUS).map((gpu) => ({ ...gpu, memoryGb: gpuMemoryGb || gpu.memoryGb }));
}

/**
 * Slots in which programs do the jobs. A slot has a folder and at most one child, which takes one job after the other; a
 * job of another program has the child replaced. A slot whose program already runs is preferred.
 */
import { hash } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assert, messageOf, OperatingError, systemCode, type Timer } from "../../kernel/index.ts";
import { NO_INPUT, PAIRS_FILE } from "../../pipeline/index.ts";
import { boundedMetrics, type Lease, type WorkFailure } from "../../work/index.ts";
import type { ExecutorPort, WorkResult } from "../../work/worker/index.ts";
import {
  type ChildEdges,
  createRunner,
  type JobRequest,
  type PairsMessage,
  RESUME_INPUT,
  type Runner,
  type WorkloadDeclaration,
} from "../../workloads/process/index.ts";
import type { Inputs } from "./inputs.ts";
import { jobPayload, requestOf, resultOf } from "./job-request.ts";
import { type NamedWorkload, workloadFor } from "./workload-list.ts";

export interface ProcessExecutorOptions {
  readonly workloads: readonly NamedWorkload[];
  readonly slots: number;
  /** For slots and jobs; the jobs' folders are handed on with their results. */
  readonly folder: string;
  readonly edges: ChildEdges;
  readonly inputs: Inputs;
  /** Accelerators are given out here: a program sees those of its job and no others. */
  readonly givesGpus?: boolean;
}

interface Slot {
  readonly folder: string;
  runner: Runner | undefined;
  workload: NamedWorkload | undefined;
  /** What the child sees; one that saw accelerators is gone with its job. */
  gpus: string;
  busy: boolean;
}

/** A child whose job is somebody else's now hears of it, and has this long before it is ended. */
const LOST_MS = 1_000;
/** What a runner says of an input that is another file than it should be. */
const WRONG_INPUT = "input_wrong_hash";

const endGroup = ({ child }: Runner): void => {
  if (child === undefined) return;
  try {
    // A program leads a group of its own; the guardian ends what has left it.
    process.kill(-child.pid, "SIGKILL");
  } catch (thrown) {
    if (systemCode(thrown) !== "ESRCH") throw thrown;
  }
};

const broken = (error_code: string, error: string, errorClass: WorkFailure["class"] = "bad_input"): WorkResult => ({
  status: "failed",
  failure: { class: errorClass, error, error_code },
});

/** Match results are a file of the job like any other: they travel with it, and count with it or not at all. */
async function withPairs(result: WorkResult, pairs: readonly PairsMessage[], place: string): Promise<WorkResult> {
  if (result.status !== "completed" || pairs.length === 0) return result;
  const text = pairs.map(({ type: _, job_id, ...rest }) => `${JSON.stringify(rest)}\n`).join("");
  const file = join(place, PAIRS_FILE);
  await writeFile(file, text, { mode: 0o600, flush: true });
  const made = { name: PAIRS_FILE, sha256: hash("sha256", text, "hex"), bytes: Buffer.byteLength(text) };
  const { outputs = [], ...evidence } = result.evidence;
  return {
    ...result,
    evidence: { ...evidence, outputs: [...outputs, made] },
    files: [...result.files, { ...made, file, kind: "pairs" }],
  };
}

/**
 * The program as one that sees these accelerators alone, and none where its job asks for none. What it has loaded onto one goes with
 * its process, so that the next job finds it empty.
 */
const withGpus = (declaration: WorkloadDeclaration, gpus: readonly string[]): WorkloadDeclaration => ({
  ...declaration,
  // Numbers count as `nvidia-smi` counts.
  env: { ...declaration.env, CUDA_DEVICE_ORDER: "PCI_BUS_ID", CUDA_VISIBLE_DEVICES: gpus.join(",") },
  one_child_per_job: declaration.one_child_per_job || gpus.length > 0,
});

export function createProcessExecutor(options: ProcessExecutorOptions): ExecutorPort {
  const { workloads, folder, edges, inputs: cache } = options;
  const { clock, log } = edges;
  const slots = Array.from(
    { length: options.slots },
    (_, i): Slot => ({
      folder: join(folder, "slots", String(i)),
      runner: undefined,
      workload: undefined,
      gpus: "",
      busy: false,
    }),
  );

  const slotFor = (workload: NamedWorkload): Slot => {
    const free = slots.filter(({ busy }) => !busy);
    const slot =
      free.find((each) => each.workload === workload) ?? free.find(({ runner }) => runner === undefined) ?? free[0];
    assert(slot !== undefined, "admission gives no more jobs than there are slots");
    return slot;
  };

  const runnerIn = async (slot: Slot, workload: NamedWorkload, gpus: readonly string[]): Promise<Runner> => {
    const seen = gpus.join(",");
    if (slot.runner !== undefined && slot.workload === workload && slot.gpus === seen) return slot.runner;
    await slot.runner?.close();
    await mkdir(slot.folder, { recursive: true, mode: 0o700 });
    slot.workload = workload;
    slot.gpus = seen;
    const declaration = options.givesGpus === true ? withGpus(workload.declaration, gpus) : workload.declaration;
    slot.runner = createRunner(declaration, { folder: slot.folder, inputFolders: [cache.folder] }, edges);
    return slot.runner;
  };

  /** What an earlier try saved spares work; a job that cannot have it begins anew. */
  const fetchSaved = async ({ work_id, resume }: Lease, signal: AbortSignal, inputs: JobRequest["inputs"]) => {
    if (resume === undefined || inputs.some(({ name }) => name === RESUME_INPUT)) return;
    const { sha256 } = resume;
    try {
      inputs.push({ name: RESUME_INPUT, sha256, path: await cache.at(sha256, signal) });
    } catch (thrown) {
      log.warn("the checkpoint of an earlier try cannot be fetched; the job starts again", {
        work_id,
        error: messageOf(thrown),
      });
    }
  };

  /** The job with its inputs, which are in use from here on; or why there is none. */
  const fetched = async (
    lease: Lease,
    place: string,
    signal: AbortSignal,
    inputs: JobRequest["inputs"],
  ): Promise<JobRequest | WorkResult> => {
    const payload = jobPayload.safeParse(lease.payload);
    if (!payload.success) return broken("bad_payload", `its payload is no job: ${payload.error.message}`);
    for (const { name, sha256 } of payload.data.inputs)
      try {
        inputs.push({ name, sha256, path: await cache.at(sha256, signal) });
      } catch (thrown) {
        const missing = thrown instanceof OperatingError && !thrown.retryable;
        const error = `input "${name}" cannot be fetched: ${messageOf(thrown)}`;
        return broken(NO_INPUT, error, missing ? "bad_input" : "retryable");
      }
    await fetchSaved(lease, signal, inputs);
    const places = { output_folder: join(place, "out"), scratch_folder: join(place, "scratch"), inputs };
    return requestOf(lease, payload.data, places);
  };

  const runIn = async (
    slot: Slot,
    workload: NamedWorkload,
    lease: Lease,
    hooks: Parameters<ExecutorPort["run"]>[1],
    inputs: JobRequest["inputs"],
  ) => {
    const { signal, progress, board: show, gpus = [] } = hooks;
    const place = join(folder, "jobs", lease.task_id);
    // What an earlier life of the same attempt left is worth nothing.
    await rm(place, { recursive: true, force: true });
    await mkdir(place, { recursive: true, mode: 0o700 });
    const request = await fetched(lease, place, signal, inputs);
    if ("status" in request) return { ...request, folder: place };
    if (signal.aborted) return { status: "stopped", folder: place, reason: String(signal.reason) } as const;
    const runner = await runnerIn(slot, workload, gpus);
    let ending: Timer | undefined;
    const lost = () => {
      if (signal.reason === "lease_lost") ending = clock.after(LOST_MS, () => endGroup(runner));
    };
    signal.addEventListener("abort", lost, { once: true });
    const pairs: PairsMessage[] = [];
    try {
      const outcome = await runner.runJob(request, {
        signal,
        pairs: (message) => void pairs.push(message),
        progress({ done, total, metrics, board }) {
          if (board !== undefined) show?.(board);
          const games = metrics?.games;
          progress({
            ...(total === undefined || total <= 0 ? {} : { progress: Math.min(1, done / total) }),
            ...(games !== undefined && Number.isSafeInteger(games) && games >= 0 ? { games } : {}),
            ...(metrics === undefined ? {} : { metrics: boundedMetrics(metrics) }),
          });
        },
      });
      if (outcome.error?.code === WRONG_INPUT)
        await Promise.all(request.inputs.map(({ sha256 }) => cache.forget(sha256)));
      await Promise.all(outcome.artifacts.map(({ sha256, file }) => cache.keep(sha256, file)));
      return await withPairs(resultOf(outcome, place), pairs, place);
    } finally {
      signal.removeEventListener("abort", lost);
      // The child may have the next job in its hands by then.
      ending?.cancel();
    }
  };

  return {
    kinds: [...new Set(workloads.flatMap(({ declaration }) => declaration.kinds))],
    async run(lease, hooks) {
      const workload = workloadFor(workloads, lease.work_type, lease.config_key);
      if (workload === undefined)
        return broken(
          "no_workload",
          `no workload of this node does ${lease.work_type} of ${lease.config_key ?? "no config"}`,
        );
      const slot = slotFor(workload);
      slot.busy = true;
      const inputs: JobRequest["inputs"] = [];
      try {
        return await runIn(slot, workload, lease, hooks, inputs);
      } finally {
        for (const { sha256 } of inputs) cache.done(sha256);
        slot.busy = false;
      }
    },
    kill() {
      for (const { runner } of slots) if (runner !== undefined) endGroup(runner);
    },
    async close() {
      for (const { runner } of slots)
        await runner?.close().catch((thrown) => log.warn("a child did not close", { error: messageOf(thrown) }));
    },
  };
}

/** What tests of workloads stand on: the real edges, a folder, and programs that are started and never left behind. */
import { hash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createIds, silentLog, systemClock, systemRandom } from "../../../src/kernel/index.ts";
import { createWorkloadHasher } from "../../../src/workloads/process/file-hasher.ts";
import {
  type ChildEdges,
  createGuardian,
  createRunner,
  type JobRequest,
  parseDeclaration,
  type Runner,
  type WorkloadDeclarationInput,
} from "../../../src/workloads/process/index.ts";
import { processTable } from "../../../src/workloads/process/process-table.ts";
import { type Owned, owned } from "../../support/process.ts";

export const MISBEHAVING = fileURLToPath(new URL("./programs/misbehaving.mjs", import.meta.url));

/** Long enough for a busy machine where they must not be reached, short where they must. */
export const PATIENT = { hello_seconds: 30, silence_seconds: 30, grace_seconds: 20, term_seconds: 10 };

export interface WorkloadBench {
  readonly own: Owned;
  readonly edges: ChildEdges;
  readonly folder: string;
  /** A runner of `misbehaving.mjs`. */
  runner(how: string, changes?: Partial<WorkloadDeclarationInput>): Runner;
  job(changes?: Partial<JobRequest>): JobRequest;
  /** A file that jobs may read. */
  input(name: string, content: string): { readonly file: string; readonly sha256: string };
  /** Sizes of all logs in a folder. */
  logsIn(folder: string): number[];
  close(): Promise<void>;
}

export function openBench(env: Readonly<Record<string, string | undefined>> = process.env): WorkloadBench {
  const own = owned();
  const clock = systemClock();
  const log = silentLog();
  const guardian = createGuardian({ ids: createIds(clock, systemRandom()), log });
  const hasher = createWorkloadHasher();
  const edges = { clock, log, guardian, hasher, env };
  const folder = own.folder();
  const runners: Runner[] = [];
  let jobs = 0;
  return {
    own,
    edges,
    folder,
    runner(how, changes = {}) {
      const { limits = {}, ...rest } = changes;
      const declaration = parseDeclaration({
        command: process.execPath,
        args: [MISBEHAVING, how],
        kinds: ["selfplay"],
        ...rest,
        limits: { ...PATIENT, ...limits },
      });
      const place = { folder: join(folder, `runner-${runners.length}`), inputFolders: [join(folder, "inputs")] };
      const runner = createRunner(declaration, place, edges);
      runners.push(runner);
      return runner;
    },
    job(changes = {}) {
      jobs += 1;
      return {
        job_id: `job-${jobs}`,
        kind: "selfplay",
        config_key: "hex8_2p",
        attempt: 1,
        fence: jobs,
        seed: 7,
        deadline: null,
        parameters: {},
        inputs: [],
        output_folder: join(folder, `job-${jobs}`, "output"),
        scratch_folder: join(folder, `job-${jobs}`, "scratch"),
        ...changes,
      };
    },
    input(name, content) {
      const file = join(folder, "inputs", name);
      mkdirSync(join(folder, "inputs"), { recursive: true });
      writeFileSync(file, content);
      return { file, sha256: hash("sha256", content, "hex") };
    },
    logsIn: (inside) =>
      readdirSync(inside, { recursive: true, encoding: "utf8" })
        .filter((name) => /child\.log(\.1)?$/.test(name))
        .map((name) => statSync(join(inside, name)).size),
    async close() {
      for (const runner of runners) await runner.close();
      await guardian.close();
      await hasher.close();
      await own.end();
    },
  };
}

/** Processes that carry a text in their command line or environment and are alive. */
export function alive(mark: string): number[] {
  const told = (pid: number, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  };
  return (processTable() ?? [])
    .map(({ pid }) => pid)
    .filter(
      (pid) => pid !== process.pid && (told(pid, "cmdline").includes(mark) || told(pid, "environ").includes(mark)),
    );
}

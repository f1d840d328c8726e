/** A child that plays the built-in games, and files for its jobs. */
import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { arenaDeclaration } from "../../../src/workloads/arena/index.ts";
import {
  createRunner,
  type JobOutcome,
  type JobRequest,
  type Runner,
  type WorkloadDeclaration,
} from "../../../src/workloads/process/index.ts";
import { openBench, PATIENT, type WorkloadBench } from "./bench.ts";

export type Input = JobRequest["inputs"][number];

export interface ArenaBench {
  readonly bench: WorkloadBench;
  /** One more child, of the built-in games unless another program is declared. */
  child(declaration?: WorkloadDeclaration): Runner;
  /** A job on the child that all tests share. */
  run(changes: Partial<JobRequest>): Promise<JobOutcome>;
  /** The same where it has to end well. */
  done(changes: Partial<JobRequest>, on?: Runner): Promise<JobOutcome>;
  /** A file as an input of that name. */
  put(name: string, bytes: Uint8Array): Input;
  close(): Promise<void>;
}

export const LIMITS = { limits: PATIENT };

/** An artifact of one job as an input of the next. */
export function made({ artifacts }: JobOutcome, kind: string, name = kind): Input {
  const found = artifacts.find((each) => each.kind === kind);
  expect(found, `no artifact of kind ${kind}`).toBeDefined();
  return { name, path: found!.file, sha256: found!.sha256 };
}

export function openArenaBench(): ArenaBench {
  const bench = openBench();
  const children: Runner[] = [];
  let files = 0;
  const child = (declaration = arenaDeclaration(LIMITS)): Runner => {
    const folder = join(bench.folder, `arena-${children.length}`);
    const runner = createRunner(declaration, { folder, inputFolders: [bench.folder] }, bench.edges);
    children.push(runner);
    return runner;
  };
  const shared = child();
  return {
    bench,
    child,
    run: (changes) => shared.runJob(bench.job(changes)),
    async done(changes, on = shared) {
      const outcome = await on.runJob(bench.job(changes));
      expect(outcome, `${outcome.reason} ${outcome.stderr_tail}`).toMatchObject({ status: "completed" });
      return outcome;
    },
    put(name, bytes) {
      files += 1;
      const path = join(bench.folder, `made-${files}`);
      writeFileSync(path, bytes);
      return { name, path, sha256: hash("sha256", bytes, "hex") };
    },
    async close() {
      for (const each of children) await each.close();
      await bench.close();
    },
  };
}

/** What the commands talk to: a check of one program with everything that it needs around it, gone afterwards. */
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import {
  type Clock,
  createIds,
  defined,
  type Environment,
  messageOf,
  OperatingError,
  type Random,
  silentLog,
} from "../../kernel/index.ts";
import { type CheckReport, checkWorkload } from "./check/check.ts";
import type { CheckResult } from "./check/tries.ts";
import { parseDeclaration, resolvePaths } from "./declaration.ts";
import { createWorkloadHasher } from "./file-hasher.ts";
import { createGuardian } from "./guardian.ts";
import { type ExampleJob, exampleJobSchema } from "./protocol.ts";
import { declarationJsonSchema, messagesJsonSchema, printDeclaration, printMessages } from "./protocol-docs.ts";

export interface CheckRequest {
  readonly command: string;
  readonly args: readonly string[];
  /** A file with tiny jobs, instead of those that the program says in its hello. */
  readonly jobsFile?: string;
  readonly envAllow: readonly string[];
  readonly seed: number;
  readonly helloSeconds: number;
  readonly silenceSeconds: number;
  readonly graceSeconds: number;
  /** Leave the folder of the check where it is. */
  readonly keep: boolean;
  readonly onResult: (result: CheckResult) => void;
  readonly signal: AbortSignal;
}

export interface ConsoleEdges {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Environment;
  readonly cwd: string;
}

async function readJobs(file: string): Promise<ExampleJob[]> {
  const wrong = (reason: string, cause?: unknown) =>
    OperatingError.invalid("INVALID_JOBS_FILE", `${file} is not a list of jobs: ${reason}`, {
      cause,
      hint: 'It holds a JSON list such as [{"kind": "selfplay", "config_key": "hex8_2p", "parameters": {"games": 1}}].',
    });
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw OperatingError.notFound("JOBS_FILE_NOT_FOUND", `${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw wrong(messageOf(cause), cause);
  }
  const parsed = z.array(exampleJobSchema()).min(1).safeParse(value);
  if (!parsed.success) throw wrong(z.prettifyError(parsed.error).replaceAll("\n", " "));
  return parsed.data;
}

export function createWorkloadConsole({ clock, random, env, cwd }: ConsoleEdges) {
  return {
    async check(request: CheckRequest): Promise<CheckReport & { readonly folder?: string }> {
      const { seed, onResult, signal, keep } = request;
      const jobsFile = request.jobsFile === undefined ? undefined : resolve(cwd, request.jobsFile);
      const jobs = jobsFile === undefined ? undefined : await readJobs(jobsFile);
      const { command, args } = resolvePaths({ command: request.command, args: [...request.args] }, cwd);
      const declaration = parseDeclaration({
        command,
        args,
        env_allow: [...request.envAllow],
        kinds: ["checked"],
        limits: {
          hello_seconds: request.helloSeconds,
          silence_seconds: request.silenceSeconds,
          grace_seconds: request.graceSeconds,
        },
      });
      const log = silentLog();
      const guardian = createGuardian({ ids: createIds(clock, random), log });
      const hasher = createWorkloadHasher();
      const folder = await mkdtemp(join(await realpath(tmpdir()), "ringrift-workload-"));
      try {
        const report = await checkWorkload(
          {
            declaration,
            folder,
            ...defined({ jobs }),
            jobsFolder: jobsFile === undefined ? cwd : dirname(jobsFile),
            seed,
            onResult,
            signal,
          },
          { clock, log, guardian, hasher, env },
        );
        return keep ? { ...report, folder } : report;
      } finally {
        await guardian.close();
        await hasher.close();
        if (!keep) await rm(folder, { recursive: true, force: true });
      }
    },
    /** The protocol as a table for people, and as JSON Schema. */
    messages: printMessages,
    messagesSchema: messagesJsonSchema,
    /** What a declaration may say, likewise. */
    declaration: printDeclaration,
    declarationSchema: declarationJsonSchema,
  };
}

export type WorkloadConsole = ReturnType<typeof createWorkloadConsole>;

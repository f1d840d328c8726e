/** A workload as somebody declares it: which program, what it does, and how far it is trusted. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { defined, type Environment, lazy, OperatingError } from "../../kernel/index.ts";

const seconds = (fallback: number, max: number) => z.number().positive().max(max).default(fallback);
const whole = (fallback: number, max: number) => z.int().min(1).max(max).default(fallback);

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const DAY_SECONDS = 86_400;

/** Bounds on everything that a program can do too much of. */
const limits = lazy(() =>
  z.strictObject({
    hello_seconds: seconds(30, 600).describe("from its start to hello"),
    silence_seconds: seconds(120, DAY_SECONDS).describe("from one message to the next while a job runs"),
    grace_seconds: seconds(30, 3_600).describe("from cancel to SIGTERM"),
    term_seconds: seconds(5, 600).describe("from shutdown to SIGTERM, and from SIGTERM to SIGKILL"),
    line_bytes: whole(MIB, 16 * MIB).describe("of one message"),
    messages_per_second: whole(500, 100_000).describe("over a few seconds"),
    artifacts: whole(256, 100_000).describe("of one job"),
    artifact_bytes: whole(4 * GIB, 2 ** 50).describe("of one artifact"),
    output_bytes: whole(16 * GIB, 2 ** 50).describe("of all artifacts of a job"),
    log_bytes: whole(4 * MIB, GIB).describe("of the file that keeps standard error; one older file is kept beside it"),
    processes: whole(64, 100_000).describe("alive at once, with all that it started"),
    memory_bytes: z.int().min(MIB).optional().describe("resident, with all that it started; no limit unless given"),
  }),
);

const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "the name of an environment variable");

export const workloadDeclarationSchema = lazy(() =>
  z.strictObject({
    command: z.string().min(1).describe("the program; it is started without a shell"),
    args: z.array(z.string()).max(1_000).default([]).describe("its arguments"),
    env_allow: z.array(variable).max(200).default([]).describe("variables that it may see beside the usual ones"),
    env: z.record(variable, z.string()).default({}).describe("variables that are set for it"),
    kinds: z.array(z.string().min(1)).min(1).describe("kinds of job that are given to it"),
    one_child_per_job: z.boolean().default(false).describe("a new process for each job, instead of one for many"),
    limits: limits().prefault({}),
  }),
);

export type WorkloadLimits = z.output<ReturnType<typeof limits>>;
export type WorkloadDeclaration = z.output<ReturnType<typeof workloadDeclarationSchema>>;
/** What one writes: everything with a default may be left out. */
export type WorkloadDeclarationInput = z.input<ReturnType<typeof workloadDeclarationSchema>>;

/** Reads a declaration, and says where it is wrong. */
export function parseDeclaration(value: unknown): WorkloadDeclaration {
  const parsed = workloadDeclarationSchema().safeParse(value);
  if (parsed.success) return parsed.data;
  throw OperatingError.invalid(
    "INVALID_WORKLOAD",
    `The workload's declaration is wrong: ${z.prettifyError(parsed.error)}`,
    {
      hint: "docs/41-workloads.md explains declarations.",
    },
  );
}

/**
 * The same with paths that hold anywhere, since a program does not run where it was declared: a command with a slash, and
 * arguments that name something in the given folder, become absolute.
 */
export function resolvePaths<D extends Pick<WorkloadDeclaration, "command" | "args">>(declared: D, folder: string): D {
  const { command, args } = declared;
  const named = (arg: string) => !arg.startsWith("-") && arg !== "" && existsSync(resolve(folder, arg));
  return {
    ...declared,
    command: command.includes("/") ? resolve(folder, command) : command,
    args: args.map((arg) => (named(arg) ? resolve(folder, arg) : arg)),
  };
}

/** What every program may see: enough to find its interpreter and its libraries, nothing that opens a door. */
const USUAL = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SHELL", "LD_LIBRARY_PATH"] as const;

/** The environment of a child: named variables and no others. */
export function childEnvironment(
  { env, env_allow }: Pick<WorkloadDeclaration, "env" | "env_allow">,
  ours: Environment,
): Environment {
  return { ...defined(Object.fromEntries([...USUAL, ...env_allow].map((name) => [name, ours[name]]))), ...env };
}

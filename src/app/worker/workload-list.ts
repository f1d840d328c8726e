/** The programs that do the work on this node: those declared in `ringrift.config.json`, and the built-in games. */
import { dirname } from "node:path";
import { z } from "zod";
import { defined, lazy, OperatingError } from "../../kernel/index.ts";
import { arenaDeclaration, MODEL_FORMATS, type ModelRule } from "../../workloads/arena/index.ts";
import { resolvePaths, type WorkloadDeclaration, workloadDeclarationSchema } from "../../workloads/process/index.ts";
import { sectionOf } from "../settings/config-file.ts";

export interface NamedWorkload {
  readonly name: string;
  /** The configs that it is for; all unless said. */
  readonly configKeys: readonly string[] | undefined;
  /** Opponents that it plays by name and that never change, weakest first. */
  readonly baselines?: readonly string[];
  /** What its models and checkpoints must be; where nothing is said, the end of their names says it. */
  readonly files?: { readonly [kind in JudgedFile]?: Partial<ModelRule> | undefined };
  readonly declaration: WorkloadDeclaration;
}

/** What a training run brings that others are made with, by the first part of the file's name. */
export const JUDGED_FILES = ["model", "checkpoint"] as const;
export type JudgedFile = (typeof JUDGED_FILES)[number];

const fileRule = lazy(() =>
  z
    .strictObject({
      format: z.enum(MODEL_FORMATS).optional(),
      min_bytes: z.int().min(1).optional(),
      max_bytes: z.int().min(1).optional(),
    })
    .refine(({ min_bytes = 1, max_bytes = min_bytes }) => min_bytes <= max_bytes, "min_bytes of at most max_bytes")
    .transform(({ format, min_bytes, max_bytes }) => defined({ format, minBytes: min_bytes, maxBytes: max_bytes })),
);

/** With the champions they are the ladder, which is rated as a whole. */
const MAX_BASELINES = 16;
/** A name that cannot be mistaken for a model, which goes by its hash, nor for the champion. */
const baseline = z
  .string()
  .regex(/^[a-z][a-z0-9._-]{0,39}$/, "a name of at most 40 small letters, digits, _ . -, beginning with a letter")
  .refine((name) => name !== "champion", "another name than 'champion'");

const declared = lazy(() =>
  z.record(
    z.string().regex(/^[\w.-]{1,64}$/, "a name of 1 to 64 letters, digits, _ . -"),
    workloadDeclarationSchema().extend({
      config_keys: z.array(z.string().min(1).max(128)).min(1).max(1_000).optional(),
      baselines: z.array(baseline).min(1).max(MAX_BASELINES).optional(),
      files: z.strictObject({ model: fileRule().optional(), checkpoint: fileRule().optional() }).optional(),
    }),
  ),
);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Longest and shortest time that a program can be told to have for its end. */
const GRACE = { min: 0.001, max: 3_600 };

/** The name of the built-in program, unless somebody's own has it. */
export const ARENA = "arena";

/**
 * In the order in which they are asked: who declares a program wants it before the built-in one. Jobs have the given time to
 * end by themselves, where a program does not say that it needs another. The file was read and checked with the settings.
 */
export function workloadList(file: string | undefined, graceSeconds: number): NamedWorkload[] {
  const grace_seconds = Math.min(GRACE.max, Math.max(GRACE.min, graceSeconds));
  const withGrace = (one: unknown): unknown =>
    isRecord(one) ? { ...one, limits: { grace_seconds, ...(one.limits as object | undefined) } } : one;
  const given = Object.entries(sectionOf(file, "workloads") ?? {}).map(([name, one]) => [name, withGrace(one)]);
  const parsed = declared().safeParse(Object.fromEntries(given));
  if (!parsed.success)
    throw OperatingError.invalid(
      "INVALID_WORKLOAD",
      `${file}: workloads are declared wrong: ${z.prettifyError(parsed.error)}`,
      { hint: "docs/41-workloads.md explains declarations." },
    );
  const own = Object.entries(parsed.data).map(([name, { config_keys, baselines, files, ...declaration }]) => ({
    name,
    configKeys: config_keys,
    ...defined({ baselines, files }),
    declaration: resolvePaths(declaration, dirname(file!)),
  }));
  const arena = { name: ARENA, configKeys: undefined, declaration: arenaDeclaration({ limits: { grace_seconds } }) };
  return own.some(({ name }) => name === ARENA) ? own : [...own, arena];
}

export const workloadFor = (
  all: readonly NamedWorkload[],
  kind: string,
  configKey: string | null,
): NamedWorkload | undefined =>
  all.find(
    ({ declaration, configKeys }) =>
      declaration.kinds.includes(kind) &&
      (configKeys === undefined || (configKey !== null && configKeys.includes(configKey))),
  );

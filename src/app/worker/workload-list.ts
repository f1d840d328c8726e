/** The programs that do the work on this node: those declared in `ringrift.config.json`, and the built-in games. */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { OperatingError } from "../../kernel/index.ts";
import { arenaDeclaration } from "../../workloads/arena-process/index.ts";
import { resolvePaths, type WorkloadDeclaration, workloadDeclarationSchema } from "../../workloads/process/index.ts";

export interface NamedWorkload {
  readonly name: string;
  /** The configs that it is for; all unless said. */
  readonly configKeys: readonly string[] | undefined;
  readonly declaration: WorkloadDeclaration;
}

const declared = z.record(
  z.string().regex(/^[\w.-]{1,64}$/, "a name of 1 to 64 letters, digits, _ . -"),
  workloadDeclarationSchema.extend({
    config_keys: z.array(z.string().min(1).max(128)).min(1).max(1_000).optional(),
  }),
);

/** Longest and shortest time that a program can be told to have for its end. */
const GRACE = { least: 0.001, most: 3_600 };

/** What jobs have to end by themselves, where a program does not say that it needs another time. */
const withGrace = (given: unknown, graceSeconds: number): unknown => {
  const grace_seconds = Math.min(GRACE.most, Math.max(GRACE.least, graceSeconds));
  const entries = Object.entries((given ?? {}) as Record<string, Record<string, unknown>>);
  return Object.fromEntries(
    entries.map(([name, one]) => [
      name,
      typeof one === "object" && one !== null
        ? { ...one, limits: { grace_seconds, ...(one.limits as object | undefined) } }
        : one,
    ]),
  );
};

/** Those of the file; none if there is none. The file as a whole was read and checked with the settings. */
function ofFile(file: string | undefined, graceSeconds: number): NamedWorkload[] {
  if (file === undefined) return [];
  const { workloads } = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, "")) as { workloads?: unknown };
  const parsed = declared.safeParse(withGrace(workloads, graceSeconds));
  if (!parsed.success)
    throw new OperatingError(
      "INVALID_WORKLOAD",
      `${file}: workloads are declared wrong: ${z.prettifyError(parsed.error)}`,
      {
        hint: "docs/41-workloads.md shows what can be declared.",
      },
    );
  return Object.entries(parsed.data).map(([name, { config_keys, ...declaration }]) => ({
    name,
    configKeys: config_keys,
    declaration: resolvePaths(declaration, dirname(file)),
  }));
}

const ARENA = "arena";

/** In the order in which they are asked: who declares a program wants it before the built-in one. */
export function workloadList(file: string | undefined, graceSeconds: number): NamedWorkload[] {
  const grace_seconds = Math.min(GRACE.most, Math.max(GRACE.least, graceSeconds));
  const own = ofFile(file, graceSeconds);
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

/** What an experiment is: arms that differ in their plans, and seeds that each of them runs with. From `experiments` of the settings file. */
import { hash } from "node:crypto";
import { z } from "zod";
import { canonicalJson, didYouMean, type Json, OperatingError } from "../../../kernel/index.ts";
import { configPlanSchema, KNOBS } from "../../../pipeline/index.ts";
import { sectionOf } from "../../settings/config-file.ts";

const name = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, "a name of at most 40 small letters, digits, _ -");
const plan = configPlanSchema().omit({ config_key: true, kinds: true, seed: true, most_iterations: true }).partial();

const experimentSchema = z.strictObject({
  about: z.string().max(1_000).default(""),
  config_key: configPlanSchema().shape.config_key,
  /** Rounds of the loop that every arm does. */
  iterations: z.int().min(1).max(10_000),
  /** Runs of each arm. */
  seeds: z.int().min(2).max(1_000),
  first_seed: z.int().min(0).max(0xffff_0000).default(1),
  /** What all arms have in common. */
  plan: plan.default({}),
  /** What each arm has besides; the first one is what the others are compared with. */
  arms: z
    .record(name, plan)
    .refine((arms) => Object.keys(arms).length >= 2 && Object.keys(arms).length <= 20, "2 to 20 arms"),
  /** What plays for an arm instead of its champion: the newest network that was made of one. */
  plays: z.record(name, z.enum(["distillation", "nnue"])).default({}),
  /** Factors of knobs that are held in an arm, in all its configs. */
  hold: z.record(name, z.partialRecord(z.enum(KNOBS), z.number())).default({}),
  /** Configs that train beside it, by their plans in `plans`. Their champions play too, and a seed counts with the mean of all configs. */
  beside: z.array(configPlanSchema().shape.config_key).max(8).default([]),
  /** Games of all configs together after which a run ends, if its iterations are not over before. Then it matters which config was faster. */
  games: z.int().min(1).max(1_000_000_000).nullable().default(null),
  /** The match of two arms' last champions with one seed, apart from all gates. */
  match: z
    .strictObject({
      blocks: z.int().min(1).max(100_000).default(200),
      parameters: z.record(z.string().max(100), z.json()).default({ simulations: 48, opening_plies: 8 }),
    })
    .prefault({}),
});

export type Experiment = z.output<typeof experimentSchema> & { readonly name: string; readonly fingerprint: string };

/** The experiments of these names; all of them are checked before any begins. */
export function experimentsOf(file: string | undefined, names: readonly string[]): Experiment[] {
  const all = sectionOf(file, "experiments") ?? {};
  return [...new Set(names)].map((each) => {
    const given = all[each];
    if (given === undefined || !name.safeParse(each).success)
      throw OperatingError.notFound(
        "EXPERIMENT_NOT_FOUND",
        `there is no experiment '${each}'.${didYouMean(each, Object.keys(all))}`,
        { hint: "Experiments are in `experiments` of ringrift.config.json; docs/59-experiments.md shows one." },
      );
    const parsed = experimentSchema.safeParse(given);
    if (!parsed.success)
      throw OperatingError.invalid(
        "INVALID_EXPERIMENT",
        `experiment '${each}' is wrong: ${z.prettifyError(parsed.error)}`,
        {
          hint: "docs/59-experiments.md explains the fields.",
        },
      );
    const { arms, plays, hold } = parsed.data;
    const stranger = Object.keys({ ...plays, ...hold }).find((arm) => arms[arm] === undefined);
    if (stranger !== undefined)
      throw OperatingError.invalid("INVALID_EXPERIMENT", `experiment '${each}' has no arm '${stranger}'`, {
        hint: `Its arms are: ${Object.keys(arms).join(", ")}.`,
      });
    // As it was written: a plan that is filled with defaults here would hide those of its game.
    const written = given as { plan?: object; arms: Record<string, object> };
    const fingerprint = hash("sha256", canonicalJson(given as Json), "hex").slice(0, 16);
    return { ...parsed.data, plan: written.plan ?? {}, arms: written.arms, name: each, fingerprint } as Experiment;
  });
}

/** All configs whose champions are compared. */
export const configsOf = ({ config_key, beside }: Pick<Experiment, "config_key" | "beside">) => [config_key, ...beside];
export const armsOf = ({ arms }: Experiment): string[] => Object.keys(arms);
export const seedsOf = ({ first_seed, seeds }: Experiment): number[] =>
  Array.from({ length: seeds }, (_, i) => first_seed + i);

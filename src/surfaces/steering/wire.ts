import { z } from "zod";
import { field } from "../../events/fields.ts";
import { lazy } from "../../kernel/index.ts";
import { trend } from "../../pipeline/snapshot.ts";
import { KNOBS } from "../../pipeline/stage/knob-names.ts";
import { time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";
import { decision, whereItRuns } from "../pipeline/wire.ts";

const knob = lazy(() =>
  z
    .enum(KNOBS)
    .describe(
      "What is turned: `share` is the part of self-play that a config gets; the others change an iteration from its start on.",
    ),
);

export const getSteering = defineRoute("getSteering", "GET /v1/steering", {
  ...whereItRuns,
  summary:
    "What steers every config: each knob with its factor, its evidence and who holds it, what makes up its share, and where its measures go.",
  about: "Knobs and shares, by config.",
  answer: () =>
    z
      .object({
        configs: z.array(
          z.object({
            config_key: z.string(),
            iteration: z.int(),
            share: z.number().nullable().describe("Part of all self-play; null while it takes no part."),
            factors: z.array(
              z.object({
                name: z.string(),
                actual: z.union([z.number(), z.string()]).nullable(),
                factor: z.number(),
              }),
            ),
            mastered: z
              .array(
                z.object({
                  opponent: z.string(),
                  model_id: z.string(),
                  games: z.int(),
                  win_rate: z.number(),
                  at: time,
                }),
              )
              .describe("Baselines that a champion beats reliably, and which of them did first."),
            asked: z
              .object({ iteration: z.int(), reason: z.string() })
              .nullable()
              .describe("Training asks for harder games; gates decide. Null while it does not."),
            trends: z.array(trend()).describe("Where its measures go."),
            tuned: z
              .looseObject({
                values: z.record(z.string(), z.number()),
                from_iteration: z.int().describe("The first iteration that is played with them."),
                run_id: z.string(),
                at: time,
              })
              .nullable()
              .describe("Parameters of self-play that a search has proven better."),
            trained: z
              .looseObject({
                values: z.record(z.string(), z.number()),
                from_iteration: z.int().describe("The first iteration that is trained with them."),
                run_id: z.string(),
                start: z
                  .looseObject({ architecture: z.string(), model: z.string() })
                  .nullable()
                  .describe("The network that training goes on from; null where it goes on as it is."),
                at: time,
              })
              .nullable()
              .describe("Settings of training, or a network, that a search has proven better."),
            architectures: z
              .record(z.string(), z.number())
              .describe(
                "Share of the work that each network architecture deserves by its gates; empty while there is only one.",
              ),
            search: z
              .object({
                run_id: z.string(),
                method: z.enum(["cmaes", "pbt", "nas"]),
                iteration: z.int(),
                reason: z.string(),
                at: time,
                incumbent: z.record(z.string(), z.number()).describe("The parameters against which others are tried."),
                outcome: z.enum(["applied", "kept", "failed"]).nullable().describe("Null while it is under way."),
                ended: z.string().nullable().describe("Why it ended so."),
                state: z.string(),
                generation: z.int(),
                games: z.int(),
                found: z.record(z.string(), z.number()).nullable(),
                proof: z
                  .object({
                    score: z.number(),
                    elo: z.number(),
                    low: z.number(),
                    high: z.number(),
                    games: z.int(),
                    redundancy: z.number(),
                  })
                  .nullable(),
                members: z
                  .array(
                    z.object({
                      name: z.string(),
                      values: z.record(z.string(), z.number()),
                      score: z.number().nullable().describe("Of its last games against the champion."),
                      parent: z.string().nullable().describe("Whose network it took over last."),
                    }),
                  )
                  .describe("The members of a population; none where the search is no such one."),
                best_scores: z.array(z.number()).describe("The best score of each generation of a population."),
              })
              .nullable()
              .describe("The search that is under way, or the last one."),
            knobs: z.array(
              z.object({
                knob: knob(),
                value: z.number().describe("The factor that counts now; 1 changes nothing."),
                on: z.boolean().describe("Whether results may turn it; the plan says so."),
                low: z.number(),
                high: z.number(),
                author: z.string().describe("The unit that turns it."),
                signal: z
                  .looseObject({
                    value: z.number(),
                    half_life: z.number().describe("Iterations after which half of it is left."),
                    iteration: z.int(),
                    since: time,
                    reason: z.string(),
                  })
                  .nullable(),
                held: z
                  .object({ value: z.number(), by: z.string(), at: time, reason: z.string() })
                  .nullable()
                  .describe("A person's word, which counts before the signal."),
              }),
            ),
          }),
        ),
      })
      .meta({ id: "Steering" }),
});

export type Steering = Answer<typeof getSteering>;

const params = lazy(() => z.strictObject({ config: field.config_key, knob: knob() }));

export const holdKnob = defineRoute("holdKnob", "POST /v1/steering/{config}/{knob}/hold", {
  ...decision,
  summary: "Holds a knob of a config at a value until somebody releases it.",
  params,
  body: () => decision.body().extend({ value: z.number().min(0).max(1_000).describe("A factor; 1 changes nothing.") }),
});

export const searchParameters = defineRoute("searchParameters", "POST /v1/steering/{config}/search", {
  ...decision,
  summary: "Asks for a search for better parameters of a config's self-play or training, or for a better network.",
  params: () => z.strictObject({ config: field.config_key }),
  body: () =>
    decision.body().extend({
      method: z
        .enum(["cmaes", "pbt", "nas"])
        .default("cmaes")
        .describe("`cmaes`: parameters of self-play; `pbt`: settings of training; `nas`: shapes of the network."),
    }),
});

export const releaseKnob = defineRoute("releaseKnob", "POST /v1/steering/{config}/{knob}/release", {
  ...decision,
  summary: "Lets steering turn a knob again that somebody held.",
  params,
});

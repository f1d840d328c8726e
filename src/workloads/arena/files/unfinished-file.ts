/** A training run in the middle: with it the run goes on elsewhere as if it had never stopped. */
import { z } from "zod";
import type { Json } from "../../../kernel/index.ts";
import type { Game } from "../games/game.ts";
import type { Momentum } from "../net/adam.ts";
import { copyNetwork, type Network } from "../net/network.ts";
import type { Measure } from "../net/trainer.ts";
import { decodeFile, type EncodedFile, encodeFile } from "./container.ts";
import { corrupt } from "./errors.ts";
import { finiteColumn, type NamedColumn } from "./frame.ts";
import { describeShape, networkFrom } from "./model-content.ts";

const KIND = "unfinished_training";
const VERSION = 1;

interface State {
  readonly network: Network;
  readonly momentum: Momentum;
}

export interface UnfinishedTraining extends State {
  /** What says which run it is of: it goes on with no other. */
  readonly run: string;
  /** Batches done, the sums of their losses, and measurements in a row that were no better. */
  readonly done: number;
  readonly policy: number;
  readonly value: number;
  readonly worse: number;
  readonly newest: Measure | undefined;
  readonly best: { readonly measure: Measure; readonly step: number; readonly kept: State } | undefined;
}

const count = z.int().min(0);
const measure = z.object({ policy: z.number(), value: z.number(), accuracy: z.number() });
const aboutSchema = z.object({
  run: z.string(),
  steps: count,
  done: count,
  policy: z.number(),
  value: z.number(),
  worse: count,
  newest: measure.nullable(),
  best: z.object({ measure, step: count, steps: count }).nullable(),
});

const columnsOf = ({ network, momentum }: State, prefix: string): NamedColumn[] => {
  const shape = [network.layout.length];
  return [
    { name: `${prefix}weights`, shape, data: network.weights },
    { name: `${prefix}first_moments`, shape, data: momentum.first },
    { name: `${prefix}second_moments`, shape, data: momentum.second },
  ];
};

export function encodeUnfinished({ network, momentum, best, newest, ...rest }: UnfinishedTraining): EncodedFile {
  const told = (found: Measure): Json => ({ policy: found.policy, value: found.value, accuracy: found.accuracy });
  return encodeFile({
    kind: KIND,
    version: VERSION,
    about: {
      ...describeShape(network.layout.shape),
      ...rest,
      steps: momentum.steps,
      newest: newest === undefined ? null : told(newest),
      best:
        best === undefined ? null : { measure: told(best.measure), step: best.step, steps: best.kept.momentum.steps },
    },
    columns: [...columnsOf({ network, momentum }, ""), ...(best === undefined ? [] : columnsOf(best.kept, "best_"))],
  });
}

export function decodeUnfinished(bytes: Uint8Array, game: Game): UnfinishedTraining {
  const { about, columns } = decodeFile(bytes, KIND, VERSION);
  const parsed = aboutSchema.safeParse(about);
  if (!parsed.success) throw corrupt(`The unfinished run does not say how far it is: ${parsed.error.message}`);
  const { steps, best, newest, ...rest } = parsed.data;
  const shape = Object.fromEntries(Object.entries(about).filter(([name]) => !(name in aboutSchema.shape)));
  const network = networkFrom(shape, columns, game);
  const { length } = network.layout;
  const momentumOf = (prefix: string, done: number): Momentum => ({
    first: finiteColumn(columns, `${prefix}first_moments`, length),
    second: finiteColumn(columns, `${prefix}second_moments`, length),
    steps: done,
  });
  const keptOf = (done: number): State => ({
    network: { ...copyNetwork(network), weights: finiteColumn(columns, "best_weights", length) },
    momentum: momentumOf("best_", done),
  });
  return {
    ...rest,
    network,
    momentum: momentumOf("", steps),
    newest: newest ?? undefined,
    best: best === null ? undefined : { measure: best.measure, step: best.step, kept: keptOf(best.steps) },
  };
}

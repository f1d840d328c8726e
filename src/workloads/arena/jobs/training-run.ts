/** The batches of one training job: when it measures, when it has seen enough, and what it keeps. */
import { OperatingError, type Random } from "../../../kernel/index.ts";
import type { ServedJob } from "../../process/index.ts";
import type { UnfinishedTraining } from "../files/unfinished-file.ts";
import type { Game } from "../games/game.ts";
import { copyNetwork } from "../net/network.ts";
import type { Draw } from "../net/priorities.ts";
import { windowRows } from "../net/replay.ts";
import { copySamples, countRows, emptySamples, type Samples } from "../net/samples.ts";
import type { Losses, Trainer } from "../net/trainer.ts";
import type { TrainerState } from "./job-world.ts";
import type { TrainingParameters } from "./parameters.ts";

/** Batches between two looks at what the worker says. */
const STEPS_A_BREATH = 16;
/** Measurements of a run that does not say how many it wants. */
const CHECKS = 10;

/** The newest rows of several files, oldest file first. */
export function newestRows(parts: readonly Samples[], max: number, game: Game): Samples {
  const newest = emptySamples(game, Math.min(countRows(parts), max));
  let end = newest.count;
  for (const part of parts.toReversed()) {
    const count = Math.min(part.count, end);
    end -= count;
    copySamples(part, part.count - count, count, newest, end);
  }
  return newest;
}

/** The rows that training may draw from: the newest of the inputs, as many as the window has room for. */
export function windowOf(parts: readonly Samples[], given: TrainingParameters, game: Game): Samples {
  const rows = countRows(parts);
  const { window_base: base, window_share: share, window_most: most } = given;
  return newestRows(parts, windowRows(Math.max(rows, given.total_rows ?? rows), { base, share, most }), game);
}

const diverged = (what: string): OperatingError =>
  OperatingError.internal("ARENA_TRAINING_DIVERGED", `The ${what} are not numbers.`, {
    hint: "Lower the learning rate.",
  });

const copyOf = ({ network, momentum }: Trainer): TrainerState => ({
  network: copyNetwork(network),
  momentum: { first: momentum.first.slice(), second: momentum.second.slice(), steps: momentum.steps },
});

export const lossOf = ({ policy, value }: Losses, given: TrainingParameters): number =>
  policy + given.value_weight * value;

/** How far a run is, without the name of the run. */
export type RunState = Omit<UnfinishedTraining, "run">;

interface TrainingPlan {
  readonly given: TrainingParameters;
  readonly steps: number;
  readonly random: Random;
  /** How rows are drawn and weighed; all alike unless given. */
  readonly draw: Draw | undefined;
  /** Where an earlier try of this very run stopped. */
  readonly from: RunState | undefined;
  /** The run is told to stop: what is worth it is kept. */
  readonly save: (state: RunState) => Promise<void>;
}

export async function runTraining(
  job: ServedJob,
  trainer: Trainer,
  window: Samples,
  holdout: Samples,
  plan: TrainingPlan,
) {
  const { given, steps, random, from, draw } = plan;
  const { network } = trainer;
  const checkEvery = given.check_steps ?? Math.max(1, Math.ceil(steps / CHECKS));
  const measures = holdout.count > 0;
  const mayStop = measures && given.patience > 0;
  let best = from?.best;
  let newest = from?.newest;
  let policy = from?.policy ?? 0;
  let value = from?.value ?? 0;
  let done = from?.done ?? 0;
  let worse = from?.worse ?? 0;
  // Each row of a batch took two numbers: the run goes on with the very next one.
  for (let drawn = 0; drawn < 2 * done * given.batch; drawn += 1) random.bits();

  const report = (): void => {
    const losses = { policy: (policy * steps) / done, value: (value * steps) / done };
    const metrics = {
      loss: lossOf(losses, given),
      policy_loss: losses.policy,
      value_loss: losses.value,
      ...(newest === undefined ? {} : { validation_loss: lossOf(newest, given) }),
    };
    job.progress(done, { total: steps, ...(done === 0 ? {} : { metrics }) });
  };

  while (done < steps) {
    if (done % STEPS_A_BREATH === 0) {
      if (!Number.isFinite(policy + value)) throw diverged("losses");
      report();
      await job.pause().catch(async (thrown: unknown) => {
        if (done > 0)
          await plan.save({ network, momentum: trainer.momentum, done, policy, value, worse, newest, best });
        throw thrown;
      });
    }
    const losses =
      draw === undefined
        ? trainer.step(window, () => Math.floor(random.next() * window.count), random)
        : trainer.step(window, () => draw.row(random.next()), random, draw.weight);
    policy += losses.policy / steps;
    value += losses.value / steps;
    done += 1;
    if (!mayStop || (done % checkEvery !== 0 && done < steps)) continue;
    newest = trainer.measure(holdout, 0, holdout.count);
    if (best === undefined || lossOf(newest, given) < lossOf(best.measure, given)) {
      best = { measure: newest, step: done, kept: copyOf(trainer) };
      worse = 0;
    } else worse += 1;
    if (worse >= given.patience) break;
  }
  // Exactly 1 unless it ended early, so that a full run has the very sums of the bare loop.
  const scale = steps / done;
  policy *= scale;
  value *= scale;
  if (!Number.isFinite(policy + value)) throw diverged("losses");
  const { kept, step, measure } = best ?? {
    kept: trainer,
    step: done,
    measure: measures ? trainer.measure(holdout, 0, holdout.count) : undefined,
  };
  if (!kept.network.weights.every(Number.isFinite)) throw diverged("weights");
  return {
    network: kept.network,
    momentum: kept.momentum,
    /** Means over all batches. */
    policy,
    value,
    /** Batches done; training may have ended early. */
    steps: done,
    /** The batch after which the network was as it is kept. */
    keptStep: step,
    /** On the held-out rows, of the network that is kept; undefined without such rows. */
    measure,
  };
}

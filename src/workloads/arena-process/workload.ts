import { CONFIG_KEYS } from "../arena/index.ts";
import type { ExampleJob, ServedWorkload } from "../process/index.ts";
import { evaluationJob } from "./evaluation.job.ts";
import { createJobWorld } from "./job-world.ts";
import { selfPlayJob } from "./selfplay.job.ts";
import { trainingJob } from "./training.job.ts";

const TINY = { config_key: "connect4_7x6_2p" };
const SMALL = { wide: 8, narrow: 8 };

/** Jobs of a fraction of a second, and the same jobs made long. */
const EXAMPLES: readonly ExampleJob[] = [
  {
    ...TINY,
    kind: "selfplay",
    parameters: { ...SMALL, games: 4, simulations: 8 },
    long_parameters: { ...SMALL, games: 100_000, simulations: 64 },
  },
  {
    ...TINY,
    kind: "training",
    parameters: { ...SMALL, steps: 20 },
    long_parameters: { ...SMALL, steps: 1_000_000 },
    inputs: [{ name: "samples", artifact_kind: "samples" }],
  },
  {
    ...TINY,
    kind: "evaluation",
    parameters: { opponent: "random", blocks: 2, simulations: 8 },
    long_parameters: { opponent: "mcts-1000", blocks: 10_000 },
    inputs: [{ name: "candidate", artifact_kind: "model" }],
  },
];

/** Self-play, training and evaluation of every built-in game. The same job gives the same bytes in any process. */
export function arenaWorkload(): ServedWorkload {
  const world = createJobWorld();
  return {
    name: "ringrift-arena",
    version: "1",
    capabilities: { deterministic: true, config_keys: [...CONFIG_KEYS] },
    kinds: { selfplay: selfPlayJob(world), training: trainingJob(world), evaluation: evaluationJob(world) },
    examples: EXAMPLES,
  };
}

import type { ExampleJob, ServedWorkload } from "../../process/index.ts";
import { CONFIG_KEYS } from "../games/catalog.ts";
import { evaluationJob } from "./evaluation.job.ts";
import { exportJob } from "./export.job.ts";
import { createJobWorld } from "./job-world.ts";
import { selfPlayJob } from "./selfplay.job.ts";
import { trainingJob } from "./training.job.ts";
import { validationJob } from "./validation.job.ts";

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
    kind: "validation",
    parameters: { ...SMALL, simulations: 8 },
    long_parameters: { ...SMALL, simulations: 10_000, parity_share: 1 },
    inputs: [
      { name: "games", artifact_kind: "games" },
      { name: "samples", artifact_kind: "samples" },
    ],
  },
  {
    ...TINY,
    kind: "export",
    parameters: { holdout_share: 0.2 },
    inputs: [{ name: "samples-0000", artifact_kind: "samples" }],
  },
  {
    ...TINY,
    kind: "training",
    parameters: { ...SMALL, steps: 20 },
    long_parameters: { ...SMALL, steps: 1_000_000 },
    inputs: [
      { name: "samples", artifact_kind: "training_set" },
      { name: "holdout", artifact_kind: "holdout" },
    ],
  },
  {
    ...TINY,
    kind: "evaluation",
    parameters: { opponent: "random", blocks: 2, simulations: 8 },
    long_parameters: { opponent: "mcts-1000", blocks: 10_000 },
    inputs: [{ name: "candidate", artifact_kind: "model" }],
  },
];

/** All that the closed loop asks for, of every built-in game. The same job gives the same bytes in any process. */
export function arenaWorkload(): ServedWorkload {
  const world = createJobWorld();
  return {
    name: "ringrift-arena",
    version: "1",
    capabilities: { deterministic: true, config_keys: [...CONFIG_KEYS] },
    kinds: {
      selfplay: selfPlayJob(world),
      validation: validationJob(world),
      export: exportJob(world),
      training: trainingJob(world),
      evaluation: evaluationJob(world),
    },
    examples: EXAMPLES,
  };
}

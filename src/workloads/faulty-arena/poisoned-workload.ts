/** Harm around the honest jobs: they know nothing of it. */
import {
  arenaWorkload,
  createGame,
  DEFAULT_LOOP,
  decodeModel,
  decodeNpz,
  decodeSamples,
  encodeModel,
  encodeNpz,
  encodeSamples,
  type Game,
} from "../arena/index.ts";
import type { JobHandler, ServedJob, ServedWorkload } from "../process/index.ts";
import type { Poison } from "./declaration.ts";

/** The outcome of each row, given to the seat after the one that it belongs to. */
function turnLabels(bytes: Uint8Array): Uint8Array {
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  const { samples, origin } = isZip ? decodeNpz(bytes) : decodeSamples(bytes);
  const { players } = samples;
  const outcome = samples.outcome.map((_, i, all) => all[i - (i % players) + ((i + players - 1) % players)]!);
  return (isZip ? encodeNpz : encodeSamples)({ ...samples, outcome }, origin).bytes;
}

/** The network that likes what the given one dislikes: every output is turned around. */
function turnModel(bytes: Uint8Array, game: Game): Uint8Array {
  const { network, origin } = decodeModel(bytes, game);
  const weights = network.weights.slice();
  for (let i = network.layout.policyWeights; i < weights.length; i += 1) weights[i] = -weights[i]!;
  return encodeModel({ layout: network.layout, weights }, origin).bytes;
}

/** The job with the bytes of one kind of artifact changed on their way out. */
const changing = (job: ServedJob, kind: string, change: (bytes: Uint8Array) => Uint8Array): ServedJob => ({
  ...job,
  writeArtifact: (path, bytes, about) => job.writeArtifact(path, about.kind === kind ? change(bytes) : bytes, about),
});

/** The job with an eighth of its search and moves drawn almost at random, whatever it asks for. */
function carelessly(job: ServedJob): ServedJob {
  const { parameters } = job.message;
  const asked = typeof parameters.simulations === "number" ? parameters.simulations : DEFAULT_LOOP.search.simulations;
  const careless = { simulations: Math.max(1, Math.floor(asked / 8)), temperature: 40, late_temperature: 40 };
  return { ...job, message: { ...job.message, parameters: { ...parameters, ...careless } } };
}

const HARM: Readonly<Record<Poison, readonly [kind: string, (honest: JobHandler) => JobHandler]>> = {
  labels: ["selfplay", (honest) => (job) => honest(changing(job, "samples", turnLabels))],
  moves: ["selfplay", (honest) => (job) => honest(carelessly(job))],
  model: [
    "training",
    (honest) => (job) => {
      const game = createGame(job.message.config_key);
      return honest(changing(job, "model", (bytes) => turnModel(bytes, game)));
    },
  ],
};

export function poisonedArenaWorkload(poison: Poison): ServedWorkload {
  const honest = arenaWorkload();
  const [kind, harm] = HARM[poison];
  return {
    ...honest,
    name: `ringrift-arena-poisoned-${poison}`,
    kinds: { ...honest.kinds, [kind]: harm(honest.kinds[kind]!) },
  };
}

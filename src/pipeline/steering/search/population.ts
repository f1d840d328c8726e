/**
 * A population of training settings, or of network shapes, from generation to generation: who trains next, who plays, who goes on. It knows
 * no queue and no clock. All members of a generation train on the same rows in the same order and play the same openings against the same
 * champion, so that luck falls on all alike. What is found plays once more with openings of its own.
 */
import { OperatingError, seededRandom } from "../../../kernel/index.ts";
import {
  type ConfigPlan,
  type Jobs,
  type SearchOrder,
  type StageFailure,
  seedFor,
  type TunedValues,
  type Wait,
} from "../../stage/index.ts";
import { drawBlocks } from "../../statistics/index.ts";
import { countGames, failureOf, judgeProof, type PartResult, type Proof, proofOf, proofParts } from "./run.ts";
import { checkValues, unitsOf, valuesAt, valuesOf } from "./space.ts";

export type Member = {
  readonly name: string;
  readonly values: TunedValues;
  /** What it has come to; null before its first training, where it begins as the order says. */
  readonly model: string | null;
  readonly checkpoint: string | null;
  /** Of its last games. */
  readonly score: number | null;
  /** Whose network and settings it took over last; null where it never did. */
  readonly parent: string | null;
};

/** A network that came out of a generation. */
export type Trained = { readonly model: string; readonly checkpoint: string };

export type PopulationRun = {
  readonly run_id: string;
  readonly method: "pbt" | "nas";
  readonly state: "training" | "playing" | "proving" | "ended" | "failed";
  readonly seed: number;
  readonly generation: number;
  readonly generations: number;
  readonly members: readonly Member[];
  readonly jobs: Jobs;
  /** Networks and mean scores of the parts that are in, of the generation that is under way. */
  readonly trained: { readonly [part: string]: Trained };
  readonly scores: { readonly [part: string]: number };
  readonly counts: readonly number[];
  readonly repeated: number;
  /** Members that were trained and tried, and games that were played in all. */
  readonly evaluations: number;
  readonly games: number;
  readonly found: (Trained & { readonly name: string; readonly values: TunedValues; readonly score: number }) | null;
  readonly proof: Proof | null;
  readonly failure: StageFailure | null;
  readonly waits: readonly Wait[];
  readonly since: number;
  readonly ended_at: number | null;
};

type Plan = Pick<ConfigPlan, "population" | "architecture" | "training">;

/** The member that keeps the settings of now, against which the proof is played. */
const CONTROL = "control";

const EMPTY = { trained: {}, scores: {}, jobs: {} } as const;

const nobody = (message: string): OperatingError =>
  OperatingError.conflict("POPULATION_EMPTY", message, {
    hint: "Name settings in `population.parameters`, or shapes in `architecture.shapes` of the plan.",
  });

const member = (name: string, values: TunedValues): Member => ({
  ...{ name, values, model: null, checkpoint: null, score: null, parent: null },
});

/** How far a setting moves when it is explored, as a part of its scale. */
const EXPLORED = 0.1;
/** How far members lie apart at first. */
const SPREAD = 0.3;

/** Settings near others, each moved up or down on its own scale; what is drawn follows from seed, generation and member. */
function explore(space: Plan["population"]["parameters"], values: TunedValues, seed: number, reach: number) {
  const random = seededRandom(seed);
  const units = unitsOf(space, values).map((unit) => {
    const step = reach * (0.5 + random.next() / 2) * (random.next() < 0.5 ? -1 : 1);
    // What would leave the scale goes the other way.
    const moved = unit + step;
    return moved >= 0 && moved <= 1 ? moved : Math.min(1, Math.max(0, unit - step));
  });
  return valuesAt(space, units);
}

/** Rounds until one shape is left, if half of them go on each time. */
export function roundsOf(shapes: number): number {
  let rounds = 1;
  for (let left = shapes; left > 2; left = Math.ceil(left / 2)) rounds += 1;
  return rounds;
}

function membersOf(order: SearchOrder, plan: Plan, seed: number): Member[] {
  if (order.method === "nas") {
    // Orders of older versions name no shapes.
    const shapes = Object.entries(order.shapes ?? plan.architecture.shapes).sort(([a], [b]) => (a < b ? -1 : 1));
    if (shapes.length === 0) throw nobody("the plan names no shape of a network");
    const bad = shapes.find(([, values]) => !Object.values(values).every(Number.isFinite));
    if (bad !== undefined) throw OperatingError.invalid("KNOB_OUT_OF_BOUNDS", `shape '${bad[0]}' has no numbers`);
    return shapes.map(([name, values]) => member(name, values));
  }
  const { parameters, members } = plan.population;
  if (Object.keys(parameters).length === 0) throw nobody("the plan names no setting of training that may differ");
  checkValues(parameters, order.incumbent);
  return [
    member(CONTROL, order.incumbent),
    ...Array.from({ length: members }, (_, i) =>
      member(`m${i + 1}`, explore(parameters, order.incumbent, seedFor(seed, "first", i), SPREAD)),
    ),
  ];
}

/** The settings of training that count now, of those that may differ. */
export const incumbentOf = (plan: Plan, trained: TunedValues): TunedValues =>
  valuesOf(plan.population.parameters, { ...plan.training, ...trained });

export function beginPopulation(
  order: SearchOrder,
  plan: Plan,
  seed: number,
  players: number,
  now: number,
): PopulationRun {
  const empty: PopulationRun = {
    run_id: order.run_id,
    method: order.method === "nas" ? "nas" : "pbt",
    ...{ state: "training", seed, generation: 0, generations: 0, members: [], ...EMPTY },
    counts: drawBlocks(players).scores.map(() => 0),
    ...{ repeated: 0, evaluations: 0, games: 0, found: null, proof: null, failure: null, waits: [] },
    since: now,
    ended_at: null,
  };
  try {
    if (order.data == null || order.data.window.length === 0)
      throw OperatingError.conflict("SEARCH_WITHOUT_DATA", "there is no file to train the members on");
    const members = membersOf(order, plan, seed);
    const generations = order.method === "nas" ? roundsOf(members.length) : plan.population.generations;
    return { ...empty, members, generations };
  } catch (thrown) {
    return failPopulation(empty, failureOf(thrown), now);
  }
}

export const failPopulation = (run: PopulationRun, failure: StageFailure, now: number): PopulationRun => ({
  ...run,
  state: "failed",
  waits: [],
  failure,
  ended_at: now,
});

/** One job of a population: a member trains or plays. */
export interface PopulationPart {
  readonly name: string;
  readonly member: Member;
  readonly kind: "training" | "match";
  /** Batches, or blocks from the first on. */
  readonly steps: number;
  readonly firstBlock: number;
  readonly blocks: number;
  /** The model that it plays; null where it trains. */
  readonly opponent: string | null;
  readonly purpose: readonly (string | number)[];
}

const settingsOf = (run: Pick<PopulationRun, "method">, plan: Plan) =>
  run.method === "nas" ? plan.architecture : plan.population;

/** All jobs of what is under way. */
export function populationParts(run: PopulationRun, order: SearchOrder, plan: Plan): PopulationPart[] {
  const { generation, members, method } = run;
  const settings = settingsOf(run, plan);
  const about = (what: string) => ["search", order.number, what, generation];
  const nothing = { steps: 0, firstBlock: 0, blocks: 0, opponent: null };
  if (run.state === "training") {
    // Each round of halving trains twice as long as the one before.
    const steps = settings.steps * (method === "nas" ? 2 ** generation : 1);
    return members.map((each, i) => ({
      ...nothing,
      ...{ name: `g${generation}t${i}`, member: each, kind: "training" as const, steps, purpose: about("training") },
    }));
  }
  if (run.state === "playing")
    return members.map((each, i) => ({
      ...nothing,
      ...{ name: `g${generation}c${i}`, member: each, kind: "match" as const, blocks: settings.blocks },
      ...{ opponent: order.model, purpose: about("generation") },
    }));
  if (run.state !== "proving" || run.found === null) return [];
  const { name, values, model, checkpoint, score } = run.found;
  const found: Member = { name, values, model, checkpoint, score, parent: null };
  const control = members.find((each) => each.name === CONTROL);
  return proofParts(settings.proof_blocks).map((part) => ({
    ...nothing,
    ...part,
    ...{ member: found, kind: "match" as const, purpose: ["search", order.number, "proof"] },
    // Settings are proven against those of now, from the same start; a network against the one that it would follow.
    opponent: method === "pbt" ? control!.model! : order.model,
  }));
}

const without = (jobs: Jobs, part: string): Jobs =>
  Object.fromEntries(Object.entries(jobs).filter(([name]) => name !== part));

/** The run with a network that a member has come to. */
export const countTrained = (run: PopulationRun, part: string, trained: Trained): PopulationRun => ({
  ...run,
  jobs: without(run.jobs, part),
  trained: { ...run.trained, [part]: trained },
});

export const countPlayed = (run: PopulationRun, part: string, result: PartResult, players: number): PopulationRun => ({
  ...run,
  jobs: without(run.jobs, part),
  ...countGames(run, part, result, players),
});

/** The best first; of equals the one that stands first. */
const ranked = (members: readonly Member[]): Member[] =>
  members
    .map((each, i) => ({ each, i }))
    .sort((a, b) => b.each.score! - a.each.score! || a.i - b.i)
    .map(({ each }) => each);

/** The worst take over from the best, and look around there. The control stays as it is. */
function exploit(run: PopulationRun, plan: Plan): Member[] {
  const order = ranked(run.members);
  const movers = order.filter(({ name }) => name !== CONTROL);
  const few = Math.max(1, Math.floor(run.members.length / 4));
  const best = order.slice(0, few);
  const worst = movers.slice(-few).filter((each) => !best.includes(each));
  return run.members.map((each) => {
    const place = worst.indexOf(each);
    if (place < 0) return each;
    const from = best[place % best.length]!;
    const seed = seedFor(run.seed, "explore", run.generation, each.name);
    const values = explore(plan.population.parameters, from.values, seed, EXPLORED);
    return { ...each, values, model: from.model, checkpoint: from.checkpoint, parent: from.name };
  });
}

/** The next step once all parts of what is under way are in: from training to games, to the next generation, to the proof, to the end. */
export function advancePopulation(
  run: PopulationRun,
  parts: readonly PopulationPart[],
  plan: Plan,
  players: number,
  now: number,
): PopulationRun {
  const isIn = ({ name, kind }: PopulationPart) =>
    (kind === "training" ? run.trained[name] : run.scores[name]) !== undefined;
  if (parts.length === 0 || !parts.every(isIn)) return run;
  if (run.state === "training") {
    const members = run.members.map((each, i) => ({ ...each, ...run.trained[parts[i]!.name]! }));
    return { ...run, ...EMPTY, state: "playing", members, evaluations: run.evaluations + members.length };
  }
  if (run.state === "proving")
    return { ...run, ...EMPTY, state: "ended", waits: [], ended_at: now, proof: proofOf(run, players) };
  const members = run.members.map((each, i) => ({ ...each, score: run.scores[parts[i]!.name]! }));
  const played = { ...run, ...EMPTY, members, generation: run.generation + 1 };
  const order = ranked(members);
  if (played.generation < run.generations) {
    const next = run.method === "nas" ? order.slice(0, Math.ceil(order.length / 2)) : undefined;
    return {
      ...played,
      state: "training",
      // They stay in the order of the plan, so that what is drawn for each follows from its place.
      members: next === undefined ? exploit({ ...run, members }, plan) : members.filter((each) => next.includes(each)),
    };
  }
  const { name, values, model, checkpoint, score } = order.find((each) => each.name !== CONTROL)!;
  return {
    ...played,
    state: "proving",
    found: { name, values, model: model!, checkpoint: checkpoint!, score: score! },
  };
}

/** The best score of the generation that was played last; undefined before one was. */
export const bestOf = ({ members }: Pick<PopulationRun, "members">): Member | undefined => {
  const played = members.filter(({ score }) => score !== null);
  return played.length === 0 ? undefined : ranked(played)[0];
};

export type PopulationVerdict =
  | {
      readonly outcome: "applied";
      readonly found: NonNullable<PopulationRun["found"]>;
      readonly proof: Proof;
      readonly why: string;
    }
  | { readonly outcome: "kept" | "failed"; readonly why: string };

/** What becomes of what a population has found. Without proof nothing changes. */
export function judgePopulation(run: PopulationRun, plan: Plan): PopulationVerdict {
  if (run.state === "failed") return { outcome: "failed", why: run.failure?.message ?? "it failed" };
  const { found, proof } = run;
  if (found === null || proof === null) return { outcome: "failed", why: "it ended without a proof" };
  try {
    if (run.method === "pbt") checkValues(plan.population.parameters, found.values);
  } catch (thrown) {
    return { outcome: "failed", why: failureOf(thrown).message };
  }
  const { outcome, why } = judgeProof(proof);
  return outcome === "applied" ? { outcome, found, proof, why } : { outcome, why };
}

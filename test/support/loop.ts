/**
 * The closed loop with real parts: a coordination in this process, a worker process beside it, and plans that are quick.
 *
 * What is in here decides nothing: it starts, waits for rows, and reads what came of it.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import type { BootstrapOptions } from "../../src/app/bootstrap-options.ts";
import { plansFor, type WantedPlan } from "../../src/app/pipeline/plans.ts";
import { readSettings } from "../../src/app/settings.ts";
import { startLocalWorker } from "../../src/app/worker/local-worker.ts";
import { workloadList } from "../../src/app/worker/workload-list.ts";
import type { Unit } from "../../src/daemons/index.ts";
import { defined, type Log, seededRandom, silentLog, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { type ConfigSnapshot, STAGES } from "../../src/pipeline/index.ts";
import { stageHistory } from "../../src/pipeline/tables.ts";
import type { AnyEvent } from "../../src/router/index.ts";
import { CLI, environment, type Owned } from "./process.ts";

export const CONFIG = "othello6_2p";

/** Two rounds in seconds: small networks, short searches, a gate that ends soon. */
export const QUICK = {
  seed: 7,
  most_iterations: 2,
  games_per_iteration: 32,
  games_per_job: 8,
  selfplay: { simulations: 16, wide: 16, narrow: 16, format: "npz" },
  training: { wide: 16, narrow: 16 },
  evaluation: { simulations: 12, opening_plies: 5 },
  least_rows: 100,
  gate: { batch_blocks: 10, most_blocks: 40 },
};

/** Enough to get better several times. */
export const LARGER = {
  ...QUICK,
  most_iterations: 6,
  games_per_iteration: 120,
  games_per_job: 20,
  selfplay: { simulations: 48, wide: 32, narrow: 32, format: "npz" },
  training: { wide: 32, narrow: 32 },
  gate: { batch_blocks: 20, most_blocks: 200 },
};

type Given = Parameters<typeof plansFor>[1];

export const planned = (given: Given, configKeys: readonly string[] = [CONFIG], configFile?: string): WantedPlan[] =>
  plansFor(configKeys, given, { configFile, workloads: workloadList(configFile, 1), workers: 2 });

export interface LoopOptions {
  readonly plans: readonly WantedPlan[];
  readonly dataDir?: string;
  /** Jobs at once; 0 for no worker beside it. */
  readonly slots?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly configFile?: string;
  /** What the worker beside it is told, where that is something else. */
  readonly workerConfigFile?: string;
  readonly wrapUnit?: (unit: Unit) => Unit;
  readonly log?: Log;
  /** Between two looks at the rows. */
  readonly lookEveryMs?: number;
}

type Main = Awaited<ReturnType<typeof bootstrapCoordination>>;

export interface RunningLoop {
  readonly main: Main;
  readonly dataDir: string;
  /** Of the worker beside it; undefined while none runs. */
  readonly workerPid: () => number | undefined;
  /** The loop of a config as it stands now. */
  config(configKey?: string): ConfigSnapshot;
  /** Waits for rows, not for time: it ends when they are as wanted, or when the loop cannot go on. */
  until(holds: (config: ConfigSnapshot) => boolean, configKey?: string): Promise<ConfigSnapshot>;
  complete(configKey?: string): Promise<ConfigSnapshot>;
  end(): Promise<void>;
}

/** A look reads all of the loop: more often it would take its time from those who work. */
const LOOK_EVERY_MS = 200;

export async function startLoop(own: Owned, options: LoopOptions): Promise<RunningLoop> {
  const { plans, slots = 1, env = {}, configFile, wrapUnit } = options;
  const dataDir = options.dataDir ?? own.folder();
  const given: BootstrapOptions = {
    settings: readSettings(env, dataDir, { dataDir, port: 0, ...defined({ configFile }) }),
    log: options.log ?? silentLog(),
    plans,
    ...defined({ wrapUnit }),
  };
  const main = await bootstrapCoordination(given);
  const worker =
    slots === 0
      ? undefined
      : startLocalWorker({
          slots,
          dataDir,
          configFile: options.workerConfigFile ?? configFile,
          program: CLI,
          env: environment({ RINGRIFT_JOB_GRACE_PERIOD: "1", ...env }),
          clock: systemClock(),
          random: systemRandom(),
          log: silentLog(),
        });
  let broken: Error | undefined;
  void main.broken.then((error) => {
    broken = error;
  });
  const config = (configKey: string = CONFIG) => {
    const found = main.loop().configs.find((each) => each.config_key === configKey);
    if (found === undefined) throw new Error(`there is no loop of ${configKey}`);
    return found;
  };
  const until: RunningLoop["until"] = async (holds, configKey = CONFIG) => {
    for (;;) {
      if (broken !== undefined) throw broken;
      const now = main.loop().configs.find((each) => each.config_key === configKey);
      if (now !== undefined && holds(now)) return now;
      if (now?.state === "failed") throw new Error(`${configKey} cannot go on: ${JSON.stringify(now.failures)}`);
      await new Promise((resolve) => setTimeout(resolve, options.lookEveryMs ?? LOOK_EVERY_MS));
    }
  };
  return {
    main,
    dataDir,
    workerPid: () => worker?.pid,
    config,
    until,
    complete: (configKey) => until(({ state }) => state === "complete", configKey),
    async end() {
      await worker?.stop();
      await main.shutdown();
    },
  };
}

export const sha256OfText = (text: string): string => createHash("sha256").update(text).digest("hex");
export const sha256Of = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
export const artifactPath = (dataDir: string, sha256: string): string =>
  join(dataDir, "artifacts", sha256.slice(0, 2), sha256);

/** What units of this process have thrown. */
export const unitErrors = ({ main }: Pick<RunningLoop, "main">): string[] =>
  main.units.status().flatMap(({ name, recent_errors }) => recent_errors.map(({ error }) => `${name}: ${error}`));

/** What must hold of a loop at its end, whatever happened on the way. */
export async function soundness({ main, dataDir }: RunningLoop, configKey: string = CONFIG) {
  const { champion, champions, books, iteration } = main.loop().configs.find((each) => each.config_key === configKey)!;
  const ended = stageHistory(main.router.store, { configKey, limit: 10_000 });
  const rounds = Array.from({ length: iteration }, (_, i) => i + 1);
  const { pending, retrying } = main.router.deadLetters.counts();
  return {
    balanced: books.balanced,
    inFlight: books.in_flight,
    deadLetters: pending + retrying,
    unitErrors: unitErrors({ main }),
    audit: (await main.audit()).findings.filter(({ fails, excuse }) => fails && excuse === null),
    championIsWhole: champion !== null && sha256Of(artifactPath(dataDir, champion.model)) === champion.model,
    /** One crowning by a gate for each iteration at most. */
    crownedTwice: champions
      .filter(({ by }) => by === "gate")
      .map(({ iteration: round }) => round)
      .filter((round, i, all) => all.indexOf(round) !== i),
    missingStages: rounds.flatMap((round) =>
      STAGES.filter(
        (stage) => !ended.some((each) => each.iteration === round && each.stage === stage && each.state === "done"),
      ).map((stage) => `${round} ${stage}`),
    ),
    withoutEvidence: ended
      .filter(({ state, evidence }) => state === "done" && Object.keys(evidence).length === 0)
      .map(({ iteration: round, stage }) => `${round} ${stage}`),
  };
}

/** What a seeded run came to, model by model: the same bytes, or another run. */
export const outcomeOf = ({ champions, gates, losses }: ConfigSnapshot) => ({
  champion: champions.at(-1)!.model,
  champions: champions.map(({ model, iteration, by }) => ({ model, iteration, by })),
  gates: gates.map(({ candidate, opponent, counts, verdict }) => ({ candidate, opponent, counts, verdict })),
  losses: losses.map(({ policy_loss, value_loss }) => [policy_loss, value_loss]),
});

export const SOUND: Awaited<ReturnType<typeof soundness>> = {
  balanced: true,
  inFlight: 0,
  deadLetters: 0,
  unitErrors: [],
  audit: [],
  championIsWhole: true,
  crownedTwice: [],
  missingStages: [],
  withoutEvidence: [],
};

/** The units of the loop, by what they write: everything that the pipeline drives. */
const isOfLoop = ({ tables }: Unit): boolean => tables.some((table) => table.startsWith("pipeline_"));

/** Its ticks as often as tests can wait for. */
export const ticking =
  (everyMs: number) =>
  (unit: Unit): Unit =>
    isOfLoop(unit) && unit.everyMs !== null ? { ...unit, everyMs: Math.min(unit.everyMs, everyMs) } : unit;

/** No unit of the loop hears anything. */
export const deaf = (unit: Unit): Unit =>
  isOfLoop(unit) ? { ...unit, behaviour: { ...unit.behaviour, handle: () => undefined } } : unit;

type Context = Parameters<Unit["behaviour"]["tick"]>[0];

export interface Disturbed {
  dropped: number;
  doubled: number;
  delayed: number;
}

/**
 * A share of the deliveries is lost, comes twice, or comes late: as work of its own at the next tick of the unit, when other
 * things have happened since.
 */
export function disturbing(seed: number, share: number): { wrap: (unit: Unit) => Unit; counts: Disturbed } {
  const counts: Disturbed = { dropped: 0, doubled: 0, delayed: 0 };
  const wrap = (unit: Unit): Unit => {
    if (!isOfLoop(unit) || unit.everyMs === null) return unit;
    const random = seededRandom(seed ^ [...unit.name].reduce((sum, char) => sum * 31 + char.charCodeAt(0), 7));
    const { behaviour } = unit;
    const later: AnyEvent[] = [];
    return {
      ...unit,
      behaviour: {
        ...behaviour,
        handle(event: AnyEvent, context: Context) {
          if (random.next() >= share) return behaviour.handle(event, context);
          const how = (["dropped", "doubled", "delayed"] as const)[Math.floor(random.next() * 3)]!;
          counts[how] += 1;
          if (how !== "dropped") later.push(event);
          return how === "doubled" ? behaviour.handle(event, context) : undefined;
        },
        tick(context: Context) {
          const [event] = later;
          if (event === undefined) return behaviour.tick(context);
          // Tried again if what it read has changed: it is over when it is on disk.
          context.afterCommit(() => void later.splice(later.indexOf(event), 1));
          return behaviour.handle(event, context);
        },
      },
    };
  };
  return { wrap, counts };
}

/**
 * The whole loop in a world that does not mean it well: from whatever state the bad times left behind, as long as one worker is
 * honest, it promotes or rejects a candidate within a bounded time, or names a cause that a person can remove. One seed is one
 * history: bad times with a main process that dies at commits, lost events, nodes that come and go, a busy machine, a full disk,
 * and people who pause and cordon; then calm, with the same workers, in which the property must hold.
 */
import { memoryWriter } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { nodeIdOf } from "../../../src/cluster/nodes/identity.ts";
import { pick, seededRandom, virtualClock } from "../../../src/kernel/index.ts";
import { configPlanSchema } from "../../../src/pipeline/index.ts";
import { breathe } from "../../support/virtual-time.ts";
import { createFiles } from "./files.ts";
import { type Look, lookAt } from "./person.ts";
import { PLANTED_ROWS, type Plant } from "./plants.ts";
import { bootMain, LOCAL, type MainProcess, type Surroundings } from "./process.ts";
import { type Character, createCraft, rawKeyOf, runWorker, type Worker } from "./workers.ts";

/** Something must come of the loop, or a cause must be named, within so much time for each config: they share the workers. */
const BOUND_MS = 40 * 60_000;
/** Causes that a person may have to remove, one after the other, for one outcome. */
const MAX_LOOKS = 2;
/** How often somebody glances at it in the first minutes. */
const LOOK_MS = 60_000;
const GLANCES = 5;
const BAD_TIMES_MS = 8 * 60_000;
const OUTCOMES = 2;

export interface LivenessReport {
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly crashes: number;
  /** Verdicts on candidates after the bad times, by config. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly looks: readonly Look[];
  readonly characters: readonly Character[];
  readonly virtualMinutes: number;
}

const OTHERS: readonly Character[] = ["lying", "noisy", "stuck", "undelivering", "dying"];

const planOf = (config_key: string) =>
  configPlanSchema().parse({
    config_key,
    seed: 5,
    games_per_iteration: 24,
    games_per_job: 6,
    holdout_share: 0.1,
    least_rows: 50,
    gate: { elo1: 100, least_elo1: 100, batch_blocks: 16, most_blocks: 48 },
  });

/** What is given in place of luck. */
export interface Scene {
  readonly plant?: Plant;
  /** Those who work beside the first one, who is honest. */
  readonly others?: readonly Character[];
  /** Whether the first one works on the machine of the main process. */
  readonly isLocal?: boolean;
  /** Share of the processors that others take when the bad times are over. */
  readonly busy?: number;
}

export async function simulateLiveness(seed: number, scene: Scene = {}): Promise<LivenessReport> {
  const { plant = "none" } = scene;
  const random = seededRandom(seed);
  const clock = virtualClock();
  const writer = memoryWriter(storeModules);
  const planted = PLANTED_ROWS[plant];
  if (planted !== undefined) writer.db.exec(planted);
  const files = createFiles();
  const machine = { others: 0.1, disk: 0.4 };
  const trace: string[] = [];
  const violations: string[] = [];
  const looks: Look[] = [];
  const say = (line: string) => void trace.push(`${Math.round(clock.monotonic())} ${line}`);
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  let [crashes, isBad, over] = [0, true, false];

  const plans = (random.next() < 0.3 ? ["a_2p", "b_2p"] : ["a_2p"]).map(planOf);
  const boundMs = BOUND_MS * plans.length;
  const workers: Worker[] = [];
  const add = (character: Character, isLocal = false) => {
    const label = isLocal ? LOCAL : `box${workers.length + 1}`;
    const nodeId = isLocal ? LOCAL : nodeIdOf(rawKeyOf(label));
    workers.push({ label, nodeId, character, slots: 1 + pick(random, 3), isOn: true });
    return workers.at(-1)!;
  };
  // The machine of the main process need not have a worker.
  add("honest", scene.isLocal ?? random.next() < 0.5);
  const cast = Array.from(
    { length: pick(random, 4) },
    (): Character => (random.next() < 0.25 ? "honest" : OTHERS[pick(random, OTHERS.length)]!),
  );
  for (const character of scene.others ?? cast) add(character);

  const surroundings: Surroundings = {
    writer,
    clock,
    random,
    files,
    machine,
    plans,
    plant,
    chances: () => (isBad ? { lost: 0.15, crash: 0.0015 } : { lost: 0, crash: 0 }),
    died(mine, at) {
      crashes += 1;
      mine.alive = false;
      say(`the main process dies ${at}`);
      clock.after(500 + pick(random, 20_000), () => {
        main = bootMain(surroundings);
      });
    },
  };
  let main: MainProcess = bootMain(surroundings);
  const craft = createCraft(files, new Map(workers.map(({ nodeId, character }) => [nodeId, character])));
  const stage = { clock, random, files, local: LOCAL, main: () => main, isOver: () => over, say };
  for (const worker of workers) runWorker(stage, craft, worker);
  const people = {
    machine,
    workers,
    main: () => main,
    addWorker: () => runWorker(stage, craft, add("honest")),
  };

  const read = <T>(sql: string, ...values: string[]) => writer.db.prepare(sql).all(...values) as T[];
  const verdicts = (configKey: string): number =>
    read<{ n: number }>("SELECT count(*) AS n FROM gate_verdicts WHERE config_key = ?", configKey)[0]!.n;

  /** What happens to a cluster, and what people do to it. Some of it stays when the bad times are over. */
  const misfortune = async () => {
    const by = { actor: "operator:bob", reason: "I look into it", dryRun: false };
    while (isBad) {
      await wait(20_000 + pick(random, 80_000));
      const luck = random.next();
      const worker = workers[pick(random, workers.length)]!;
      const plan = plans[pick(random, plans.length)]!;
      if (!main.alive || !isBad) continue;
      const ignore = () => undefined;
      if (luck < 0.15) machine.others = machine.others > 0.5 ? 0.1 : 0.93;
      else if (luck < 0.25) machine.disk = machine.disk > 0.5 ? 0.4 : 0.99;
      else if (luck < 0.4) worker.isOn = !worker.isOn;
      else if (luck < 0.5) await Promise.race([main.console.pause(plan.config_key, by).catch(ignore), wait(5_000)]);
      else if (luck < 0.65) await Promise.race([main.console.resume(plan.config_key, by).catch(ignore), wait(5_000)]);
      else if (luck < 0.75)
        await Promise.race([
          main.nodes.cordon(worker.nodeId, { reason: "odd", by: "bob", drain: false }).catch(ignore),
          wait(5_000),
        ]);
      else if (luck < 0.9) await Promise.race([main.nodes.uncordon(worker.nodeId).catch(ignore), wait(5_000)]);
      say(`misfortune ${luck.toFixed(2)}`);
    }
  };

  /** Waits for an outcome. What is plain to see is done on the way. */
  const outcomeAfter = async (configKey: string, before: number): Promise<boolean> => {
    const until = clock.now() + boundMs;
    for (let looked = 0; clock.now() < until; looked += 1) {
      await wait(LOOK_MS);
      if (verdicts(configKey) > before) return true;
      const look = looked < GLANCES ? await lookAt(people, configKey, true) : undefined;
      if (look?.done != null) noteLook(look);
    }
    return false;
  };
  const noteLook = (look: Look) => {
    looks.push(look);
    say(`somebody looks at ${look.configKey}: ${look.told.join("; ") || "nothing is said"} -> ${look.done}`);
  };

  /** In calm times: an outcome, or a cause that can be removed, again and again. */
  const judge = async (configKey: string) => {
    for (let outcome = 0; outcome < OUTCOMES; outcome += 1) {
      const before = verdicts(configKey);
      for (let looked = 1; !(await outcomeAfter(configKey, before)); looked += 1) {
        const look = await lookAt(people, configKey);
        noteLook(look);
        if (look.done !== null && looked < MAX_LOOKS) continue;
        const why = look.told.join("; ") || "no cause was named";
        violations.push(`nothing came of ${configKey} after ${looked} times ${boundMs / 60_000} minutes: ${why}`);
        return;
      }
    }
  };

  /** One that does its jobs is there, or else nobody but such: that others alone do not bring it far is no fault of the loop. */
  const ensureHonest = async () => {
    const honest = workers.filter(({ character }) => character === "honest");
    const isAble = honest.some(({ isOn, nodeId }) => isOn && main.nodes.barred(nodeId) === undefined);
    if (isAble || honest.length === workers.length) return;
    const [first] = workers as [Worker];
    first.isOn = true;
    if (main.nodes.barred(first.nodeId) !== undefined) await main.nodes.uncordon(first.nodeId);
  };

  const calm = async () => {
    await wait(BAD_TIMES_MS);
    isBad = false;
    machine.others = scene.busy ?? machine.others;
    while (!main.alive) await wait(1_000);
    await ensureHonest();
    say(`calm: others ${machine.others}, disk ${machine.disk}`);
    const start = Object.fromEntries(plans.map(({ config_key }) => [config_key, verdicts(config_key)]));
    await Promise.all(plans.map(({ config_key }) => judge(config_key)));
    return Object.fromEntries(Object.entries(start).map(([key, before]) => [key, verdicts(key) - before]));
  };
  void misfortune();
  const judged = calm();
  judged.then(
    () => {
      over = true;
    },
    () => {
      over = true;
    },
  );
  await breathe();
  while (!over) {
    clock.step();
    await breathe();
  }
  const outcomes = await judged;
  for (const { seq, outcome } of read<{ seq: number; outcome: string }>(
    "SELECT seq, outcome FROM work_jobs WHERE state = 'completed'",
  ))
    for (const { name, sha256 } of (JSON.parse(outcome) as { outputs: { name: string; sha256: string }[] }).outputs)
      if (!files.has(sha256)) violations.push(`w${seq} counts as done, and its file ${name} never came`);
  main.alive = false;
  writer.close();
  const characters = workers.map(({ character }) => character);
  return { violations, trace, crashes, outcomes, looks, characters, virtualMinutes: clock.monotonic() / 60_000 };
}

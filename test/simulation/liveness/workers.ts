/** The workers of the simulated cluster: one that does its jobs, and those whom a cluster has to live with. */
import { type Clock, isOperatingError, pick, type Random } from "../../../src/kernel/index.ts";
import type { EvidenceInput, Lease, WorkFailure, WorkQueue } from "../../../src/work/index.ts";
import { inputOf, playMatch, sha } from "../../unit/pipeline/learning-world.ts";
import { createPlayer, type Player } from "../../unit/pipeline/player.ts";
import type { Files } from "./files.ts";
import type { MainProcess } from "./process.ts";

export type Character =
  | "honest"
  /** Labels that are wrong, checks that accuse others, training without steps, results that are none. */
  | "lying"
  /** Files that nobody can read. */
  | "noisy"
  /** Takes jobs, beats, and never comes further. */
  | "stuck"
  /** Says that it is done, and its files never come. */
  | "undelivering"
  /** Vanishes with its jobs and comes back, again and again. */
  | "dying";

export interface Worker {
  readonly label: string;
  readonly nodeId: string;
  readonly character: Character;
  readonly slots: number;
  /** Whether it is switched on. */
  isOn: boolean;
}

const CAPABILITIES = { cpu: 8, gpu: 0, memory_gb: 32, gpu_memory_gb: 0, tags: [] };
const BEAT_MS = 15_000;
const CALL_MS = 5_000;

type Outcome = { readonly evidence: EvidenceInput } | { readonly failure: WorkFailure };

export interface WorkerWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly local: string;
  main(): MainProcess;
  isOver(): boolean;
  say(line: string): void;
}

/** What jobs come to. It follows from the job and from who does it, and from nothing else. */
export function createCraft(files: Files, characters: ReadonlyMap<string, Character>) {
  const vices = Object.fromEntries(
    [...characters].filter(([, character]) => character === "lying").map(([nodeId]) => [nodeId, "labels" as const]),
  );
  const player: Player = createPlayer({ vices });
  const strengths = new Map<string, number>();

  const train = (lease: Lease): EvidenceInput => {
    const { parameters, seed, inputs } = inputOf(lease);
    const text = JSON.stringify([parameters, seed, inputs]);
    const fresh = parameters.fresh === true;
    const [model, checkpoint] = [files.shelf.put(`model ${text}`), files.shelf.put(`checkpoint ${text}`)];
    const base = strengths.get(inputs.find(({ name }) => name === "checkpoint")?.sha256 ?? "") ?? 0;
    const luck = Number.parseInt(sha(text).slice(0, 4), 16) / 0xffff;
    for (const { sha256 } of [model, checkpoint]) strengths.set(sha256, fresh ? 0 : base + 600 * luck - 300);
    return {
      outputs: [
        { name: "model.arena", ...model },
        { name: "checkpoint.arena", ...checkpoint },
      ],
      counts: fresh ? { fresh: 1, steps: 0 } : { steps: 5, rows: 100 },
      summary: fresh ? {} : { policy_loss: 1.5, value_loss: 0.5 },
    };
  };

  const honest = (lease: Lease, nodeId: string): Outcome => {
    const unread = inputOf(lease).inputs.find(({ sha256 }) => files.noise.has(sha256));
    if (unread !== undefined)
      return { failure: { class: "bad_input", error: `${unread.name} cannot be read`, error_code: "bad_model" } };
    if (lease.work_type === "training") return { evidence: train(lease) };
    if (lease.work_type === "evaluation")
      return { evidence: playMatch(lease, files.shelf, (each) => strengths.get(each) ?? 0) };
    const isRead = lease.work_type === "validation" || lease.work_type === "export";
    const unknown =
      isRead && inputOf(lease).inputs.find(({ name, sha256 }) => name !== "model" && !player.files.has(sha256));
    if (unknown)
      return { failure: { class: "bad_input", error: `${unknown.name} cannot be read`, error_code: "bad_samples" } };
    return player.do(lease, nodeId);
  };

  const lying = (lease: Lease, nodeId: string): Outcome => {
    const done = honest(lease, nodeId);
    if (!("evidence" in done)) return done;
    const { counts = {} } = done.evidence;
    if (lease.work_type === "validation")
      return { evidence: { ...done.evidence, counts: { ...counts, label_errors: 3 } } };
    if (lease.work_type === "training") return { evidence: { ...done.evidence, counts: { steps: 0 }, summary: {} } };
    if (lease.work_type !== "evaluation") return done;
    return { evidence: { ...done.evidence, outputs: [{ name: "pairs.jsonl", ...files.shelf.put("no result") }] } };
  };

  const noisy = (lease: Lease, nodeId: string): Outcome => {
    const done = honest(lease, nodeId);
    const { work_type, work_id } = lease;
    if ((work_type !== "selfplay" && work_type !== "training") || !("evidence" in done)) return done;
    const outputs = done.evidence.outputs!.map(({ name }) => ({
      name,
      ...files.shelf.put(`noise ${name} ${work_id}`),
    }));
    if (work_type === "training") for (const { sha256 } of outputs) files.noise.add(sha256);
    return { evidence: { ...done.evidence, outputs } };
  };

  return { do: { honest, lying, noisy, stuck: honest, undelivering: honest, dying: honest } };
}
export type Craft = ReturnType<typeof createCraft>;

/** A worker in the world: it joins, beats, asks for jobs and does them as its character is. */
export function runWorker(world: WorkerWorld, craft: Craft, worker: Worker): void {
  const { clock, random, files } = world;
  const { nodeId, label, character, slots } = worker;
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  /** A call that is never answered if the main process dies over it; a refusal is an answer. */
  const call = async <T>(run: (main: MainProcess) => Promise<T>): Promise<T | undefined> => {
    const main = world.main();
    if (!main.alive) return undefined;
    const answer = run(main).catch((thrown: unknown) => {
      if (!isOperatingError(thrown)) throw thrown;
      return undefined;
    });
    return Promise.race([answer, wait(CALL_MS).then(() => undefined)]);
  };
  const onQueue = <T>(run: (queue: WorkQueue) => Promise<T>) => call(({ queue }) => run(queue));
  let held = 0;
  let life = 1;

  const beats = async () => {
    while (!world.isOver()) {
      if (worker.isOn && nodeId !== world.local) {
        const joined = await call(async ({ nodes }) => nodes.row(nodeId));
        if (joined === undefined)
          await call(({ nodes }) => nodes.join(joinOf(label), { actor: "test", address: "10.0.0.1" }));
        await call(({ nodes }) =>
          nodes.beat({
            node_id: nodeId,
            incarnation: life,
            version: "1.0.0",
            load: { running: held, free: { ...CAPABILITIES, cpu: Math.max(0, CAPABILITIES.cpu - held) } },
            spool: { waiting: 0 },
          }),
        );
      }
      await wait(BEAT_MS);
    }
  };

  const work = async (lease: Lease) => {
    const mine = life;
    const goesOn = () => worker.isOn && life === mine && !world.isOver();
    await onQueue((queue) => queue.start(lease));
    const totalMs = 4_000 + pick(random, 20_000);
    for (let doneMs = 0; goesOn() && (character === "stuck" || doneMs < totalMs); ) {
      const stepMs = Math.min(BEAT_MS, totalMs - doneMs);
      await wait(character === "stuck" ? BEAT_MS : stepMs);
      if (!goesOn()) return;
      if (character !== "stuck") doneMs += stepMs;
      const progress = character === "stuck" ? 0.3 : doneMs / totalMs;
      const beat = await onQueue((queue) => queue.heartbeat(lease, { progress }));
      // One that is stuck is soon stuck in the next job, if it loses this one.
      if (beat?.stop != null || (beat === undefined && character === "stuck")) return;
    }
    if (!goesOn()) return;
    if (character === "dying" && random.next() < 0.3) return void (await die());
    const outcome = craft.do[character](lease, nodeId);
    for (let tries = 0; tries < 4 && goesOn(); tries += 1) {
      if ("failure" in outcome) {
        if ((await onQueue((queue) => queue.fail(lease, outcome.failure))) !== undefined) return;
      } else {
        if (character !== "undelivering") files.upload(outcome.evidence.outputs ?? []);
        if ((await onQueue((queue) => queue.complete(lease, outcome.evidence))) !== undefined) return;
      }
      await wait(2_000);
    }
  };

  const die = async () => {
    worker.isOn = false;
    life += 1;
    world.say(`${label} is gone`);
    await wait(20_000 + pick(random, 200_000));
    worker.isOn = true;
  };

  const claims = async () => {
    while (!world.isOver()) {
      const most = slots - held;
      const leases =
        worker.isOn && most > 0
          ? ((await onQueue((queue) => queue.claim({ node_id: nodeId, most, offer: CAPABILITIES }))) ?? [])
          : [];
      for (const lease of leases) {
        held += 1;
        world.say(`${label} takes ${lease.work_type} ${lease.work_id}`);
        void work(lease).finally(() => {
          held -= 1;
        });
      }
      await wait(leases.length > 0 ? 500 : 2_000 + pick(random, 2_000));
    }
  };
  void beats();
  void claims();
}

const keyOf = (label: string): Buffer => Buffer.from(sha(label), "hex");
const joinOf = (label: string) => ({
  label,
  version: "1.0.0",
  protocol: 1,
  public_key: keyOf(label).toString("base64"),
  capabilities: CAPABILITIES,
});
export const rawKeyOf = keyOf;

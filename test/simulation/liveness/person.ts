/**
 * Somebody who looks when nothing has come of the loop for a while. They know what the causes tell them and nothing else: they do
 * what the advice says, and where it says to look they find what there is to see. Foreign programs are not theirs to end.
 */
import type { Cause } from "../../../src/daemons/index.ts";
import { isOperatingError } from "../../../src/kernel/index.ts";
import type { Machine, MainProcess } from "./process.ts";
import type { Worker } from "./workers.ts";

export interface PersonWorld {
  readonly machine: Machine;
  readonly workers: readonly Worker[];
  main(): MainProcess;
  /** A new worker that does its jobs. */
  addWorker(): void;
}

const because = { actor: "operator:ann", reason: "the advice said so", dryRun: false };

/** What one can do about a cause; undefined where there is nothing to do. */
function remedyFor(world: PersonWorld, { advice, affects }: Cause): (() => Promise<unknown>) | undefined {
  const { queue, nodes, console } = world.main();
  const subject = advice?.subject ?? "";
  /** Whoever looks at what failed sees who did it. */
  const culprits = () =>
    world.workers.filter(
      ({ nodeId, character }) =>
        character !== "honest" && nodes.row(nodeId) !== undefined && nodes.barred(nodeId) === undefined,
    );
  const bar = () =>
    Promise.all(culprits().map(({ nodeId }) => nodes.cordon(nodeId, { reason: "it fails", by: "ann", drain: true })));
  const holder = world.workers.find(({ label, nodeId }) => label === subject || nodeId === subject);
  switch (advice?.action) {
    case "resume_config":
      return () => console.resume(subject, because);
    case "uncordon":
      return () => nodes.uncordon(subject);
    case "free_disk":
      return async () => {
        world.machine.disk = 0.4;
      };
    case "add_worker":
      return async () => world.addWorker();
    case "show_node":
      // A machine that is off can be switched on; one that runs shows nothing.
      return holder === undefined || holder.isOn
        ? undefined
        : async () => {
            holder.isOn = true;
          };
    case "history":
      return async () => {
        await bar();
        for (const config of affects) {
          await console.pause(config, because);
          await console.resume(config, because);
        }
      };
    case "retry_config":
      return async () => {
        await bar();
        await console.retry(subject, because);
      };
    case "retry_job":
      return () => queue.retry(subject, { reason: because.reason, requested_by: because.actor });
    case "show_job":
      return culprits().length === 0 ? undefined : bar;
    default:
      return undefined;
  }
}

export interface Look {
  readonly configKey: string;
  /** What the config stands still for, as `why` says it. */
  readonly told: readonly string[];
  /** What was done about it, or null if there was nothing to do. */
  readonly done: string | null;
}

/** What is plain to see needs no patience: somebody holds it up, or nobody is there. */
const PLAIN = new Set(["resume_config", "uncordon", "free_disk", "add_worker"]);

/** One look at a config from which nothing has come; a short one only sees what is plain. */
export async function lookAt(world: PersonWorld, configKey: string, isShort = false): Promise<Look> {
  const causes = world
    .main()
    .causes.all()
    .filter(({ affects, level }) => affects.includes(configKey) && level !== "note")
    .filter(({ advice }) => !isShort || PLAIN.has(advice?.action ?? ""));
  const told = causes.map(({ code, what }) => `${code}: ${what}`);
  for (const cause of causes) {
    const remedy = remedyFor(world, cause);
    if (remedy === undefined) continue;
    try {
      await remedy();
      return { configKey, told, done: `${cause.advice!.action} ${cause.advice!.subject}` };
    } catch (thrown) {
      if (!isOperatingError(thrown)) throw thrown;
      told.push(`${cause.advice!.action} was refused: ${thrown.message}`);
    }
  }
  return { configKey, told, done: null };
}

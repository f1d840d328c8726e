import { readFileSync } from "node:fs";
import { heldJobs, showJob } from "../../../../work/index.ts";
import { processTable } from "../../../../workloads/process/index.ts";
import { type Act, type ChaosWorld, pick, seconds } from "./act.ts";

/** A job that was in the worker's hands. */
export interface Victim {
  readonly work_id: string;
  readonly fence: number;
}

type Fate = { readonly how: "again" | "undisturbed" | "unwanted"; readonly by: string | null } | "open" | "lost";

/** What became of a job since: whoever claimed it later has a higher fence. */
function fateOf(store: ChaosWorld["store"], { work_id, fence }: Victim): Fate {
  const job = showJob(store, work_id);
  if (job === undefined || job.state === "failed") return "lost";
  if (job.state === "cancelled") return { how: "unwanted", by: null };
  if (job.state !== "completed") return "open";
  return { how: job.fence > fence ? "again" : "undisturbed", by: job.node_id };
}

const list = (victims: readonly Victim[]): string => victims.map(({ work_id }) => work_id).join(", ");
const were = (victims: readonly Victim[]): string => (victims.length === 1 ? "was" : "were");

/** How the jobs came through; undefined while one of them has not come to its end. */
export function cameThrough(store: ChaosWorld["store"], victims: readonly Victim[], ms: number): string | undefined {
  const fates = victims.map((victim) => ({ victim, fate: fateOf(store, victim) }));
  const of = (how: string) =>
    fates.filter(({ fate }) => typeof fate === "object" && fate.how === how).map(({ victim }) => victim);
  if (fates.some(({ fate }) => fate === "open" || fate === "lost")) return undefined;
  const [again, undisturbed, unwanted] = [of("again"), of("undisturbed"), of("unwanted")];
  const by = [...new Set(fates.flatMap(({ fate }) => (typeof fate === "object" ? (fate.by ?? []) : [])))].join(", ");
  return [
    ...(again.length === 0 ? [] : [`${list(again)} ${were(again)} done again by ${by} after ${seconds(ms)}`]),
    ...(undisturbed.length === 0 ? [] : [`${list(undisturbed)} ${were(undisturbed)} not hit`]),
    ...(unwanted.length === 0 ? [] : [`${list(unwanted)} ${were(unwanted)} no longer wanted`]),
  ].join("; ");
}

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    // It ended meanwhile.
    return "";
  }
};

/** Programs that the worker runs jobs in. The one that watches over them is no program. */
const programsOf = (worker: number): number[] =>
  (processTable() ?? [])
    .filter(({ parent, pid, group }) => parent === worker && group === pid)
    .map(({ pid }) => pid)
    .filter((pid) => !commandOf(pid).includes("guardian"));

/** Whether it computes at this moment: one that waits for its next job would be no loss. */
const isBusy = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat[stat.lastIndexOf(")") + 2] === "R";
  } catch {
    return false;
  }
};

const isGone = (thrown: unknown): boolean => (thrown as NodeJS.ErrnoException).code === "ESRCH";

/** kill -9 of the worker beside the main process, or of one of the programs that it runs. */
export function kill(world: ChaosWorld, whom: "worker" | "program"): Act | undefined {
  const { store, clock, nodeId, worker } = world;
  const workerPid = worker.pid;
  const held = heldJobs(store, nodeId);
  if (workerPid === undefined || held.length === 0) return undefined;
  const victims = held.map(({ work_id }) => ({ work_id, fence: showJob(store, work_id)?.fence ?? 0 }));
  const pid = whom === "worker" ? workerPid : pick(world.random, programsOf(workerPid).filter(isBusy));
  if (pid === undefined) return undefined;
  try {
    process.kill(pid, "SIGKILL");
  } catch (thrown) {
    if (!isGone(thrown)) throw thrown;
    return undefined;
  }
  const at = clock.now();
  const isBack = () => worker.pid !== undefined && worker.pid !== pid;
  return {
    configKey: held[0]!.config_key,
    what:
      whom === "worker"
        ? `killed worker ${pid} with ${list(victims)}`
        : `killed program ${pid} of worker ${workerPid}, which had ${list(victims)}`,
    caught(now) {
      if (whom === "worker" && !isBack()) return undefined;
      const found = cameThrough(store, victims, now - at);
      return found === undefined || whom === "program" ? found : `the worker is back as ${worker.pid}; ${found}`;
    },
  };
}

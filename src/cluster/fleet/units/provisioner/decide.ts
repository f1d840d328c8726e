/** How many machines there should be. Pure. */
import { sumOf } from "../../../../kernel/index.ts";
import { believed, slotsOf } from "../../foreseen.ts";
import { isStaying } from "../../ledger-states.ts";
import type { MachineRow } from "../../machine.ts";
import type { MachineOffer } from "../../provider.port.ts";
import type { Demand } from "../../services.ts";

export interface CapacityRules {
  readonly min: number;
  readonly max: number;
  /** One machine for so many jobs that wait; 0 never. */
  readonly jobsPerMachine: number;
  readonly growAfterMs: number;
  readonly minCpus: number;
}

export interface Growth {
  /** Machines to rent now. */
  readonly count: number;
  readonly reason: string;
  /** Accelerators that each of them must have at least. */
  readonly minGpus: number;
  /** Since when jobs wait for more machines than there are; null while none do. */
  readonly backlogSince: number | null;
}

/** Machines that are on their way to becoming nodes: jobs that wait now are partly for them. */
const isComing = ({ state }: Pick<MachineRow, "state">): boolean =>
  state === "intended" || state === "requested" || state === "starting";

/** So much of a machine is no reason for one more. */
const ROUNDING = 0.1;

/** Machines that a forecast asks for beyond those that are there or come. */
function foreseenGrowth(
  rows: readonly Pick<MachineRow, "state" | "offer">[],
  demand: Demand,
  { jobsPerMachine, minCpus }: Pick<CapacityRules, "jobsPerMachine" | "minCpus">,
): { readonly count: number; readonly reason: string } {
  const ahead = jobsPerMachine === 0 ? undefined : believed(demand.foreseen);
  const missing =
    ahead === undefined ? 0 : Math.ceil(ahead.wanted - ahead.slots - sumOf(rows.filter(isComing), slotsOf));
  const perMachine = rows.length === 0 ? minCpus : sumOf(rows, slotsOf) / rows.length;
  const off = Math.round((ahead?.error ?? 0) * 100);
  return {
    count: missing <= 0 ? 0 : Math.max(0, Math.ceil(missing / perMachine - ROUNDING)),
    reason: `${missing} more slots are wanted soon, by a forecast that was off by ${off} % lately`,
  };
}

/**
 * The minimum at once; beyond it, machines for jobs that have waited long enough and that nobody who is there or on the way will
 * take, and those that a forecast asks for before the jobs are there. What is coming counts, so that one backlog buys once.
 */
export function decideGrowth(
  rows: readonly Pick<MachineRow, "state" | "offer">[],
  demand: Demand & { readonly missingGpus: number },
  rules: CapacityRules,
  backlogSince: number | null,
  now: number,
): Growth {
  const { waiting, free, missingGpus } = demand;
  const { min, max, jobsPerMachine, growAfterMs } = rules;
  const staying = rows.filter(isStaying).length;
  const room = Math.max(0, max - rows.length);
  const backlog = Math.max(0, waiting - free);
  const wanted = jobsPerMachine === 0 ? 0 : Math.ceil(backlog / jobsPerMachine) - rows.filter(isComing).length;
  const since = wanted > 0 ? (backlogSince ?? now) : null;
  if (staying < Math.min(min, max))
    return {
      count: Math.min(room, min - staying),
      reason: `${staying} machines are there or come, and the minimum is ${min}`,
      minGpus: 0,
      backlogSince: since,
    };
  const coming = sumOf(rows.filter(isComing), ({ offer }) => (JSON.parse(offer) as Partial<MachineOffer>).gpus ?? 0);
  if (missingGpus > coming && room > 0)
    return {
      count: 1,
      reason: `${missingGpus} accelerators are missing (nodes.required_gpus), and ${coming} come`,
      minGpus: 1,
      backlogSince: since,
    };
  const waitedMs = since === null ? 0 : now - since;
  const hasWaited = since !== null && waitedMs >= growAfterMs;
  const soon = foreseenGrowth(rows, demand, rules);
  if (room > 0 && soon.count > (hasWaited ? wanted : 0))
    return { count: Math.min(room, soon.count), reason: soon.reason, minGpus: 0, backlogSince: since };
  if (since === null || waitedMs < growAfterMs || room === 0) {
    const reason =
      since === null
        ? "no job waits for a machine"
        : room === 0
          ? `${backlog} jobs wait, and there are as many machines as allowed (${max})`
          : `${backlog} jobs wait for ${Math.round(waitedMs / 1_000)} s; after ${growAfterMs / 1_000} s machines are rented`;
    return { count: 0, reason, minGpus: 0, backlogSince: since };
  }
  return {
    count: Math.min(room, wanted),
    reason: `${backlog} jobs have waited for ${Math.round(waitedMs / 1_000)} s, and one machine is rented for ${jobsPerMachine}`,
    minGpus: 0,
    backlogSince: since,
  };
}

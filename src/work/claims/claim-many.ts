import type { Store } from "../../router/index.ts";
import type { ClaimRequest } from "../job/claim-request.ts";
import { type Answer, each } from "../queue/answers.ts";
import type { QueueChanges } from "../queue/queue-changes.ts";
import type { QueueState } from "../queue/queue-state.ts";
import { isDue, promoteDue } from "../tables.ts";
import { ClaimLines } from "./choose-jobs.ts";
import { claimJobs, type Lease } from "./claim.ts";

/** Jobs whose time has come join their lines. */
export async function promote(store: Store, state: QueueState, changes: QueueChanges, now: number): Promise<void> {
  const [due] = store.read(`SELECT 1 FROM work_jobs WHERE ${isDue} LIMIT 1`, now);
  if (due === undefined) return;
  await store.commit([promoteDue({ at: now, max: state.limits.maxInCall })]);
  state.lanes.lookEverywhere();
  changes.announce();
}

/** What many nodes ask for, in one commit; each is answered by itself. */
export async function claimMany(
  state: QueueState,
  changes: QueueChanges,
  requests: readonly ClaimRequest[],
): Promise<Answer<Lease[]>[]> {
  const max = requests.reduce((sum, request) => sum + request.most, 0);
  // What is handed out counts against its node before it is on disk: whoever asks twice at once gets no more than it may hold.
  let mine: Lease[] = [];
  const forgetMine = () => {
    for (const { node_id } of mine) count(state, node_id, -1);
    mine = [];
  };
  try {
    return await changes.make((plan) => {
      // It may be decided anew: what was given before is not.
      forgetMine();
      const lines = new ClaimLines(state, plan, Math.min(max, state.limits.maxInCall));
      return each(requests, (request) => {
        const leases = claimJobs(state, plan, request, lines);
        for (const lease of leases) count(state, lease.node_id, 1);
        mine.push(...leases);
        return leases;
      });
    });
  } finally {
    forgetMine();
  }
}

function count({ given }: QueueState, nodeId: string, jobs: number): void {
  const left = (given.get(nodeId) ?? 0) + jobs;
  if (left > 0) given.set(nodeId, left);
  else given.delete(nodeId);
}

/**
 * The edge of a process that leads: what it does outside of the database, and what is asked before each of these acts.
 *
 * One coordinator by itself asks nobody. Where several share a log, whoever leads may act only as long as its lease lets it be sure;
 * after that another may lead, and does the same things. Rows need no such question: the log refuses them.
 */
import type { MachineProvider } from "../../cluster/fleet/index.ts";
import type { ClusterPort } from "../../cluster/index.ts";
import { type Clock, type Guard, guarded, guardWith } from "../../kernel/index.ts";
import type { ArtifactStore, BackupRunner, NodeDesk } from "../../sync/index.ts";
import type { ClaimDesk } from "../../work/index.ts";

export const guardOf = (cluster: Pick<ClusterPort, "isTrusted"> | undefined): Guard | undefined =>
  cluster === undefined ? undefined : guardWith(() => cluster.isTrusted());

export const guardedProvider = (guard: Guard | undefined, provider: MachineProvider): MachineProvider =>
  guarded(guard, provider, {
    create: "the rent of a machine",
    terminate: "the end of a machine",
    reboot: "the reboot of a machine",
  });

const REMOVE = "the removal of a file";
export const guardedFiles = (guard: Guard | undefined, files: ArtifactStore): ArtifactStore =>
  guarded(guard, files, { take: REMOVE, dropPart: REMOVE, emptyQuarantine: REMOVE });

export const guardedClaims = (guard: Guard | undefined, desk: ClaimDesk): ClaimDesk =>
  guarded(guard, desk, { claim: "the hand-out of jobs" });

export const guardedOrders = (guard: Guard | undefined, desk: NodeDesk): NodeDesk =>
  guarded(guard, desk, { exchange: "the hand-out of orders to a node" });

const LOOK_MS = 250;

/** A backup takes longer than a lease: it is asked for again and again, and called off when the answer is no. */
export const guardedBackups =
  (guard: Guard | undefined, clock: Clock, run: BackupRunner): BackupRunner =>
  async (task, options) => {
    if (guard === undefined) return run(task, options);
    const ask = () => guard("a backup");
    ask();
    const unsure = new AbortController();
    const look = () => {
      try {
        ask();
        timer = clock.after(LOOK_MS, look);
      } catch (thrown) {
        unsure.abort(thrown);
      }
    };
    let timer = clock.after(LOOK_MS, look);
    try {
      return await run(task, { ...options, signal: AbortSignal.any([options.signal, unsure.signal]) });
    } finally {
      timer.cancel();
    }
  };

import { defineTable, type Store } from "../../router/index.ts";
import type { RecoveryCase } from "./recovery-case.ts";
import { openActs, type RecoveryAct } from "./recovery-rows.ts";
import { isHard, type Rung, rungWords } from "./rungs.ts";

/** Nodes that are ill and what is done for them, by node. */
export const recoveryCases = defineTable<RecoveryCase>("recovery_cases");

/** What a person wants done for a node, by node; `node_recovery` takes it up and removes it. */
export type RecoveryRequest = {
  readonly rung: Rung;
  readonly by: string;
  readonly reason: string;
  readonly at: number;
};
export const recoveryRequests = defineTable<RecoveryRequest>("recovery_requests");

/** What the worker of a node shall do. */
export interface RestartOrder {
  readonly act_id: string;
  readonly reason: string;
}

/** What is under way, in memory as it is on disk: every beat and every claim asks. */
export class RecoveryBook {
  readonly #open = new Map<string, RecoveryAct>();

  constructor(store: Pick<Store, "read">) {
    for (const act of openActs(store)) this.#open.set(act.node_id, act);
  }

  /** What was written down. */
  settled(nodeId: string, act: RecoveryAct | undefined): void {
    if (act === undefined) this.#open.delete(nodeId);
    else this.#open.set(nodeId, act);
  }

  open(nodeId: string): RecoveryAct | undefined {
    return this.#open.get(nodeId);
  }

  /** Hard acts that are under way. */
  get acting(): number {
    return [...this.#open.values()].filter(({ rung }) => isHard(rung)).length;
  }

  /** What the worker of a node shall do in this life of it; it is told again until it begins another. */
  orderFor(nodeId: string, incarnation: number): RestartOrder | null {
    const act = this.#open.get(nodeId);
    if (act === undefined || act.rung !== "restart" || incarnation > act.incarnation) return null;
    return { act_id: act.act_id, reason: act.reason };
  }

  /** Why a node gets no work for now: its jobs go to others, or it is about to start anew. */
  barred(nodeId: string, incarnation: number): string | undefined {
    const act = this.#open.get(nodeId);
    if (act === undefined || act.rung === "observe" || act.rung === "person") return undefined;
    // It has begun another life since: it may show what it can do.
    if (isHard(act.rung) && incarnation > act.incarnation) return undefined;
    return `it is being repaired (${rungWords[act.rung]})`;
  }
}

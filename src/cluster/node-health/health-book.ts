import { defineTable, type Store } from "../../router/index.ts";
import type { NodeCondition } from "./conditions.ts";

export const CHECKS = [
  "beats",
  "starts",
  "jobs",
  "progress",
  "results",
  "speed",
  "disk",
  "clock",
  "version",
  "link",
] as const;
export type CheckName = (typeof CHECKS)[number];

/** What one check found last, and its breaker. Times are milliseconds since the epoch. */
export type CheckState = {
  readonly verdict: "pass" | "warn" | "fail";
  readonly what: string;
  readonly actual: string;
  readonly required: string;
  /** Since when the verdict is so. */
  readonly since: number;
  /** In a row. */
  readonly failures: number;
  readonly passes: number;
  readonly lastPassAt: number | null;
  /** When its breaker opened; null while it is closed. */
  readonly openedAt: number | null;
  /** What was before it last opened speaks for and against nobody. */
  readonly countsFrom: number;
  /** How often it opened lately: each time for longer. */
  readonly openings: number;
};

/** A node that has recovered gets its work back step by step. */
export type SlowStart = { readonly leaves: number; readonly since: number };

/** What is stored of a node's health. */
export type NodeHealthRow = {
  readonly condition: NodeCondition;
  readonly since: number;
  /** The check that is worst, and what it says; null while all is well. */
  readonly check: CheckName | null;
  readonly reason: string | null;
  readonly checks: { readonly [C in CheckName]?: CheckState };
  readonly incarnation: number;
  /** When it was last heard in this life, for the starts that nobody saw; of an older version it is not there. */
  readonly heardAt?: number | null;
  /** It has left in order since: its next start is no crash. */
  readonly hasLeft?: boolean;
  /** When it started lately, oldest first. */
  readonly starts: readonly number[];
  /** When it was cut off lately, oldest first. */
  readonly outages: readonly number[];
  /** It may have one job to show that it is well again. */
  readonly isOnTrial: boolean;
  readonly slow: SlowStart | null;
  /** Whether operators were told that it is ill, and not yet that this is over. Rows of before have none. */
  readonly alerted?: boolean;
  /** When it was last taken for recovered: what was before counts no more. */
  readonly recoveredAt: number | null;
};

// biome-ignore lint/suspicious/noExplicitAny: its JSON is the row; the index signature that Json asks for would hide its fields.
export const nodeHealthTable = defineTable<any>("node_health");

export const wellSince = (now: number, incarnation = 0): NodeHealthRow => ({
  condition: "healthy",
  since: now,
  check: null,
  reason: null,
  checks: {},
  incarnation,
  starts: [],
  outages: [],
  isOnTrial: false,
  slow: null,
  recoveredAt: null,
});

/** How a node does, as views show it. */
export interface NodeHealthView {
  readonly condition: NodeCondition;
  readonly reason: string | null;
  readonly since: number | null;
}

/** The health of all nodes in memory, as it is on disk: a change is here once it is there. */
export class HealthBook {
  readonly #rows = new Map<string, NodeHealthRow>();

  constructor(store: Pick<Store, "read">) {
    const rows = store.read<{ key: string; value: string }>(
      "SELECT key, value FROM state_rows WHERE table_name = ?",
      nodeHealthTable.table,
    );
    for (const { key, value } of rows) this.#rows.set(key, JSON.parse(value) as NodeHealthRow);
  }

  get(nodeId: string): NodeHealthRow | undefined {
    return this.#rows.get(nodeId);
  }

  /** Those of whom nothing is known do well. */
  view(nodeId: string): NodeHealthView {
    const { condition = "healthy", reason = null, since = null } = this.#rows.get(nodeId) ?? {};
    return { condition, reason, since };
  }

  entries(): [string, NodeHealthRow][] {
    return [...this.#rows];
  }

  /** What was written down. */
  settled(nodeId: string, row: NodeHealthRow | undefined): void {
    if (row === undefined) this.#rows.delete(nodeId);
    else this.#rows.set(nodeId, row);
  }
}

import { MAX_KEPT_BACK } from "../limits.ts";

/** A copy that its node would like to let go and may not. */
export interface KeptBack {
  readonly node_id: string;
  readonly sha256: string;
}

/** Those copies, by node. Lost with the process: who still wants to let go asks again. */
export function createKeptBack() {
  const byNode = new Map<string, Set<string>>();
  return {
    /** What a node asked for, and what it was told. */
    note(nodeId: string, drop: readonly string[], answers: readonly { readonly allowed: boolean }[]): void {
      const kept = byNode.get(nodeId) ?? new Set<string>();
      for (const [i, { allowed }] of answers.entries())
        if (allowed) kept.delete(drop[i]!);
        else if (kept.size < MAX_KEPT_BACK) kept.add(drop[i]!);
      if (kept.size > 0) byNode.set(nodeId, kept);
      else byNode.delete(nodeId);
    },
    /** All of them, each told once. */
    take(): KeptBack[] {
      const all = [...byNode].flatMap(([node_id, kept]) => [...kept].map((sha256) => ({ node_id, sha256 })));
      byNode.clear();
      return all;
    },
  };
}

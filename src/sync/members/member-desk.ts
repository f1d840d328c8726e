/** Where the other coordinators say which files they hold, at the one that leads. */
import type { Clock } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { HolderFacts } from "../copies/copies.ts";
import { forgetHolder, noteCopies, noteGone } from "../copies/copy-operations.ts";
import { memberLimits } from "../limits.ts";
import type { MemberFileNews } from "./member-files.ts";

export interface MemberDeskPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** This coordinator. */
  readonly nodeId: string;
  /** All coordinators of the cluster, also those that are away. */
  readonly members: () => readonly string[];
  /** Nodes whose copies count now. */
  readonly counting: () => readonly string[];
}

/** What is known of another coordinator's files. */
export interface MemberStock {
  readonly name: string;
  readonly isThere: boolean;
  readonly isConfirmed: boolean;
  /** Null until it has said so. */
  readonly lacking: number | null;
}

/** Files that lie at one coordinator and nowhere else that counts. */
const ONLY = `SELECT count(*) AS files FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
  WHERE h.node_id = ?1 AND h.state = 'held' AND a.freed_at IS NULL AND a.state IN ('in_flight', 'durable')
    AND NOT EXISTS (SELECT 1 FROM sync_held o WHERE o.seq = h.seq AND o.state = 'held'
      AND o.node_id IN (SELECT value FROM json_each(?2)))`;

const PAGE = 1_000;

export function createMemberDesk({ store, clock, nodeId, members, counting }: MemberDeskPorts) {
  const heard = new Map<string, { readonly at: number; readonly isConfirmed: boolean; readonly lacking: number }>();
  const isThere = (name: string) => {
    const last = heard.get(name);
    return last !== undefined && clock.monotonic() - last.at < memberLimits.silentMs;
  };

  return {
    /** Takes down what a coordinator says of its files; what it holds counts from this commit on. */
    async tell(name: string, { held, gone, isConfirmed, lacking }: MemberFileNews): Promise<void> {
      const at = clock.now();
      const isHome = name === nodeId;
      if (held.length + gone.length > 0)
        await store.commit([
          noteCopies({ node_id: name, sha256s: held, by: name, at, isHome }),
          noteGone({ node_id: name, sha256s: gone }),
        ]);
      heard.set(name, { at: clock.monotonic(), isConfirmed, lacking });
    },
    stocks: (): MemberStock[] =>
      members().map((name) => ({
        name,
        isThere: name === nodeId || isThere(name),
        isConfirmed: heard.get(name)?.isConfirmed === true,
        lacking: heard.get(name)?.lacking ?? null,
      })),
    /** All who hold copies, with the other coordinators among them. These fetch by themselves, and are given no orders. */
    among(nodes: readonly HolderFacts[]): HolderFacts[] {
      const names = members();
      const others = names
        .filter((name) => name !== nodeId)
        .map((name) => ({
          node_id: name,
          name,
          isThere: isThere(name),
          isRented: false,
          isCoordinator: true,
          isConfirmed: heard.get(name)?.isConfirmed === true,
          barred: "it is a coordinator, and fetches by itself",
          incarnation: 0,
          kinds: [],
          freeCpus: 0,
        }));
      return [
        ...nodes
          .filter(({ node_id }) => node_id === nodeId || !names.includes(node_id))
          .map((node) => (node.node_id === nodeId ? { ...node, isCoordinator: true } : node)),
        ...others,
      ];
    },
    /** How many files would be lost with this coordinator, going by the copies that count elsewhere. */
    onlyAt(name: string): number {
      const elsewhere = JSON.stringify(counting().filter((one) => one !== name));
      return store.read<{ files: number }>(ONLY, name, elsewhere)[0]!.files;
    },
    /** It left the cluster: what it held counts no more. */
    async forget(name: string): Promise<void> {
      heard.delete(name);
      for (let more = true; more; ) more = (await store.commit([forgetHolder({ node_id: name, max: PAGE })]))[0].more;
    },
  };
}

export type MemberDesk = ReturnType<typeof createMemberDesk>;

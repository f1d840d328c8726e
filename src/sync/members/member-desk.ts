/** Where the other coordinators say which files they hold, at the one that leads. */
import type { Clock } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { HolderFacts } from "../copies/copies.ts";
import { forgetHolder, noteCopies, noteGone } from "../copies/copy-operations.ts";
import { memberLimits } from "../limits.ts";
import type { Wanted } from "../transport.port.ts";
import type { MemberFileNews } from "./member-files.ts";
import { createSought } from "./sought.ts";

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

const ELSEWHERE = `SELECT 1 FROM sync_artifacts a JOIN sync_held h ON h.seq = a.seq
  WHERE a.sha256 = ?1 AND h.state = 'held' AND h.node_id IN (SELECT value FROM json_each(?2)) LIMIT 1`;

const PAGE = 1_000;

export function createMemberDesk({ store, clock, nodeId, members, counting }: MemberDeskPorts) {
  const heard = new Map<string, { readonly at: number; readonly isConfirmed: boolean; readonly lacking: number }>();
  const isThere = (name: string) => {
    const last = heard.get(name);
    return last !== undefined && clock.monotonic() - last.at < memberLimits.silentMs;
  };
  const begunAt = clock.monotonic();
  const others = () => members().filter((name) => name !== nodeId);
  const sought = createSought(clock);
  /** A node has it, and sends it here when it is told to. */
  const isElsewhere = (sha256: string): boolean => {
    const places = JSON.stringify(counting().filter((one) => one !== nodeId));
    return store.read(ELSEWHERE, sha256, places).length > 0;
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
      if (isHome) sought.found(held);
    },
    /** Files that the work here waits for. */
    sought,
    /**
     * Whether a file that does not lie here may still come: from a coordinator that was not asked yet, or from a node that has it. What is
     * asked about is fetched before all others.
     */
    awaits(file: Wanted): boolean {
      if (others().length === 0) return false;
      return !sought.isNowhere(file) || isElsewhere(file.sha256);
    },
    /** The coordinators whom one must have asked before a file counts as lost. */
    waitedFor: (): string[] =>
      others().filter((name) => clock.monotonic() - (heard.get(name)?.at ?? begunAt) < memberLimits.awaitMs),
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

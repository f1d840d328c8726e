/** Who reaches whom, as joined nodes say with their beats: they look after each other, in the way of SWIM. Empty where they do not. */
import type { Clock } from "../../kernel/index.ts";
import type { NodeTiming } from "./timing.ts";

/** What a node says with its beat: where it takes probes, how many of the others it reaches, and whom nobody reaches. */
export interface ReachReport {
  readonly host: string | null;
  /** Further addresses of it, such as that of a VPN. */
  readonly further?: readonly string[] | undefined;
  readonly port: number;
  readonly known: number;
  readonly reached: number;
  readonly lost: readonly string[];
}

/** A report as it is kept with its node. */
export interface KeptReport {
  readonly nodeId: string;
  readonly incarnation: number;
  /** From where it calls; where it names no other, it takes probes there. */
  readonly address: string | null;
  readonly silentMs: number;
  readonly report: ReachReport;
}

/** Whom a node looks after: those beside it in the order of their ids, so that each is looked after by as many. */
export interface ListedPeer {
  readonly node_id: string;
  readonly host: string;
  readonly further?: readonly string[];
  readonly port: number;
  readonly incarnation: number;
}

/** How many of those that look after a node reach it. */
export interface Reach {
  readonly by: number;
  readonly of: number;
}

const reachLimits = { peers: 64, freshMs: 1_000 };

/** Those beside the node at `at`, half of them on each side: whom one looks after looks after it too. */
function besides<T>(ring: readonly T[], at: number, count: number): T[] {
  if (ring.length <= count + 1) return ring.filter((_, place) => place !== at);
  const half = Math.floor(count / 2);
  return Array.from({ length: 2 * half }, (_, i) => {
    const step = i < half ? i + 1 : half - 1 - i;
    return ring[(at + step + ring.length) % ring.length]!;
  });
}

/** Most of them say that nobody reaches it, and there are several. */
const areMost = ({ by, of }: Reach): boolean => of >= 2 && by < of / 2;

export function createReachBook(
  ports: {
    readonly isOn: boolean;
    readonly reports: () => readonly KeptReport[];
    readonly timing: Pick<NodeTiming, "suspectMs">;
    readonly clock: Pick<Clock, "monotonic">;
  },
  limits = reachLimits,
) {
  let kept: { at: number; ring: readonly KeptReport[]; places: ReadonlyMap<string, number> } | undefined;
  const look = () => {
    const at = ports.clock.monotonic();
    if (kept !== undefined && at - kept.at < limits.freshMs) return kept;
    const ring = ports.isOn ? ports.reports().toSorted((a, b) => (a.nodeId < b.nodeId ? -1 : 1)) : [];
    kept = { at, ring, places: new Map(ring.map(({ nodeId }, place) => [nodeId, place])) };
    return kept;
  };

  /** Undefined where nobody looks after it. */
  const of = (nodeId: string): Reach | undefined => {
    if (!ports.isOn) return undefined;
    const { ring, places } = look();
    const place = places.get(nodeId);
    if (place === undefined) return undefined;
    const heard = besides(ring, place, limits.peers).filter(({ silentMs }) => silentMs <= ports.timing.suspectMs);
    if (heard.length === 0) return undefined;
    return { by: heard.filter(({ report: { lost } }) => !lost.includes(nodeId)).length, of: heard.length };
  };

  return {
    of,
    /** Nobody hears it, and most of those that look after it do not reach it either. */
    isLost(nodeId: string): boolean {
      const reach = of(nodeId);
      return reach !== undefined && areMost(reach);
    },
    /** How many of those that it looks after a node reaches, as it says itself; undefined for one that says nothing. */
    saidBy(nodeId: string): { readonly nodes: number; readonly of: number } | undefined {
      if (!ports.isOn) return undefined;
      const { ring, places } = look();
      const report = ring[places.get(nodeId) ?? -1]?.report;
      return report && { nodes: report.reached, of: report.known };
    },
    /** Whom a node shall look after. */
    peersFor(nodeId: string): ListedPeer[] {
      if (!ports.isOn) return [];
      const { ring, places } = look();
      const place = places.get(nodeId);
      if (place === undefined) return [];
      return besides(ring, place, limits.peers).flatMap(({ nodeId: node_id, incarnation, address, report }) => {
        const host = report.host ?? address?.replace(/^::ffff:/, "") ?? null;
        return host === null
          ? []
          : [
              {
                ...{ node_id, host, port: report.port, incarnation },
                ...(report.further === undefined ? {} : { further: report.further }),
              },
            ];
      });
    },
  };
}

export type ReachBook = ReturnType<typeof createReachBook>;

/** Where nobody looks after anybody. */
export const nobodyReports: ReachBook = {
  of: () => undefined,
  isLost: () => false,
  saidBy: () => undefined,
  peersFor: () => [],
};

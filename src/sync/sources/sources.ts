/**
 * From whom a node may fetch what it shall have: nodes that hold a verified copy and say where they serve, those that are fetching it
 * themselves, and the coordinator's own store. Each comes with a ticket that the one who serves checks by itself.
 */

import { createPublicKey, type KeyObject } from "node:crypto";
import { type Clock, createRecent } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { sourceLimits } from "../limits.ts";
import { listClaim, PACKED_BYTES, signTicket } from "../transfer/index.ts";
import type { Wanted } from "../transport.port.ts";
import { type Candidate, type Giver, type Judged, judgeCandidates, rankGivers } from "./decide.ts";
import { createGrants } from "./grants.ts";

/** Where a node serves others, as it says itself. */
export interface Serving {
  /** How others call it; null is the address from which it calls. */
  readonly host: string | null;
  /** Null where it only waits at the relay. */
  readonly port: number | null;
  readonly tls: boolean;
  /** SHA-256 of its certificate. */
  readonly fingerprint: string | null;
  /** It has connections at the relay. */
  readonly relayed: boolean;
  /** Further names and addresses of it: whoever asks it uses one that answers. */
  readonly further?: readonly string[] | undefined;
}

/** One way to one who has them. */
export interface OfferedSource {
  readonly transport: "http" | "relay";
  readonly node_id: string;
  /** Null is the host of the coordinator, as the node knows it. */
  readonly host: string | null;
  readonly port: number;
  readonly tls: boolean;
  readonly fingerprint: string | null;
  readonly ticket: string;
  /** Who serves may still be fetching it: it is worth a moment's wait. */
  readonly coming: boolean;
}

/** Files that come the same way, and the ways in the order in which they are tried; the coordinator's API is behind all of them. */
export interface OfferedBatch {
  readonly files: readonly Wanted[];
  readonly sources: readonly OfferedSource[];
}

/** The coordinator's own server of files and relay; undefined while it does not listen. */
export interface HomeServing {
  readonly port: number;
  readonly tls: boolean;
  readonly fingerprint: string | null;
}

/** What nodes that serve others need of the coordinator. */
export interface TicketOffice {
  readonly node_id: string;
  /** The key that tickets are checked by: its raw 32 bytes, in base64. */
  readonly ticket_key: string;
  /** Where its own server of files and the relay listen; null while they do not. */
  readonly home: HomeServing | null;
  /** The time by which tickets end. */
  readonly server_time: number;
}

interface ServingNode {
  readonly node_id: string;
  readonly isThere: boolean;
  readonly isLate?: boolean;
  readonly isConfirmed: boolean;
}

export interface SourcesPorts {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  readonly nodeId: string;
  /** Nodes, and how each is. */
  readonly copies: { nodes(): ReadonlyMap<string, ServingNode> };
  readonly nodes: () => readonly { readonly node_id: string; readonly address?: string | null }[];
  /** What signs tickets; without it nobody serves anybody, and all come to the coordinator. */
  readonly ticketKey?: KeyObject | undefined;
  readonly home?: (() => HomeServing | undefined) | undefined;
  /** Nodes whose own transfers fail again and again. */
  readonly troubled?: (() => ReadonlySet<string>) | undefined;
}

/** A file that a node wants, and the order for which, where there is one. */
export interface Wish extends Wanted {
  readonly seq: number;
  readonly order_id?: number | undefined;
}

const HOLDERS = "SELECT node_id FROM sync_held WHERE seq = ? AND state = 'held' ORDER BY node_id";
/** The newest word on each place that was asked for a transfer. */
const FAILED = `SELECT transport, place, code FROM sync_tries WHERE order_id = ? AND way > 0 AND place IS NOT NULL
  ORDER BY attempt, way`;
const WANTED = "SELECT seq, sha256, bytes FROM sync_artifacts WHERE sha256 = ? AND freed_at IS NULL";

export function createSources(ports: SourcesPorts) {
  const { store, clock, nodeId, copies, nodes, ticketKey, home, troubled = () => new Set() } = ports;
  /** Lost with the process, and soon told again. */
  const serving = createRecent<Serving | null>(sourceLimits.servingMs, 20_000);
  const grants = createGrants(clock, sourceLimits.grantMs, sourceLimits.maxGrants);
  const servingOf = (id: string): Serving | undefined => serving.get(id, clock.monotonic()) ?? undefined;

  /** What went wrong with whom for an order; the API of the coordinator is the coordinator. */
  const failuresOf = (orderId: number | undefined): ReadonlyMap<string, string | null> => {
    if (orderId === undefined) return new Map();
    const tries = store.read<{ transport: string; place: string; code: string | null }>(FAILED, orderId);
    return new Map(tries.map(({ transport, place, code }) => [transport === "coordinator" ? nodeId : place, code]));
  };

  const lookAround = () => ({ nodes: copies.nodes(), troubled: troubled() });
  /** Whom a node may ask for a file, and whom not; `among` are nodes as they are now. */
  const judge = (to: string, { seq, sha256, bytes, order_id }: Wish, among = lookAround()): Judged => {
    const whole = new Set(store.read<{ node_id: string }>(HOLDERS, seq).map(({ node_id }) => node_id));
    const failures = failuresOf(order_id);
    // Small ones come in one piece: there is nothing to pass on before they are whole.
    const coming = bytes > PACKED_BYTES ? grants.coming(sha256) : new Map<string, number>();
    const candidates = [...new Set([...whole, ...coming.keys()])]
      .filter((id) => id !== to)
      .map((node_id): Candidate => {
        const { isThere = false, isLate = false, isConfirmed = false } = among.nodes.get(node_id) ?? {};
        return {
          node_id,
          feeding: grants.feeding(node_id),
          depth: whole.has(node_id) ? 0 : (coming.get(node_id) ?? 0),
          isTroubled: among.troubled.has(node_id),
          isHome: node_id === nodeId,
          isThere,
          isLate,
          isConfirmed,
          isServing: servingOf(node_id) !== undefined,
          isBehind: !whole.has(node_id) && grants.comesThrough(node_id, to, sha256),
          failed: failures.get(node_id) ?? null,
        };
      });
    return judgeCandidates(candidates);
  };
  const rank = (to: string, judged: Judged) => rankGivers(to, judged, sourceLimits.maxPeers);

  const ticketFor = (to: string, from: string, files: readonly Wanted[], key: KeyObject): string => {
    const issuedAt = Math.floor(clock.now() / 1_000);
    const expiresAt = issuedAt + sourceLimits.ticketSeconds;
    return signTicket({ ...listClaim(files), from, to, issuedAt, expiresAt }, key);
  };

  type Door = Omit<OfferedSource, "ticket" | "coming" | "node_id">;
  /** Where somebody can be asked. */
  const doorsOf = (giver: Giver | null): Door[] => {
    const own = home?.();
    if (giver === null) return own === undefined ? [] : [{ transport: "http", host: null, ...own }];
    const { node_id } = giver;
    const place = servingOf(node_id);
    if (place === undefined) return [];
    const { port, tls, fingerprint, further = [] } = place;
    const host = place.host ?? nodes().find((node) => node.node_id === node_id)?.address ?? null;
    const hosts = [...new Set([...(host === null ? [] : [host]), ...further])];
    return [
      ...(port === null
        ? []
        : hosts.map((each) => ({ transport: "http" as const, host: each, port, tls, fingerprint }))),
      ...(place.relayed && own !== undefined ? [{ transport: "relay" as const, host: null, ...own }] : []),
    ];
  };
  const waysTo = (giver: Giver | null, to: string, files: readonly Wanted[], key: KeyObject): OfferedSource[] => {
    const doors = doorsOf(giver);
    if (doors.length === 0) return [];
    const node_id = giver?.node_id ?? nodeId;
    const about = { node_id, ticket: ticketFor(to, node_id, files, key), coming: (giver?.depth ?? 0) > 0 };
    return doors.map((door) => ({ ...door, ...about }));
  };

  const plan = (to: string, wanted: readonly Wish[]): OfferedBatch[] => {
    if (ticketKey === undefined)
      return wanted.map(({ sha256, bytes }) => ({ files: [{ sha256, bytes }], sources: [] }));
    const among = lookAround();
    const batches = new Map<string, { readonly files: Wanted[]; readonly givers: readonly (Giver | null)[] }>();
    for (const one of wanted) {
      const { sha256, bytes } = one;
      const judged = judge(to, one, among);
      const { asked, isHomeLast } = judged;
      const isSmall = bytes <= PACKED_BYTES;
      const same = isSmall ? `${isHomeLast} ${asked.map(({ node_id }) => node_id).join(" ")}` : sha256;
      const known = batches.get(same);
      if (known !== undefined) {
        known.files.push({ sha256, bytes });
        continue;
      }
      const givers = rank(to, judged);
      batches.set(same, { files: [{ sha256, bytes }], givers });
      // At once: the next one of these is spread over the others.
      const [first] = givers;
      if (first !== undefined) grants.give([{ to, sha256, from: first?.node_id ?? nodeId }]);
    }
    return [...batches.values()].map(({ files, givers }) => ({
      files,
      sources: givers.flatMap((giver) => waysTo(giver, to, files, ticketKey)),
    }));
  };

  const ticket_key =
    ticketKey === undefined
      ? undefined
      : Buffer.from(createPublicKey(ticketKey).export({ format: "jwk" }).x ?? "", "base64url").toString("base64");

  return {
    office: (): TicketOffice | null =>
      ticket_key === undefined
        ? null
        : { node_id: nodeId, ticket_key, home: home?.() ?? null, server_time: clock.now() },
    /** A node says where it serves others, or that it does not. */
    announce(node: string, place: Serving | null): void {
      serving.set(node, place, clock.monotonic());
    },
    servingOf,
    /** From whom a node gets these: every file is in one batch. */
    plan,
    /** The same for files by their names; those that the catalog does not have are not among them. */
    planNamed: (to: string, sha256s: readonly string[]): OfferedBatch[] =>
      plan(
        to,
        sha256s.flatMap((sha256) => store.read<Wish>(WANTED, sha256)),
      ),
    /** Whom a node would ask for a file now, and whom not, without asking anybody. */
    choose(to: string, wish: Wish) {
      const judged = judge(to, wish);
      return { ...judged, givers: rank(to, judged) };
    },
    /** By which ways somebody can be asked: `null` is the coordinator. */
    waysOf: (giver: Giver | null): OfferedSource["transport"][] => [
      ...new Set(doorsOf(giver).map(({ transport }) => transport)),
    ],
    /** It has come, or will not come this time. */
    settle: grants.settle,
    /** Files that nodes were told to fetch and that may be under way, and how many may be. */
    granted: grants.open,
    /** Nodes that somebody sends to now. */
    feeding: grants.feeding,
  };
}

export type Sources = ReturnType<typeof createSources>;

/** Where joined nodes say what they hold and ask what may go. They dial out: all that they are told comes as an answer. */

import { type Clock, createRecent, type Log, OperatingError } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { ArtifactRow } from "../artifact.ts";
import { COPY_LOCK_MS, MAX_LOOKS, MAX_NEWEST_TOLD, MAX_RETIRED_TOLD, NODE_NEWS_MS, orderLimits } from "../limits.ts";
import { MAX_URGENCY } from "../orders/order.ts";
import {
  hastenOrders,
  noteOrders,
  type OrderReport,
  placeOrders,
  type TakenOrder,
  takeOrders,
} from "../orders/order-operations.ts";
import { createSources, type OfferedBatch, type Serving, type Sources, type TicketOffice } from "../sources/sources.ts";
import type { TransferNews, WrongCopy } from "../transfer/index.ts";
import type { TransportName } from "../transport.port.ts";
import { aloneOn } from "./alone.ts";
import { unpackSeqs } from "./bitset.ts";
import type { Copies } from "./copies.ts";
import { askDrop, confirmCopies, noteCopies, noteGone } from "./copy-operations.ts";
import { createKeptBack } from "./kept-back.ts";
import { createNodeCalls } from "./node-calls.ts";

export interface NodeNews {
  readonly node_id: string;
  readonly incarnation: number;
  /** Files whose bytes it has hashed and flushed since it last spoke. */
  readonly held: readonly string[];
  /** Files that it had and that went, or were damaged. */
  readonly gone: readonly string[];
  /** Copies that it would like to let go. */
  readonly drop: readonly string[];
  /** How far its orders are. */
  readonly orders: readonly OrderReport[];
  readonly storage: NodeStorage;
  /** It is about to end: what it alone holds goes home first. */
  readonly leaving?: boolean | undefined;
  /** How files travel to and from it; an older node says nothing of it. */
  readonly transfers?: NodeTransfers | undefined;
}

/** What a node says of its transfers. */
export interface NodeTransfers {
  /** Where it serves others; null where it does not. */
  readonly serving: Serving | null;
  /** What came and what went wrong by each way since its start. */
  readonly ways: readonly WayFigures[];
  /** By which address it reaches nodes that have several. */
  readonly links?: readonly NodeLinkUse[] | undefined;
  /** Who was turned away by it since it last spoke. */
  readonly refused: readonly { readonly code: string; readonly node_id: string | null; readonly from: string }[];
}

/** The address of a node that answers, of so many; an empty one where none does. */
export interface NodeLinkUse {
  readonly node_id: string;
  readonly host: string;
  readonly of: number;
}

/** One way to one place, as the node that uses it sees it. */
export interface WayFigures {
  readonly transport: TransportName;
  readonly place: string;
  /** Of its breaker: closed is sound, open is passed over. */
  readonly state: "closed" | "open" | "half_open";
  readonly files: number;
  readonly bytes: number;
  readonly failures: number;
  readonly stalls: number;
  readonly error: string | null;
}

/** What a node says of its disk, and of results that wait there for the main process. */
export interface NodeStorage {
  readonly free_bytes: number;
  readonly waiting: { readonly files: number; readonly bytes: number; readonly oldest_at: number | null };
}

export interface NodeAnswer {
  /** Of each that is held: whether it counts as a copy, is given up, or is not in the catalog (yet). */
  readonly held: readonly ("counted" | "given_up" | "unknown")[];
  readonly drop: readonly { readonly sha256: string; readonly allowed: boolean; readonly why: string | null }[];
  /** Copies of what was given up: they go without asking. */
  readonly retired: readonly string[];
  /** Copies whose bytes it shall hash again, and tell. */
  readonly verify: readonly string[];
  /** Copies that must not be used as they are: they go, or are hashed anew where they must stay. */
  readonly invalid: readonly string[];
  /** Models, the newest first: they go last from its cache. */
  readonly newest: readonly string[];
  /** Transfers that it shall carry out. */
  readonly orders: readonly TakenOrder[];
  /** From whom it gets what it shall fetch. */
  readonly batches: readonly OfferedBatch[];
  /** It shall say first which of its copies are there. */
  readonly confirm: boolean;
  /** Of a node that is about to end: files that lie nowhere else. */
  readonly alone: number;
  /** By what it knows tickets, and where it waits to be put through; null where nodes do not serve each other. */
  readonly coordinator: TicketOffice | null;
  /** Policies of transfers that are on. */
  readonly policies: readonly string[];
}

export interface DeskPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly copies: Copies;
  readonly get: (sha256: string) => ArtifactRow | undefined;
  /** Looks at the bytes of files that a node sent here. */
  readonly verify: (sha256s: readonly string[], from: string) => void;
  /** What came of transfers to this node. */
  readonly news?: Pick<TransferNews, "noteWrong"> | undefined;
  /** From whom nodes fetch; without it, from here alone. */
  readonly sources?: Sources | undefined;
  /** A node that knows tickets was heard. */
  readonly heard?: ((nodeId: string) => void) | undefined;
  /** Policies of transfers that are on; none unless said. */
  readonly policies?: (() => readonly string[]) | undefined;
  /** Somebody was turned away by a node that serves. */
  readonly onRefused?: ((by: string, refusal: NodeTransfers["refused"][number]) => void) | undefined;
}

/** What a node that is about to end sends home is ordered under this name. */
const LEAVING = "leaving";

const WAITING = `SELECT 1 FROM sync_orders WHERE node_id = ? AND state IN ('waiting', 'running') LIMIT 1`;
const HOLDS_ANY = "SELECT 1 FROM sync_held WHERE node_id = ? LIMIT 1";
const FILE = "SELECT a.sha256 FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq WHERE o.order_id = ?";
const SENT = `SELECT a.sha256 FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq
  WHERE o.order_id = ? AND o.node_id = ? AND o.action = 'send'`;
const RETIRED = `SELECT a.sha256 FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
  WHERE h.node_id = ? AND h.state = 'retired' ORDER BY h.seq LIMIT ?`;
const NEWEST = `SELECT sha256 FROM sync_artifacts WHERE kind = 'model' AND freed_at IS NULL ORDER BY seq DESC LIMIT ?`;
const INVALID = `SELECT a.sha256 FROM sync_invalid i JOIN sync_artifacts a ON a.seq = i.seq
  WHERE i.node_id = ? ORDER BY i.seq LIMIT ?`;
const LISTED = `SELECT h.seq, a.sha256, a.bytes FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
  WHERE h.node_id = ? AND h.seq > ? ORDER BY h.seq LIMIT ?`;

/** Copies that somebody wants looked at, by node. Lost with the process: whoever asked asks again. */
function createLooks() {
  const looks = new Map<string, Set<string>>();
  return {
    want(nodeId: string, sha256: string): void {
      const wanted = looks.get(nodeId) ?? new Set();
      if (wanted.size < MAX_LOOKS) looks.set(nodeId, wanted.add(sha256));
    },
    take(nodeId: string): string[] {
      const wanted = [...(looks.get(nodeId) ?? [])];
      looks.delete(nodeId);
      return wanted;
    },
  };
}

export function createNodeDesk(ports: DeskPorts) {
  const { store, clock, log, copies, get, verify, heard, onRefused, news: arrivals, policies = () => [] } = ports;
  const { sources = createSources({ store, clock, nodeId: "", copies, nodes: () => [] }) } = ports;
  /** What each node said last of its disk; lost with the process, and soon known again. */
  const storage = createRecent<NodeStorage>(NODE_NEWS_MS, 20_000);
  const transfers = createRecent<NodeTransfers>(NODE_NEWS_MS, 20_000);
  const looks = createLooks();
  const keptBack = createKeptBack();
  const calls = createNodeCalls(copies);
  /** Asked with every word of every node: it looks at this one's row alone. */
  const isConfirmed = ({ node_id, incarnation }: NodeNews) =>
    store.read("SELECT 1 FROM sync_storage WHERE node_id = ? AND incarnation = ?", node_id, incarnation).length > 0;

  const dropping = ({ node_id, drop }: NodeNews) => {
    const known = copies.nodes();
    const places = copies.counting(known).length;
    const asked = drop.map((sha256) => {
      const artifact = get(sha256);
      return { sha256, required: artifact === undefined ? 0 : copies.requiredOf(artifact, places) };
    });
    const counting = copies.reliable(known);
    const at = clock.now();
    const coordinators = copies.coordinators(known);
    return askDrop({ node_id, asked, counting, coordinators, at, lockedUntil: at + COPY_LOCK_MS });
  };

  /** What a node says of its orders, and what it shall do next. */
  const orders = async ({ node_id, orders: reports }: NodeNews): Promise<readonly TakenOrder[]> => {
    if (reports.length === 0 && store.read(WAITING, node_id).length === 0) return [];
    const at = clock.now();
    const { maxAttempts, firstWaitMs, maxOfNode: max, maxSmallOfNode: maxSmall, maxSmallBytes, silentMs } = orderLimits;
    const bounds = { max, maxSmall, maxSmallBytes };
    const tries = { maxAttempts, firstWaitMs };
    const [, { taken }] = await store.commit([
      noteOrders({ node_id, reports, at, ...tries }),
      takeOrders({ node_id, bounds, at, silentBefore: at - silentMs, ...tries }),
    ]);
    const broken = reports.filter(({ state }) => state === "failed");
    sources.settle(
      node_id,
      broken.flatMap(({ order_id }) => store.read<{ sha256: string }>(FILE, order_id)).map(({ sha256 }) => sha256),
    );
    const sent = reports.filter(({ state }) => state === "sent");
    const brought = sent.flatMap(({ order_id }) => store.read<{ sha256: string }>(SENT, order_id, node_id));
    const files = brought.map(({ sha256 }) => sha256);
    if (files.length > 0) verify(files, node_id);
    return taken;
  };

  /** What a node alone holds, as one that is about to end, is sent home before all else. */
  const bringHome = async (node_id: string, { order: isOrdered }: { readonly order: boolean }): Promise<number> => {
    // Asked of all nodes that are ill, of which most may hold nothing.
    if (store.read(HOLDS_ANY, node_id).length === 0) return 0;
    const at = clock.now();
    const ask = { heldBefore: at, max: MAX_RETIRED_TOLD };
    const alone = await aloneOn(store, [node_id], copies.counting(), ask);
    if (!isOrdered) return alone.length;
    const lacking = alone.filter(({ ordered }) => !ordered.includes(node_id));
    const seqs = alone.map(({ seq }) => seq);
    const order = { node_id, action: "send", urgency: MAX_URGENCY, max_rate: null, reason: "at risk" } as const;
    const orders = lacking.map(({ seq, bytes }) => ({ ...order, seq, bytes }));
    if (seqs.length > 0)
      await store.commit([
        placeOrders({ sync_id: LEAVING, orders, at }),
        hastenOrders({ seqs, urgency: MAX_URGENCY, at }),
      ]);
    return alone.length;
  };

  const noteTransfers = (node_id: string, told: NodeTransfers | undefined): void => {
    if (told === undefined) return;
    transfers.set(node_id, told, clock.monotonic());
    heard?.(node_id);
    sources.announce(node_id, told.serving);
    for (const refusal of told.refused) onRefused?.(node_id, refusal);
  };

  return {
    async exchange(news: NodeNews): Promise<NodeAnswer> {
      const { node_id, held, gone } = news;
      calls.answered(node_id);
      storage.set(node_id, news.storage, clock.monotonic());
      noteTransfers(node_id, news.transfers);
      sources.settle(node_id, held);
      const quiet = held.length + gone.length + news.drop.length === 0;
      const at = clock.now();
      // Most of what nodes say changes nothing, and costs no commit.
      const [noted, , answered] = quiet
        ? [{ seqs: [] }, undefined, { answers: [] }]
        : await store.commit([
            noteCopies({ node_id, sha256s: held, by: node_id, at }),
            noteGone({ node_id, sha256s: gone }),
            dropping(news),
          ]);
      keptBack.note(node_id, news.drop, answered.answers);
      const confirm = !isConfirmed(news);
      const alone = !confirm && news.leaving === true ? await bringHome(news.node_id, { order: true }) : 0;
      const taken = confirm ? [] : await orders(news);
      return {
        held: noted.seqs.map((seq, i) =>
          seq === null ? "unknown" : get(held[i]!)?.freed_at === null ? "counted" : "given_up",
        ),
        drop: answered.answers.map((answer, i) => ({
          sha256: news.drop[i]!,
          allowed: answer.allowed,
          why: answer.allowed ? null : `${answer.why} (${answer.actual} of ${answer.required})`,
        })),
        retired: store.read<{ sha256: string }>(RETIRED, node_id, MAX_RETIRED_TOLD).map(({ sha256 }) => sha256),
        verify: looks.take(node_id),
        invalid: store.read<{ sha256: string }>(INVALID, node_id, MAX_RETIRED_TOLD).map(({ sha256 }) => sha256),
        newest: store.read<{ sha256: string }>(NEWEST, MAX_NEWEST_TOLD).map(({ sha256 }) => sha256),
        orders: taken,
        batches: sources.plan(
          node_id,
          taken.filter(({ action }) => action === "fetch"),
        ),
        confirm,
        alone,
        coordinator: sources.office(),
        policies: policies(),
      };
    },
    /** How many files lie nowhere but on a node; with `order`, they are sent home before all else. */
    alone: bringHome,
    /** The copies that a node is known to hold, in the order of the catalog, from a place on. */
    listed: (nodeId: string, after: number, limit: number) =>
      store.read<{ seq: number; sha256: string; bytes: number }>(LISTED, nodeId, after, limit),
    /** What a node found of its copies after its start. */
    async confirm(nodeId: string, incarnation: number, upto: number, bits: string) {
      const [{ newest }] = store.read<{ newest: number }>(
        "SELECT ifnull(max(seq), 0) AS newest FROM sync_artifacts",
      ) as [{ newest: number }];
      if (upto > newest) throw OperatingError.invalid("INVALID_REQUEST", `upto: the catalog ends at ${newest}`);
      const present = unpackSeqs(bits, upto);
      const [found] = await store.commit([
        confirmCopies({ node_id: nodeId, incarnation, upto, present, at: clock.now() }),
      ]);
      if (!found.believed)
        log.error("a node misses all its copies; they do not count until it reports them again", { node_id: nodeId });
      else if (found.lost.length > 0)
        log.warn("a node has lost copies", { node_id: nodeId, copies: found.lost.length });
      return { believed: found.believed, lost: found.lost.length };
    },
    /** The node hashes its copy again when it next speaks. */
    look: looks.want,
    /** Copies that nodes would like to let go and may not, each told once. */
    takeKeptBack: keptBack.take,
    wake: calls.wake,
    isWanted: calls.isWanted,
    /** Bytes that were sent here and are not what their name says. */
    cameWrong: (wrong: Omit<WrongCopy, "transport">) => arrivals?.noteWrong({ ...wrong, transport: "coordinator" }),
    /** From whom a node gets files that it needs now. */
    sourcesFor: (nodeId: string, sha256s: readonly string[]) => ({ batches: sources.planNamed(nodeId, sha256s) }),
    /** How files travel to and from a node, as it last said. */
    transfersOf: (nodeId: string): NodeTransfers | undefined => transfers.get(nodeId, clock.monotonic()),
    storageOf: (nodeId: string): NodeStorage | undefined => storage.get(nodeId, clock.monotonic()),
  };
}

export type NodeDesk = ReturnType<typeof createNodeDesk>;

/** What each backend makes of a request: which node gets which file, and why others do not. Pure. */
import type { NewOrder } from "../orders/order.ts";
import type { SyncBackend, SyncDataType } from "./request.ts";
import { isSoonAble, type Judgement, judgeTarget, type TargetFacts } from "./score.ts";

export interface WantedFile {
  readonly seq: number;
  readonly bytes: number;
  readonly dataType: Exclude<SyncDataType, "all">;
  /** Nodes that hold it, home among them by its id. */
  readonly holders: readonly string[];
}

export interface PlanNode extends Omit<TargetFacts, "missing" | "missingBytes" | "wanted"> {}

export interface PlanQuestion {
  readonly files: readonly WantedFile[];
  readonly nodes: readonly PlanNode[];
  /** Ids of those that were named; undefined for all. */
  readonly targets: readonly string[] | undefined;
  readonly excluded: readonly string[];
  readonly urgency: number;
  readonly maxRate: number | null;
}

export interface SyncPlan {
  readonly backend: SyncBackend;
  readonly orders: readonly NewOrder[];
  readonly judgements: readonly Judgement[];
  /** Nodes that were to get something, whether they lack it or not. */
  readonly nodes: readonly string[];
  /** Why it comes to nothing. */
  readonly error: string | null;
  /** Nodes that are meant too and are away or silent now: worth a moment where they are named, or where there is nobody else. */
  readonly soonAble: readonly string[];
}

/** What a node needs for the work that it does: who trains needs games and samples, who plays needs models. */
function needs({ kinds }: PlanNode, dataType: WantedFile["dataType"]): boolean {
  const trains = kinds.some((kind) => /^train|export|npz/.test(kind));
  return dataType === "models" ? kinds.length > 0 : trains;
}

type Way = {
  readonly isMeant: (node: PlanNode, file: WantedFile) => boolean;
  /** Whether nodes are judged, and the worst left out. */
  readonly judges: boolean;
  readonly nobody: string;
};

const WAYS: Readonly<Record<Exclude<SyncBackend, "ephemeral_sync">, Way>> = {
  auto_sync: {
    isMeant: (node, file) => needs(node, file.dataType),
    judges: true,
    nobody: "no node does work that needs it",
  },
  cluster_data_sync: { isMeant: () => true, judges: true, nobody: "no node is able to take it" },
  router: { isMeant: () => true, judges: true, nobody: "none of the nodes is able to take it" },
  // The plain transport: whoever is named, whatever is known of it.
  distributed: { isMeant: () => true, judges: false, nobody: "there is no other node" },
};

const orderOf = (node_id: string, action: NewOrder["action"], file: WantedFile, ask: PlanQuestion): NewOrder => ({
  node_id,
  seq: file.seq,
  action,
  urgency: ask.urgency,
  bytes: file.bytes,
  max_rate: ask.maxRate,
  reason: "sync",
});

/** Rented nodes bring home what home lacks: what they alone have goes first. */
function planEphemeral(ask: PlanQuestion): SyncPlan {
  const home = ask.nodes.find(({ isHome }) => isHome)?.node_id;
  const rented = ask.nodes.filter(
    ({ isRented, isHome, node_id }) => isRented && !isHome && !ask.excluded.includes(node_id),
  );
  const named = rented.filter(({ node_id }) => ask.targets?.includes(node_id) ?? true);
  const orders = ask.files
    .filter(({ holders }) => home === undefined || !holders.includes(home))
    .sort((a, b) => a.holders.length - b.holders.length)
    .flatMap((file) => {
      const from = named.find(({ node_id, isThere }) => isThere && file.holders.includes(node_id));
      return from === undefined ? [] : [orderOf(from.node_id, "send", file, ask)];
    });
  const nodes = named.map(({ node_id }) => node_id);
  const error = named.length === 0 ? "there is no rented node" : null;
  return { backend: "ephemeral_sync", orders, judgements: [], nodes, error, soonAble: [] };
}

export function planSync(backend: SyncBackend, ask: PlanQuestion): SyncPlan {
  if (backend === "ephemeral_sync") return planEphemeral(ask);
  const { isMeant, judges, nobody } = WAYS[backend];
  const named = ask.nodes.filter(
    ({ node_id, isHome }) => !isHome && !ask.excluded.includes(node_id) && (ask.targets?.includes(node_id) ?? true),
  );
  const wantedBy = named.map((node) => ({ node, files: ask.files.filter((file) => isMeant(node, file)) }));
  const judged = wantedBy.map(({ node, files }) => {
    const missing = files.filter(({ holders }) => !holders.includes(node.node_id));
    const missingBytes = missing.reduce((sum, { bytes }) => sum + bytes, 0);
    const judgement = judgeTarget({ ...node, missing: missing.length, missingBytes, wanted: files.length });
    return { node, files, missing, judgement };
  });
  const able = judged
    .filter(({ files, judgement }) => files.length > 0 && (!judges || judgement.skipped === null))
    .sort((a, b) => (judges ? b.judgement.score - a.judgement.score : 0) || (a.node.node_id < b.node.node_id ? -1 : 1));
  const late = judged.filter(({ files, judgement }) => judges && files.length > 0 && isSoonAble(judgement));
  const isWorthIt = ask.targets !== undefined || able.length === 0;
  return {
    backend,
    orders: able.flatMap(({ node, missing }) => missing.map((file) => orderOf(node.node_id, "fetch", file, ask))),
    judgements: judges ? judged.map(({ judgement }) => judgement) : [],
    nodes: able.map(({ node }) => node.node_id),
    error: able.length === 0 ? nobody : null,
    soonAble: isWorthIt ? late.map(({ node }) => node.node_id) : [],
  };
}

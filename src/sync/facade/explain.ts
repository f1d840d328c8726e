/** What a request would come to and why: which backend, which nodes, and from whom each of them would get its files. */
import type { Store } from "../../router/index.ts";
import { syncLimits } from "../limits.ts";
import type { NewOrder, TRANSPORTS } from "../orders/order.ts";
import type { PassedOver } from "../sources/decide.ts";
import type { Sources } from "../sources/sources.ts";
import type { SyncPlan } from "./plan.ts";
import {
  type BackendRole,
  backendsFor,
  SYNC_BACKENDS,
  type SyncBackend,
  type SyncRequest,
  syncDefaults,
} from "./request.ts";

/** Why a backend is taken, comes after another, or is not meant. */
export interface BackendVerdict {
  readonly backend: SyncBackend;
  /** `fallback`: if those before it fail; `failed`: it comes to nothing; `skipped`: such a request does not ask for it. */
  readonly role: BackendRole;
  readonly why: string;
  readonly actual: string;
  readonly required: string;
}

/** Somebody whom a node would ask, in the order in which it would. */
export interface ExplainedSource {
  readonly node_id: string;
  /** How it can be asked; the first one that works is used. */
  readonly transports: readonly (typeof TRANSPORTS)[number][];
  /** Nodes that it sends to now. */
  readonly feeding: number;
  /** Nodes between it and one that has the whole file; 0 for one that has it. */
  readonly depth: number;
  readonly isTroubled: boolean;
}

/** Files of a node that would come the same way. */
export interface ExplainedWay {
  readonly node_id: string;
  readonly action: NewOrder["action"];
  readonly files: number;
  readonly bytes: number;
  readonly sources: readonly ExplainedSource[];
  readonly passedOver: readonly PassedOver[];
}

export interface Explanation extends SyncPlan {
  readonly backends: readonly BackendVerdict[];
  /** Of the first transfers: so many of them were looked at. */
  readonly ways: readonly ExplainedWay[];
  readonly lookedAt: number;
}

/** What a request must say for a backend to be the first one, and what it says. */
function ruleOf(backend: SyncBackend, request: SyncRequest): Pick<BackendVerdict, "why" | "actual" | "required"> {
  const { preferEphemeral = false, priority = syncDefaults.priority, targets } = request;
  switch (backend) {
    case "ephemeral_sync":
      return { why: "prefer_ephemeral", actual: String(preferEphemeral), required: "true" };
    case "cluster_data_sync":
      return { why: "priority", actual: priority, required: "high or critical" };
    case "router":
      return { why: "targets", actual: targets === undefined ? "none" : `${targets.length} named`, required: "named" };
    case "auto_sync":
      return {
        why: "everything else",
        actual: targets === undefined ? "no targets" : "targets",
        required: "no targets",
      };
    case "distributed":
      return { why: "the last resort", actual: "others come first", required: "all others fail" };
  }
}

/** Every backend there is, in the order in which they would be tried. `errors` says which of them come to nothing. */
export function judgeBackends(request: SyncRequest, errors: ReadonlyMap<SyncBackend, string | null>): BackendVerdict[] {
  const chain = backendsFor(request);
  const chosen = chain.find((backend) => (errors.get(backend) ?? null) === null);
  const inChain = chain.map((backend): BackendVerdict => {
    const error = errors.get(backend) ?? null;
    if (error !== null)
      return { backend, role: "failed", why: error, actual: "nobody", required: "a node that can get it" };
    if (backend === chosen) return { backend, role: "chosen", ...ruleOf(backend, request) };
    return { backend, role: "fallback", why: "comes next", actual: "not needed", required: "those before it fail" };
  });
  const others = SYNC_BACKENDS.filter((backend) => !chain.includes(backend));
  return [...inChain, ...others.map((backend) => ({ backend, role: "skipped" as const, ...ruleOf(backend, request) }))];
}

const FILE = "SELECT seq, sha256, bytes FROM sync_artifacts WHERE seq = ?";

interface WayPorts {
  readonly store: Pick<Store, "read">;
  readonly sources: Pick<Sources, "choose" | "waysOf">;
  readonly nodeId: string;
}

/** From whom the first of these orders would be served, those alike together. */
export function explainWays(orders: readonly NewOrder[], { store, sources, nodeId }: WayPorts) {
  const looked = orders.slice(0, syncLimits.maxExplained);
  const ways = new Map<string, { -readonly [key in keyof ExplainedWay]: ExplainedWay[key] }>();
  for (const { node_id, seq, action } of looked) {
    const [file] = store.read<{ seq: number; sha256: string; bytes: number }>(FILE, seq);
    if (file === undefined) continue;
    const { given, passedOver } = action === "send" ? { given: HOME_BOUND, passedOver: [] } : choose(node_id, file);
    const key = JSON.stringify([node_id, action, given.map((one) => one.node_id), passedOver]);
    const known = ways.get(key) ?? { node_id, action, files: 0, bytes: 0, sources: given, passedOver };
    known.files += 1;
    known.bytes += file.bytes;
    ways.set(key, known);
  }
  return { ways: [...ways.values()], lookedAt: looked.length };

  function choose(to: string, file: { seq: number; sha256: string; bytes: number }) {
    const { givers, passedOver } = sources.choose(to, file);
    const given = givers.map(
      (giver): ExplainedSource => ({
        node_id: giver?.node_id ?? nodeId,
        // The API of the coordinator is behind all ways.
        transports: [...sources.waysOf(giver), ...(giver === null ? (["coordinator"] as const) : [])],
        feeding: giver?.feeding ?? 0,
        depth: giver?.depth ?? 0,
        isTroubled: giver?.isTroubled === true,
      }),
    );
    return { given, passedOver };
  }
}

/** What a node alone has it sends home itself. */
const HOME_BOUND: readonly ExplainedSource[] = [];

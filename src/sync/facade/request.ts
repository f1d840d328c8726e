/** What may be asked of a sync, and what comes of it: the words of the Python system in our spelling. */

export const SYNC_DATA_TYPES = ["games", "models", "npz", "all"] as const;
export type SyncDataType = (typeof SYNC_DATA_TYPES)[number];

export const SYNC_PRIORITIES = ["low", "normal", "high", "critical"] as const;
export type SyncPriority = (typeof SYNC_PRIORITIES)[number];

/** Names as they were; what each does says `plan.ts`. */
export const SYNC_BACKENDS = ["auto_sync", "cluster_data_sync", "distributed", "ephemeral_sync", "router"] as const;
export type SyncBackend = (typeof SYNC_BACKENDS)[number];

/** What a backend is to one request. */
export const BACKEND_ROLES = ["chosen", "fallback", "failed", "skipped"] as const;
export type BackendRole = (typeof BACKEND_ROLES)[number];

export interface SyncRequest {
  readonly dataType: SyncDataType;
  /** Nodes by id or name; all that are able unless given. */
  readonly targets?: readonly string[] | undefined;
  readonly boardType?: string | undefined;
  readonly numPlayers?: number | undefined;
  readonly priority?: SyncPriority | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** Megabytes a second, for each node. */
  readonly bandwidthLimitMbps?: number | undefined;
  readonly excludeNodes?: readonly string[] | undefined;
  /** Bring home first what lies on rented nodes. */
  readonly preferEphemeral?: boolean | undefined;
  /** Wait until every copy was shown; without it, until all is ordered. */
  readonly requireConfirmation?: boolean | undefined;
}

export interface SyncResponse {
  readonly success: boolean;
  readonly backendUsed: SyncBackend;
  /** Nodes that have all that they were to get. */
  readonly nodesSynced: number;
  /** Of copies that arrived, checked. */
  readonly bytesTransferred: number;
  readonly durationSeconds: number;
  readonly errors: readonly string[];
  readonly details: {
    readonly syncId: string;
    readonly files: number;
    readonly filesArrived: number;
    readonly pending: number;
    readonly nodes: readonly string[];
    readonly tried: readonly SyncBackend[];
  };
}

export const syncDefaults = { priority: "normal", timeoutSeconds: 300 } as const;

/** Which backends are tried, in their order: the first is the one for such a request. */
export function backendsFor(request: SyncRequest): readonly SyncBackend[] {
  const { preferEphemeral = false, priority = syncDefaults.priority, targets } = request;
  if (preferEphemeral) return ["ephemeral_sync", "auto_sync", "distributed"];
  if (priority === "high" || priority === "critical") return ["cluster_data_sync", "router", "distributed"];
  if (targets !== undefined) return ["router", "distributed"];
  return ["auto_sync", "router", "distributed"];
}

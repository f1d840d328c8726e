/** The single entrance for asking that files be brought to nodes, and for waiting until they were shown to be there. */
import { definePart } from "../../daemons/index.ts";
import { type Clock, type Ids, type Log, messageOf, OperatingError, sleep, sumOf } from "../../kernel/index.ts";
import type { EventRouter, Store } from "../../router/index.ts";
import { type ArtifactRow, dataTypeOf } from "../artifact.ts";
import { syncLimits } from "../limits.ts";
import { type Delivery, deliveriesOf } from "../orders/deliveries.ts";
import { type HostBooks, hostBooks } from "../orders/hosts.ts";
import type { DeliveryView, OrderRow } from "../orders/order.ts";
import { cancelOrders, placeOrders } from "../orders/order-operations.ts";
import type { Sources } from "../sources/sources.ts";
import { type Explanation, explainWays, judgeBackends } from "./explain.ts";
import { beginSync, endSync, type SyncRow } from "./facade-operations.ts";
import { type PlanNode, planSync, type SyncPlan, type WantedFile } from "./plan.ts";
import {
  backendsFor,
  SYNC_PRIORITIES,
  type SyncBackend,
  type SyncDataType,
  type SyncRequest,
  type SyncResponse,
  syncDefaults,
} from "./request.ts";
import { isSoonAble, judgeTarget } from "./score.ts";

const SYNC_FACADE = "sync_facade";

export const syncFacadePart = definePart({
  name: SYNC_FACADE,
  placement: "each-process",
  emits: ["PRIORITY_SYNC_COMPLETED", "PRIORITY_SYNC_FAILED"],
});

export interface FacadePorts {
  readonly router: Pick<EventRouter, "transact">;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: Ids;
  /** Every node as it is now, home among them. */
  readonly nodes: () => readonly PlanNode[];
  /** The node that a name means; throws for one that nobody knows. */
  readonly findNode: (name: string) => string;
  readonly nameOf: (nodeId: string) => string;
  /** From whom nodes fetch. */
  readonly sources: Pick<Sources, "choose" | "waysOf">;
  readonly nodeId: string;
}

export interface PrioritySync {
  readonly reason: string;
  readonly sourceNode: string;
  readonly configKey: string;
  readonly dataType: SyncDataType;
}

interface Progress {
  readonly files: number;
  readonly arrived: number;
  readonly failed: number;
  readonly open: number;
  readonly bytes: number;
  readonly bytesDone: number;
  /** When the first node began to carry it out; null while none has. */
  readonly beganAt: number | null;
}

export type SyncShown = SyncRow & { readonly progress: Progress };

const CANCELLED = "it was cancelled";

const KINDS: Readonly<Record<Exclude<SyncDataType, "all">, string>> = {
  games: "kind = 'games'",
  models: "kind IN ('model', 'checkpoint')",
  npz: "kind NOT IN ('games', 'model', 'checkpoint')",
};

const PROGRESS = `SELECT count(*) AS files, total(state = 'done') AS arrived, total(state = 'failed') AS failed,
    total(state IN ('waiting', 'running')) AS open, total(bytes) AS bytes, total(bytes_done) AS bytesDone,
    min(began_at) AS beganAt
  FROM sync_orders WHERE sync_id = ? AND state <> 'cancelled'`;

const wordOf = (configKey: string | null): { board: string; players: string } => {
  const [, board = "", players = ""] = /^(.*)_([234])p$/.exec(configKey ?? "") ?? [];
  return { board, players };
};

/** `SyncFacade` of the Python system: every field of a request does what it says, and every number of an answer is counted. */
export class SyncFacade {
  readonly #ports: FacadePorts;
  readonly #startedAt: number;
  readonly #counts = { total: 0, errors: 0, bytes: 0, by: new Map<SyncBackend, number>() };

  constructor(ports: FacadePorts) {
    this.#ports = ports;
    this.#startedAt = ports.clock.now();
  }

  /** `sync("games")`, or with all there is to say. Resolves when it has come to an end, one way or the other. */
  async sync(
    given: SyncDataType | SyncRequest,
    more: Omit<SyncRequest, "dataType"> & { readonly requestedBy?: string } = {},
  ): Promise<SyncResponse> {
    const { requestedBy = SYNC_FACADE, ...rest } = more;
    const request: SyncRequest = typeof given === "string" ? { dataType: given, ...rest } : { ...given, ...rest };
    return this.#run(request, requestedBy, this.#newId());
  }

  /** The same without waiting for its end: the id under which it can be looked at and cancelled. */
  async start(request: SyncRequest, requestedBy: string): Promise<string> {
    const syncId = this.#newId();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#run(request, requestedBy, syncId, () => resolve(syncId)).catch((thrown: unknown) => {
      this.#ports.log.error("a sync was interrupted", { sync_id: syncId, error: messageOf(thrown) });
      reject(thrown);
    });
    return promise;
  }

  /** What a request would come to: who gets what from whom, and why others do not. Nothing is ordered. */
  async explain(request: SyncRequest): Promise<Explanation> {
    const files = await this.#files(request);
    const plans = backendsFor(request).map((backend) => this.#plan(backend, request, files));
    const plan = plans.find(({ error }) => error === null) ?? plans[0]!;
    const errors = new Map(plans.map(({ backend, error }) => [backend, error]));
    return { ...plan, backends: judgeBackends(request, errors), ...explainWays(plan.orders, this.#ports) };
  }

  /** At once, from one node: for data that is about to be lost. Waits until it was shown to have arrived. */
  async triggerPrioritySync({ reason, sourceNode, configKey, dataType }: PrioritySync): Promise<SyncResponse> {
    const { board: boardType, players } = wordOf(configKey);
    if (boardType === "") throw OperatingError.invalid("USAGE", `'${configKey}' is not a config, such as hex8_2p`);
    const source = this.#ports.findNode(sourceNode);
    const request: SyncRequest = {
      dataType,
      targets: [source],
      boardType,
      numPlayers: Number(players),
      priority: "critical",
      preferEphemeral: true,
      requireConfirmation: true,
    };
    const syncId = this.#newId();
    const response = await this.#run(request, `priority: ${reason}`, syncId);
    const about = { sync_id: syncId, config_key: configKey, data_type: dataType, source_node_id: source, reason };
    await this.#ports.router.transact({ source: SYNC_FACADE, validation: "strict" }, ({ emit }) => {
      if (response.success)
        emit("PRIORITY_SYNC_COMPLETED", {
          ...about,
          bytes_transferred: response.bytesTransferred,
          duration_seconds: response.durationSeconds,
        });
      else emit("PRIORITY_SYNC_FAILED", { ...about, error: response.errors.join("; "), retryable: true });
    });
    return response;
  }

  /** Ends a sync that runs: what has arrived stays, the rest is not fetched. */
  async cancel(syncId: string, reason: string): Promise<void> {
    const { store, clock } = this.#ports;
    const found = this.show(syncId);
    if (found.state !== "running")
      throw OperatingError.conflict("SYNC_ENDED", `${syncId} is ${found.state}`, {
        hint: "There is nothing to cancel.",
      });
    const at = clock.now();
    await store.commit([
      cancelOrders({ sync_id: syncId, reason, at }),
      endSync({ sync_id: syncId, state: "cancelled", response: null, at }),
    ]);
  }

  show(syncId: string): SyncShown {
    const [row] = this.#ports.store.read<SyncRow>("SELECT * FROM sync_requests WHERE sync_id = ?", syncId);
    if (row === undefined)
      throw OperatingError.notFound("SYNC_NOT_FOUND", `there is no sync '${syncId}'`, {
        hint: "'ringrift sync' lists them.",
      });
    return this.#shown(row);
  }

  list(limit = 20): SyncShown[] {
    return this.#ports.store
      .read<SyncRow>("SELECT * FROM sync_requests ORDER BY started_at DESC LIMIT ?", limit)
      .map((row) => this.#shown(row));
  }

  /** The ledger: single transfers with all that was tried for them, and the books on the hosts that carry them out. */
  async deliveries(ask: { readonly view: DeliveryView; readonly node?: string | undefined; readonly limit: number }) {
    const { store, findNode } = this.#ports;
    const nodeId = ask.node === undefined ? undefined : findNode(ask.node);
    const deliveries: readonly Delivery[] = await deliveriesOf(store, { ...ask, nodeId });
    const hosts: readonly HostBooks[] = await hostBooks(store);
    return { deliveries, hosts: hosts.filter(({ node_id }) => (nodeId ?? node_id) === node_id) };
  }

  getStats() {
    const { total, errors, bytes, by } = this.#counts;
    return { totalSyncs: total, byBackend: Object.fromEntries(by), totalBytes: bytes, totalErrors: errors };
  }

  /** Stopped when more than half of its syncs failed, degraded when more than a fifth did. */
  healthCheck() {
    const { total, errors, by } = this.#counts;
    const share = total === 0 ? 0 : errors / total;
    const status = share > 0.5 ? "stopped" : share > 0.2 ? "degraded" : "running";
    return {
      healthy: status === "running",
      status,
      message: status === "running" ? "" : `${errors} of ${total} syncs failed`,
      details: { operationsCount: total, errorsCount: errors, backendsLoaded: by.size },
    } as const;
  }

  /** One whose process has ended is over too; nodes carry out what was ordered. */
  #shown(row: SyncRow): SyncShown {
    const isLeft = row.state === "running" && row.started_at < this.#startedAt;
    return { ...row, state: isLeft ? "failed" : row.state, progress: this.#progress(row.sync_id) };
  }

  #newId(): string {
    return `sync-${this.#ports.ids.uuid()}`;
  }

  #progress(syncId: string): Progress {
    return this.#ports.store.read<Progress>(PROGRESS, syncId)[0]!;
  }

  /** What is meant, newest first. It may go through all rows, and so does it on the thread of the readers. */
  async #files({ dataType, boardType, numPlayers }: SyncRequest): Promise<WantedFile[]> {
    const where = [
      dataType === "all" ? "1 = 1" : KINDS[dataType],
      ...(boardType === undefined ? [] : ["substr(config_key, 1, length(config_key) - 3) = ?"]),
      ...(numPlayers === undefined ? [] : ["substr(config_key, -2) = ? || 'p'"]),
    ];
    const params = [
      ...(boardType === undefined ? [] : [boardType]),
      ...(numPlayers === undefined ? [] : [String(numPlayers)]),
    ];
    const rows = await this.#ports.store.scan<Pick<ArtifactRow, "seq" | "bytes" | "kind"> & { holders: string }>(
      `SELECT seq, bytes, kind, (SELECT json_group_array(h.node_id) FROM sync_held h
           WHERE h.seq = a.seq AND h.state = 'held') AS holders
       FROM sync_artifacts a WHERE freed_at IS NULL AND state IN ('in_flight', 'durable', 'quarantined')
         AND ${where.join(" AND ")} ORDER BY seq DESC LIMIT ?`,
      [...params, syncLimits.maxFiles],
    );
    return rows
      .map(({ seq, bytes, kind, holders }) => ({
        seq,
        bytes,
        dataType: dataTypeOf([kind]) as WantedFile["dataType"],
        holders: JSON.parse(holders) as string[],
      }))
      .filter(({ holders }) => holders.length > 0);
  }

  #plan(backend: SyncBackend, request: SyncRequest, files: readonly WantedFile[]): SyncPlan {
    const { nodes, findNode } = this.#ports;
    const { targets, excludeNodes = [], priority = syncDefaults.priority, bandwidthLimitMbps } = request;
    return planSync(backend, {
      files,
      nodes: nodes(),
      targets: targets?.map(findNode),
      excluded: excludeNodes.map(findNode),
      urgency: SYNC_PRIORITIES.indexOf(priority),
      maxRate: bandwidthLimitMbps === undefined ? null : Math.round(bandwidthLimitMbps * 1e6),
    });
  }

  async #run(
    request: SyncRequest,
    requestedBy: string,
    syncId: string,
    begun: () => void = () => {},
  ): Promise<SyncResponse> {
    const { store, clock } = this.#ports;
    const begunMs = clock.monotonic();
    const timeMs = 1_000 * (request.timeoutSeconds ?? syncDefaults.timeoutSeconds);
    const deadlineMs = begunMs + timeMs;
    // All backends share it: a node that did not come back for one is not waited for again.
    const settleMs = begunMs + Math.min(syncLimits.settleMs, syncLimits.settleShare * timeMs);
    const errors: string[] = [];
    const tried: SyncBackend[] = [];
    let plan: SyncPlan | undefined;
    let isOver = false;
    for (const backend of backendsFor(request)) {
      if (isOver) break;
      plan = this.#plan(backend, request, await this.#files(request));
      tried.push(backend);
      const begin = ({ judgements, nodes, error, orders }: SyncPlan) =>
        store.commit([
          beginSync({
            sync_id: syncId,
            backend,
            request: JSON.stringify(request),
            plan: JSON.stringify({ judgements, nodes, error }),
            requested_by: requestedBy,
            started_at: clock.now(),
          }),
          placeOrders({ sync_id: syncId, orders, at: clock.now() }),
        ]);
      if (plan.soonAble.length > 0) {
        await begin({ ...plan, orders: [] });
        begun();
        await this.#awaitNodes(plan, syncId, settleMs);
        if (this.show(syncId).state !== "running") {
          errors.push(`${backend}: ${CANCELLED}`);
          break;
        }
        plan = this.#plan(backend, request, await this.#files(request));
      }
      await begin(plan);
      begun();
      const wrong = plan.error ?? (await this.#arrive(request, syncId, deadlineMs));
      if (wrong === null) {
        isOver = true;
        break;
      }
      errors.push(`${backend}: ${wrong}`);
      isOver = clock.monotonic() >= deadlineMs || this.show(syncId).state !== "running";
      if (isOver) break;
      // What one way could not do is not held against the next.
      await store.commit([cancelOrders({ sync_id: syncId, reason: wrong, at: clock.now(), alsoFailed: true })]);
    }
    return this.#end(request, syncId, plan!, tried, errors, (clock.monotonic() - begunMs) / 1_000);
  }

  /** Resolves when those that were away or silent can be judged anew, when the time for it is over, or when nobody wants it any more. */
  async #awaitNodes({ soonAble }: SyncPlan, syncId: string, untilMs: number): Promise<void> {
    const { clock, nodes } = this.#ports;
    const isLate = (node: PlanNode): boolean =>
      soonAble.includes(node.node_id) && isSoonAble(judgeTarget({ ...node, missing: 0, missingBytes: 0, wanted: 0 }));
    while (clock.monotonic() < untilMs && this.show(syncId).state === "running" && nodes().some(isLate))
      await sleep(clock, syncLimits.lookMs);
  }

  /** Null once all has arrived, or is ordered where nobody waits for more; else what is wrong. */
  async #arrive(
    { requireConfirmation = true }: SyncRequest,
    syncId: string,
    deadlineMs: number,
  ): Promise<string | null> {
    const { clock } = this.#ports;
    for (;;) {
      if (this.show(syncId).state !== "running") return CANCELLED;
      const { files, arrived, failed, open } = this.#progress(syncId);
      if (open === 0) return failed > 0 ? `${failed} of ${files} transfers failed` : null;
      if (!requireConfirmation) return null;
      if (clock.monotonic() >= deadlineMs) return `${arrived} of ${files} files had arrived when its time was over`;
      await sleep(clock, syncLimits.lookMs);
    }
  }

  async #end(
    request: SyncRequest,
    syncId: string,
    plan: SyncPlan,
    tried: readonly SyncBackend[],
    errors: readonly string[],
    durationSeconds: number,
  ): Promise<SyncResponse> {
    const { store, clock, nameOf } = this.#ports;
    const isConfirmed = request.requireConfirmation ?? true;
    const lone = plan.error !== null && request.targets === undefined;
    const success = lone || errors.length < tried.length;
    const at = clock.now();
    const { files, arrived, open } = this.#progress(syncId);
    const done = store.read<Pick<OrderRow, "node_id" | "seq" | "bytes">>(
      "SELECT node_id, seq, bytes FROM sync_orders WHERE sync_id = ? AND state = 'done'",
      syncId,
    );
    const bytes = sumOf(done, (order) => order.bytes);
    const there = new Set(done.map(({ node_id, seq }) => `${node_id} ${seq}`));
    const behind = new Set(
      plan.orders.filter(({ node_id, seq }) => !there.has(`${node_id} ${seq}`)).map(({ node_id }) => node_id),
    );
    const synced = plan.nodes.filter((nodeId) => !behind.has(nodeId));
    if (!success || isConfirmed)
      await store.commit([cancelOrders({ sync_id: syncId, reason: "the sync has ended", at })]);
    const response: SyncResponse = {
      success,
      backendUsed: plan.backend,
      nodesSynced: synced.length,
      bytesTransferred: bytes,
      durationSeconds,
      errors,
      details: { syncId, files, filesArrived: arrived, pending: open, nodes: synced.map(nameOf), tried },
    };
    this.#counts.total += 1;
    this.#counts.bytes += bytes;
    this.#counts.by.set(plan.backend, (this.#counts.by.get(plan.backend) ?? 0) + 1);
    if (!success) this.#counts.errors += 1;
    const state = success ? "completed" : "failed";
    await store.commit([endSync({ sync_id: syncId, state, response: JSON.stringify(response), at })]);
    return response;
  }
}

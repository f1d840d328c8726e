import { sumOf } from "../../kernel/index.ts";
import type { Explanation, SyncRequest, SyncShown } from "../../sync/index.ts";
import type { ControlPorts } from "../http/ports.ts";
import { handle, type Route } from "../http/route.ts";
import type { Input } from "../http/wire.ts";
import * as wire from "./wire.ts";

const requestOf = (body: Input<typeof wire.runSync>["body"]): SyncRequest => ({
  dataType: body.data_type,
  targets: body.targets,
  boardType: body.board_type,
  numPlayers: body.num_players,
  priority: body.priority,
  timeoutSeconds: body.timeout_seconds,
  bandwidthLimitMbps: body.bandwidth_limit_mbps,
  excludeNodes: body.exclude_nodes,
  preferEphemeral: body.prefer_ephemeral,
  requireConfirmation: body.require_confirmation,
});

/** By which ways files came to nodes, as they say themselves. */
const waysOf = ({ nodes: { book }, copies }: ControlPorts, nodeId: string | undefined) =>
  book.list().flatMap(({ node_id }) =>
    nodeId !== undefined && nodeId !== node_id
      ? []
      : (copies.transfersOf(node_id)?.ways ?? []).map((way) => ({
          ...way,
          node: book.nameOf(node_id),
          place: book.nameOf(way.place),
        })),
  );

/** How far a sync is, how fast since the first node began, and how long it will take at that rate. */
function viewOf({ progress, ...row }: SyncShown, now: number) {
  const { sync_id, state, backend, requested_by, started_at, ended_at } = row;
  const seconds = ((ended_at ?? now) - (progress.beganAt ?? started_at)) / 1_000;
  const rate = seconds <= 0 || progress.bytesDone === 0 ? null : progress.bytesDone / seconds;
  return {
    sync_id,
    state,
    backend,
    requested_by,
    started_at,
    ended_at,
    files: progress.files,
    arrived: progress.arrived,
    failed: progress.failed,
    bytes: progress.bytes,
    bytes_done: progress.bytesDone,
    bytes_per_second: rate,
    seconds_left: ended_at !== null || rate === null ? null : (progress.bytes - progress.bytesDone) / rate,
  };
}

function planView(
  { backend, orders, judgements, nodes, error, backends, ways, lookedAt }: Explanation,
  { nodes: { book } }: ControlPorts,
) {
  const shares = nodes.map((id) => {
    const own = orders.filter(({ node_id }) => node_id === id);
    return { node: book.nameOf(id), files: own.length, bytes: sumOf(own, ({ bytes }) => bytes) };
  });
  return {
    backend,
    files: orders.length,
    bytes: sumOf(orders, ({ bytes }) => bytes),
    nodes: shares,
    judgements: judgements.map(({ node_id, ...judged }) => ({ node: book.nameOf(node_id), ...judged })),
    backends: [...backends],
    ways: ways.map(({ node_id, sources, passedOver, ...way }) => ({
      ...way,
      node: book.nameOf(node_id),
      sources: sources.map(({ node_id: from, transports, feeding, depth, isTroubled }) => ({
        node: book.nameOf(from),
        transports: [...transports],
        feeding,
        depth,
        troubled: isTroubled,
      })),
      passed_over: passedOver.map(({ node_id: from, ...rest }) => ({ node: book.nameOf(from), ...rest })),
    })),
    transfers_looked_at: lookedAt,
    error,
  };
}

export const syncRoutes: readonly Route[] = [
  handle(wire.runSync, async ({ ports, body, caller: { actor } }) => {
    const syncId = await ports.sync.start(requestOf(body), actor);
    return viewOf(ports.sync.show(syncId), ports.clock.now());
  }),
  handle(wire.explainSync, async ({ ports, body }) => planView(await ports.sync.explain(requestOf(body)), ports)),
  handle(wire.listSyncs, ({ ports, query: { limit } }) => {
    const { totalSyncs, byBackend, totalBytes, totalErrors } = ports.sync.getStats();
    const { healthy, status, message } = ports.sync.healthCheck();
    return {
      syncs: ports.sync.list(limit).map((row) => viewOf(row, ports.clock.now())),
      stats: { total_syncs: totalSyncs, by_backend: byBackend, total_bytes: totalBytes, total_errors: totalErrors },
      health: { healthy, status, message },
    };
  }),
  handle(wire.listDeliveries, async ({ ports, query }) => {
    const { book } = ports.nodes;
    const { deliveries, hosts } = await ports.sync.deliveries(query);
    return {
      deliveries: deliveries.map(({ node_id, created_at, not_before, state, error, tries, ...order }) => ({
        order_id: order.order_id,
        sync_id: order.sync_id,
        node: book.nameOf(node_id),
        action: order.action,
        sha256: order.sha256,
        kind: order.kind,
        config_key: order.config_key,
        state,
        reason: order.reason,
        attempts: order.attempts,
        bytes: order.bytes,
        bytes_done: order.bytes_done,
        error,
        ordered_at: created_at,
        next_at: state === "waiting" ? not_before : null,
        ended_at: order.ended_at,
        tries: tries.map(({ place, ...tried }) => ({ ...tried, place: place && book.nameOf(place) })),
      })),
      hosts: hosts.map(({ node_id, ...host }) => ({ node: book.nameOf(node_id), ...host })),
      ways: waysOf(ports, query.node === undefined ? undefined : book.find(query.node).node_id),
    };
  }),
  handle(wire.showSync, ({ ports, params: { id } }) => {
    const row = ports.sync.show(id);
    return { ...viewOf(row, ports.clock.now()), response: wire.responseOf(row.response) };
  }),
  handle(wire.cancelSync, async ({ ports, params: { id }, body, caller: { actor } }) => {
    await ports.sync.cancel(id, body.reason ?? `cancelled by ${actor}`);
    return viewOf(ports.sync.show(id), ports.clock.now());
  }),
];

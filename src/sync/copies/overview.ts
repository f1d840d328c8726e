import type { Store } from "../../router/index.ts";
import type { Copies } from "./copies.ts";
import { mayGo, requiredCoordinators } from "./decide.ts";

/** Files and games of one sort. */
interface Sum {
  readonly files: number;
  readonly bytes: number;
  readonly games: number;
}
const nothing: Sum = { files: 0, bytes: 0, games: 0 };
const add = (a: Sum, b: Sum): Sum => ({ files: a.files + b.files, bytes: a.bytes + b.bytes, games: a.games + b.games });

/** How safe the files of one kind and config are. */
export interface CopyLine {
  readonly kind: string;
  readonly config_key: string | null;
  readonly factor: number;
  readonly required: number;
  readonly safe: Sum;
  /** Fewer verified copies than there must be. */
  readonly short: Sum;
  /** Of those: on rented nodes alone. */
  readonly at_risk: Sum;
}

export interface CopyOverview {
  /** Nodes whose copies count. */
  readonly places: number;
  readonly lines: readonly CopyLine[];
}

interface Group extends Sum {
  readonly kind: string;
  readonly config_key: string | null;
  readonly copies: number;
  readonly rented: number;
  /** Copies that coordinators have. */
  readonly homes: number;
}

const GROUPS = `SELECT a.kind, a.config_key, ifnull(h.copies, 0) AS copies, ifnull(h.rented, 0) AS rented,
    min(ifnull(h.homes, 0), ?4) AS homes, count(*) AS files,
    sum(a.bytes) AS bytes, sum(a.counted) AS games
  FROM sync_artifacts a LEFT JOIN (
    SELECT seq, sum(node_id IN (SELECT value FROM json_each(?1))) AS copies,
      max(node_id IN (SELECT value FROM json_each(?2))) AS rented,
      sum(node_id IN (SELECT value FROM json_each(?3))) AS homes
    FROM sync_held WHERE state = 'held' GROUP BY seq) h ON h.seq = a.seq
  WHERE a.freed_at IS NULL AND (a.state = 'quarantined' OR (a.state IN ('in_flight', 'durable') AND a.verified_at IS NOT NULL))
  GROUP BY 1, 2, 3, 4, 5 ORDER BY a.kind, a.config_key LIMIT 10000`;

/** Games that lie nowhere but on nodes that may go, by config. Where there is no such node nothing is looked through. */
export async function gamesAtRisk(store: Pick<Store, "scan">, copies: Copies): Promise<ReadonlyMap<string, number>> {
  if (![...copies.nodes().values()].some((node) => mayGo(node) && node.isThere)) return new Map();
  const games = new Map<string, number>();
  for (const { config_key, at_risk } of (await copyOverview(store, copies)).lines)
    if (config_key !== null) games.set(config_key, (games.get(config_key) ?? 0) + at_risk.games);
  return games;
}

/** How safe everything is. It goes through all rows, and so does it on the thread of the readers. */
export async function copyOverview(store: Pick<Store, "scan">, copies: Copies): Promise<CopyOverview> {
  const nodes = copies.nodes();
  const counting = copies.counting(nodes);
  const rented = [...nodes.values()].filter((node) => mayGo(node) && node.isThere).map((node) => node.node_id);
  const coordinators = copies.coordinators(nodes);
  const homes = requiredCoordinators(coordinators.length);
  const reliable = JSON.stringify(coordinators.filter((id) => counting.includes(id)));
  const params = [JSON.stringify(counting), JSON.stringify(rented), reliable, homes];
  const groups = await store.scan<Group>(GROUPS, params);
  const isSafe = (group: Group, required: number) => group.copies >= required && group.homes >= homes;
  const byKind = Map.groupBy(groups, ({ kind, config_key }) => JSON.stringify([kind, config_key]));
  const lines = [...byKind.values()].map((own): CopyLine => {
    const { kind, config_key } = own[0]!;
    const required = copies.requiredOf({ kind, config_key }, counting.length);
    const sumOf = (isMeant: (group: Group) => boolean) => own.filter(isMeant).reduce<Sum>(add, nothing);
    return {
      kind,
      config_key,
      factor: copies.factorOf({ kind, config_key }),
      required,
      safe: sumOf((group) => isSafe(group, required)),
      short: sumOf((group) => !isSafe(group, required)),
      at_risk: sumOf((group) => group.copies === 0 && group.rented === 1),
    };
  });
  return { places: counting.length, lines };
}

/**
 * One artifact on a home and a few nodes, some of them rented, over the shipped operations on SQLite: transfers fail where a place
 * is bad and are routed elsewhere, home loses its copy, the guard looks now and then, and machines are told to end and vanish.
 */
import { hash } from "node:crypto";
import { openWriter } from "../../src/adapters/sqlite/writer.ts";
import { type Clock, seededRandom } from "../../src/kernel/index.ts";
import type { Operation, Store } from "../../src/router/index.ts";
import type { ResultsOf } from "../../src/router/store.port.ts";
import { judgeArtifacts, noteSound, recordArtifacts } from "../../src/sync/artifact-operations.ts";
import { aloneOn } from "../../src/sync/copies/alone.ts";
import { noteCopies, noteGone } from "../../src/sync/copies/copy-operations.ts";
import { counts } from "../../src/sync/copies/decide.ts";
import { syncModule } from "../../src/sync/index.ts";
import {
  cancelOrders,
  noteOrders,
  placeOrders,
  rerouteOrders,
  takeOrders,
} from "../../src/sync/orders/order-operations.ts";
import { createSources } from "../../src/sync/sources/sources.ts";
import { planRescue, type RescueNode } from "../../src/sync/units/ephemeral-guard/decide.ts";
import { failingOrders } from "../../src/sync/units/sync-router/failing.ts";

/** Mistakes that the world must find. */
export const RESCUE_BUGS = ["retry_forgets_source", "at_risk_not_drained"] as const;
export type RescueBug = (typeof RESCUE_BUGS)[number];

const HOME = "home";
const STEPS = 40;
const TRIED = "SELECT place FROM sync_tries WHERE order_id = ? AND way > 0";
const SERVING = { host: "127.0.0.1", port: 1, tls: false, fingerprint: null, relayed: false };
const TRIES = { maxAttempts: 6, firstWaitMs: 1_000 };

/** One database for any number of schedules; each has an artifact and nodes of its own. */
export function rescueWorld() {
  const writer = openWriter(":memory:", [syncModule]);
  const commit = <const T extends readonly Operation[]>(...operations: T): ResultsOf<T> => {
    const [outcome] = writer.apply([operations]);
    if (outcome?.ok !== true) throw outcome?.error;
    return outcome.results as ResultsOf<T>;
  };
  const all = (sql: string, params: readonly unknown[]) => writer.db.prepare(sql).all(...(params as never[]));
  const store = {
    read: (sql: string, ...params: unknown[]) => all(sql, params),
    scan: async (sql: string, params: readonly unknown[]) => all(sql, params),
  } as unknown as Pick<Store, "read" | "scan">;

  /** What one schedule left to do is no business of the next. */
  const run = async (seed: number, bug?: RescueBug): Promise<string | undefined> => {
    const wrong = await schedule(seed, bug);
    for (const sync_id of ["sync", "rescue"]) commit(cancelOrders({ sync_id, reason: "over", at: 1 }));
    return wrong;
  };

  /** Runs one schedule; gives what went wrong, if anything, with the steps that led there. */
  const schedule = async (seed: number, bug?: RescueBug): Promise<string | undefined> => {
    const random = seededRandom(seed);
    const chance = (share: number) => random.next() < share;
    const sha256 = hash("sha256", `rescued ${seed}`);
    const more = { rules_version: null, parents: [], work_id: null, part: null, iteration: null };
    const entry = {
      sha256,
      kind: "games",
      bytes: 1,
      rows: 0,
      games: 1,
      config_key: "hex8_2p" as const,
      producer: HOME,
    };
    commit(
      recordArtifacts({ entries: [{ ...entry, ...more }], at: 1 }),
      judgeArtifacts({ sha256s: [sha256], action: "accept", reason: null, at: 1 }),
      noteSound({ sha256s: [sha256], at: 1 }),
    );
    const seq = Number(writer.db.prepare("SELECT seq FROM sync_artifacts WHERE sha256 = ?").get(sha256)?.seq);
    const names = [HOME, ...Array.from({ length: 2 + Math.floor(random.next() * 3) }, (_, i) => `s${seed}n${i}`)];
    const rented = new Set(names.filter((name) => name !== HOME && chance(0.5)));
    /** Places from which nothing comes, whoever asks. */
    const bad = new Set(names.filter(() => chance(0.3)));
    const alive = new Set(names);
    const files = new Set<string>();
    const steps: string[] = [];
    let now = 1_000;
    const nodes = (): RescueNode[] =>
      names.map((node_id) => ({
        node_id,
        name: node_id,
        isThere: alive.has(node_id),
        isConfirmed: true,
        isRented: rented.has(node_id),
        isHome: node_id === HOME,
        kinds: [],
        freeBytes: 1e12,
        freeCpus: 1,
        staleMs: null,
        bytesPerSecond: null,
      }));
    const holds = (node_id: string) => {
      files.add(node_id);
      commit(noteCopies({ node_id, sha256s: [sha256], by: node_id, at: now, isHome: node_id === HOME }));
    };
    const counting = () =>
      nodes()
        .filter(counts)
        .map(({ node_id }) => node_id);

    /** As the coordinator names sources, whoever serves having said so just now. */
    const sources = () => {
      const copies = { nodes: () => new Map(nodes().map((node) => [node.node_id, node])) };
      const clock = { now: () => now, monotonic: () => now } as Clock;
      const made = createSources({ store, clock, nodeId: HOME, copies, nodes: () => [] });
      for (const { node_id } of nodes()) made.announce(node_id, SERVING);
      return made;
    };
    const routeOf = (to: string, order_id: number | undefined) => {
      const [first] = sources().choose(to, { seq, sha256, bytes: 1, order_id }).givers;
      return first === undefined ? null : { transport: "http", place: first?.node_id ?? HOME };
    };

    const order = (node_id: string) => {
      if (files.has(node_id)) return;
      const fetch = { node_id, seq, action: "fetch", urgency: 1, bytes: 1, max_rate: null, reason: "sync" } as const;
      commit(placeOrders({ sync_id: "sync", orders: [fetch], at: now }));
    };
    /** What is known of the order decides from where it is tried; a mistake here asks the same place for ever. */
    const work = (node_id: string): string | undefined => {
      const [{ taken }] = commit(
        takeOrders({
          node_id,
          bounds: { max: 16, maxSmall: 16, maxSmallBytes: 0 },
          at: now,
          silentBefore: 0,
          ...TRIES,
        }),
      );
      for (const { order_id, action } of taken) {
        if (action === "send") {
          holds(HOME);
          continue;
        }
        const known = all(TRIED, [order_id]) as unknown as { place: string }[];
        const holders = [...files].filter((id) => alive.has(id));
        const route = routeOf(node_id, bug === "retry_forgets_source" ? undefined : order_id);
        const tried = new Set(known.map(({ place }) => place));
        const untried = holders.filter((id) => id !== node_id && !tried.has(id));
        if (route !== null && tried.has(route.place) && untried.length > 0)
          return `${node_id} asked ${route.place} again, and never ${untried[0]}`;
        if (route === null && untried.length > 0) return `${node_id} asked nobody, and ${untried[0]} has it`;
        if (route !== null && !bad.has(route.place)) {
          holds(node_id);
          continue;
        }
        const tries = route === null ? [] : [{ ...route, code: "TRANSFER_STALLED", error: "cut off" }];
        const report = { order_id, state: "failed", bytes_done: 0, error: "cut off", tries } as const;
        commit(noteOrders({ node_id, reports: [report], at: now, ...TRIES }));
      }
      return undefined;
    };
    const reroute = () => {
      const orderIds = failingOrders(store, now, 100)
        .filter((one) => !sources().choose(one.node_id, one).isExhausted)
        .map(({ order_id }) => order_id);
      commit(rerouteOrders({ orderIds, at: now }));
    };
    const guard = async () => {
      const going = nodes().filter(({ isRented, isThere }) => isRented && isThere);
      const ids = going.map(({ node_id }) => node_id);
      const alone = await aloneOn(store, ids, counting(), { heldBefore: now, max: 100 });
      const { orders } = planRescue(alone, nodes());
      commit(placeOrders({ sync_id: "rescue", orders, at: now }));
    };
    const homeLoses = () => {
      if (files.size < 2 || !files.delete(HOME)) return;
      commit(noteGone({ node_id: HOME, sha256s: [sha256] }));
    };
    /** A machine is told to end, sends home what it alone has, and is gone. */
    const end = async (node_id: string): Promise<string | undefined> => {
      const had = files.has(node_id);
      const alone = await aloneOn(store, [node_id], counting(), { heldBefore: now, max: 100 });
      if (alone.length > 0 && bug !== "at_risk_not_drained") holds(HOME);
      alive.delete(node_id);
      files.delete(node_id);
      const left = [...files].filter((id) => alive.has(id) && !rented.has(id));
      return had && left.length === 0 ? `${node_id} was told to end, and no copy that stays is left` : undefined;
    };

    holds(HOME);
    for (let i = 0; i < STEPS; i += 1) {
      now += 500 + Math.floor(random.next() * 1_000);
      const others = names.filter((name) => name !== HOME && alive.has(name));
      if (others.length === 0) return undefined;
      const node = others[Math.floor(random.next() * others.length)]!;
      const able = [
        () => order(node),
        () => work(node),
        () => work(node),
        () => work(node),
        reroute,
        guard,
        homeLoses,
        ...(rented.has(node) ? [() => end(node)] : []),
      ];
      const at = Math.floor(random.next() * able.length);
      steps.push(`${at} ${node}`);
      const wrong = (await able[at]!()) as string | undefined;
      if (wrong !== undefined) return `${wrong} (${steps.join(", ")})`;
    }
    return undefined;
  };
  return { run, close: () => writer.close() };
}

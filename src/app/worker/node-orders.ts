/** Transfers that the main process orders of this node: a few at a time, small ones together, and how far each is. */
import { join } from "node:path";
import { isOperatingError, type Log, messageOf } from "../../kernel/index.ts";
import type { CopiesAnswer, CopiesTold, OfferedBatch } from "../../surfaces/index.ts";
import { type PackedFiles, TRANSFER_PRIORITIES } from "../../sync/index.ts";
import type { ArtifactPort } from "../../work/worker/index.ts";
import type { Inputs } from "./inputs.ts";
import type { BatchFailure, BatchTerms, NodeTransfersRunning } from "./node-transfers.ts";

type Order = CopiesAnswer["orders"][number];
type Report = NonNullable<CopiesTold["orders"]>[number];

export interface OrderPorts {
  readonly folder: string;
  /** Files of this node that lie together. */
  readonly packed?: PackedFiles | undefined;
  readonly artifacts: ArtifactPort;
  /** How files come, and whom it is told that one that was ordered has come. */
  readonly transfers: Pick<NodeTransfersRunning, "bringBatch" | "arrived">;
  /** A copy is here, whether it came now, and so was flushed, or was here before. */
  readonly held: (sha256: string, isFlushed: boolean) => void;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Transfers at once; what travels together is one. */
  readonly atOnce: number;
}

/** Ways of one order that are told. */
const MAX_WAYS = 20;

/** What is carried out in one go. */
interface Task {
  readonly orders: readonly Order[];
  readonly run: (inputs: Inputs) => Promise<void>;
}

/** Orders for the files of a batch that are to come at the same rate. */
const sameTerms = (orders: readonly Order[]): Order[][] => [
  ...Map.groupBy(orders, ({ max_rate, urgency }) => `${max_rate} ${urgency}`).values(),
];

export function carryOut(ports: OrderPorts) {
  const { folder, packed, artifacts, transfers, held, log, signal, atOnce } = ports;
  /** In hand or waiting for their turn, by their number; those that ended stay until it was told. */
  const orders = new Map<number, { readonly order: Order; report: Report; isHere?: boolean }>();
  const waiting: Task[] = [];
  let running = 0;

  const note = ({ order_id }: Order, more: Partial<Report>): void => {
    const known = orders.get(order_id);
    if (known !== undefined) known.report = { ...known.report, ...more };
  };
  const fail = (order: Order, { code, message }: BatchFailure, tries: Report["tries"] = []): void => {
    log.warn("a transfer failed", { action: order.action, sha256: order.sha256, code, error: message });
    note(order, { state: "failed", error: message.slice(0, 2_000), code, tries });
  };

  const send = async (order: Order): Promise<void> => {
    const { sha256, bytes, kind } = order;
    await packed?.makeFiles([sha256]);
    await artifacts.upload({ file: join(folder, sha256), name: sha256, kind, sha256, bytes }, signal);
    note(order, { state: "sent", bytes_done: bytes });
  };

  const fetch = async (given: readonly Order[], batch: OfferedBatch, inputs: Inputs): Promise<void> => {
    const only = given.map(({ sha256, bytes }) => ({ sha256, bytes }));
    const names = only.map(({ sha256 }) => sha256);
    const [first] = given;
    const terms: BatchTerms = {
      signal,
      only,
      purpose: { syncId: first?.sync_id ?? "sync", kinds: given.map(({ kind }) => kind) },
      maxRate: first?.max_rate ?? undefined,
      priority: TRANSFER_PRIORITIES[first?.urgency ?? 1],
      // How far each of many small ones is nobody wants to know.
      onBytes: (bytes) => given.length === 1 && note(first!, { bytes_done: Math.min(bytes, first!.bytes) }),
    };
    inputs.claim(names);
    try {
      const { failed, came, tries } = await transfers.bringBatch(batch, terms);
      const ways = tries.slice(-MAX_WAYS).map(({ transport, place, error }) => ({
        transport,
        place: place.replace(/^node /, "").slice(0, 200),
        code: error?.code.slice(0, 100) ?? null,
        error: error?.message.slice(0, 500) ?? null,
      }));
      for (const order of given) {
        const failure = failed.get(order.sha256);
        if (failure !== undefined) fail(order, failure, ways);
        else {
          held(order.sha256, came.has(order.sha256));
          if (came.has(order.sha256)) transfers.arrived(order, tries);
          // By what detours it came is worth a word; of many small ones it is not.
          note(order, { bytes_done: order.bytes, ...(given.length === 1 && ways.length > 1 ? { tries: ways } : {}) });
          const known = orders.get(order.order_id);
          if (known !== undefined) known.isHere = true;
        }
      }
    } finally {
      for (const name of names) inputs.done(name);
    }
  };

  const begin = (inputs: Inputs): void => {
    while (running < atOnce) {
      const task = waiting.shift();
      if (task === undefined) return;
      running += 1;
      task
        .run(inputs)
        .catch((thrown: unknown) => {
          const code = isOperatingError(thrown) ? thrown.code : "TRANSFER_FAILED";
          if (!signal.aborted) for (const order of task.orders) fail(order, { code, message: messageOf(thrown) });
        })
        .finally(() => {
          running -= 1;
          begin(inputs);
        });
    }
  };

  const tasksOf = (given: readonly Order[], batches: readonly OfferedBatch[]): Task[] => {
    const sends = given.filter(({ action }) => action === "send");
    const fetches = new Map(given.filter(({ action }) => action === "fetch").map((order) => [order.sha256, order]));
    const planned = batches.map((batch) => ({
      batch,
      orders: batch.files.flatMap(({ sha256 }) => {
        const order = fetches.get(sha256);
        fetches.delete(sha256);
        return order === undefined ? [] : [order];
      }),
    }));
    // A main process of the version before names no sources.
    const unplanned = [...fetches.values()].map((order) => ({
      batch: { files: [{ sha256: order.sha256, bytes: order.bytes }], sources: [] },
      orders: [order],
    }));
    return [
      ...sends.map((order) => ({ orders: [order], run: () => send(order) })),
      ...[...planned, ...unplanned].flatMap(({ batch, orders: all }) =>
        sameTerms(all).map((some) => ({ orders: some, run: (inputs: Inputs) => fetch(some, batch, inputs) })),
      ),
    ];
  };

  return {
    /** What the main process is told next. */
    reports: (): Report[] => [...orders.values()].map(({ report }) => report),
    /** These were told: what has ended is forgotten, and a fetch ends with the receipt of its copy. */
    told(reports: readonly Report[]): void {
      for (const { order_id, state } of reports)
        if (state !== "running" || orders.get(order_id)?.isHere === true) orders.delete(order_id);
    },
    take(given: readonly Order[], batches: readonly OfferedBatch[], inputs: Inputs): void {
      const news = given.filter(({ order_id }) => !orders.has(order_id));
      for (const order of news)
        orders.set(order.order_id, {
          order,
          report: { order_id: order.order_id, state: "running", bytes_done: 0, error: null },
        });
      waiting.push(...tasksOf(news, batches));
      begin(inputs);
    },
    get isBusy(): boolean {
      return orders.size > 0;
    },
  };
}

/** Transfers that the main process orders of this node: a few at a time, and how far each is. */
import { join } from "node:path";
import { isOperatingError, type Log, messageOf } from "../../kernel/index.ts";
import type { CopiesAnswer, CopiesTold } from "../../surfaces/index.ts";
import type { ArtifactPort } from "../../work/worker/index.ts";
import type { Inputs } from "./inputs.ts";

type Order = CopiesAnswer["orders"][number];
type Report = NonNullable<CopiesTold["orders"]>[number];

const AT_ONCE = 2;

export function carryOut(ports: {
  readonly folder: string;
  readonly artifacts: ArtifactPort;
  /** A copy is here, whether it came or was here before. */
  readonly held: (sha256: string) => void;
  readonly log: Log;
  readonly signal: AbortSignal;
}) {
  const { folder, artifacts, held, log, signal } = ports;
  /** In hand or waiting for their turn, by their number; those that ended stay until it was told. */
  const orders = new Map<number, { readonly order: Order; report: Report }>();
  let running = 0;

  const run = async ({ order_id, action, sha256, bytes, kind, max_rate }: Order, inputs: Inputs): Promise<void> => {
    const note = (more: Partial<Report>) => {
      const known = orders.get(order_id);
      if (known !== undefined) known.report = { ...known.report, ...more };
    };
    try {
      if (action === "send") {
        await artifacts.upload({ file: join(folder, sha256), name: sha256, kind, sha256, bytes }, signal);
        note({ state: "sent", bytes_done: bytes });
        return;
      }
      const onBytes = (bytes_done: number) => note({ bytes_done });
      await inputs.at(sha256, signal, { maxRate: max_rate ?? undefined, onBytes });
      inputs.done(sha256);
      held(sha256);
      note({ bytes_done: bytes });
    } catch (thrown) {
      if (signal.aborted) return;
      log.warn("a transfer failed", { action, sha256, error: messageOf(thrown) });
      const code = isOperatingError(thrown) ? thrown.code : "TRANSFER_FAILED";
      note({ state: "failed", error: messageOf(thrown).slice(0, 2_000), code });
    }
  };

  const begin = (inputs: Inputs): void => {
    for (const { order, report } of orders.values()) {
      if (running >= AT_ONCE) return;
      if (report.bytes_done !== -1) continue;
      orders.get(order.order_id)!.report = { ...report, bytes_done: 0 };
      running += 1;
      void run(order, inputs).finally(() => {
        running -= 1;
        begin(inputs);
      });
    }
  };

  return {
    /** What the main process is told next. */
    reports: (): Report[] =>
      [...orders.values()].map(({ report }) => ({ ...report, bytes_done: Math.max(0, report.bytes_done) })),
    /** These were told: what has ended is forgotten, and a fetch ends with the receipt of its copy. */
    told(reports: readonly Report[]): void {
      for (const { order_id, state, bytes_done } of reports) {
        const known = orders.get(order_id);
        if (known === undefined) continue;
        const isFetched = known.order.action === "fetch" && bytes_done >= known.order.bytes;
        if (state !== "running" || isFetched) orders.delete(order_id);
      }
    },
    take(given: readonly Order[], inputs: Inputs): void {
      for (const order of given)
        if (!orders.has(order.order_id))
          orders.set(order.order_id, {
            order,
            report: { order_id: order.order_id, state: "running", bytes_done: -1, error: null },
          });
      begin(inputs);
    },
    get isBusy(): boolean {
      return orders.size > 0;
    },
  };
}

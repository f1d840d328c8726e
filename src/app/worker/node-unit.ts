/** A unit of every node on a node that has no router: its rows and its words are one commit of the outbox. */
import { consumerOf, type Unit } from "../../daemons/index.ts";
import {
  assert,
  type Clock,
  isOperatingError,
  type Log,
  messageOf,
  OperatingError,
  sleep,
} from "../../kernel/index.ts";
import { createWriteSet } from "../../router/index.ts";
import type { Outbox } from "../../router/outbox/index.ts";

export interface NodeUnitOptions {
  readonly unit: Unit;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
}

const TIMEOUT_MS = 60_000;

/** Ticks until it is stopped. Here it hears nothing: what a node is told comes with the answers to its beats. */
export function runNodeUnit({ unit, outbox, clock, log: all }: NodeUnitOptions): { stop(): Promise<void> } {
  const { behaviour, everyMs } = unit;
  assert(everyMs !== null, `${unit.name} has a loop`);
  const log = all.child({ unit: unit.name });
  const source = consumerOf(unit, outbox.nodeId);
  const cache = behaviour.rebuild(createWriteSet(outbox.store));
  const stopping = new AbortController();

  const tick = async (): Promise<void> => {
    const late = new AbortController();
    const timer = clock.after(behaviour.timeoutMs ?? TIMEOUT_MS, () =>
      late.abort(OperatingError.internal("HANDLER_TIME_LIMIT", `${unit.name} has no end to its tick`)),
    );
    try {
      const signal = AbortSignal.any([stopping.signal, late.signal]);
      await outbox.transact({ source, signal }, ({ rows, emit, attempt, afterCommit }) =>
        behaviour.tick({
          emit: Object.fromEntries(
            unit.emits.map((name) => [name, (payload: Readonly<Record<string, unknown>>) => emit(name, payload)]),
          ),
          rows,
          tables: behaviour.tables,
          cache,
          now: clock.now(),
          log,
          signal,
          attempt,
          afterCommit,
        }),
      );
    } finally {
      timer.cancel();
    }
  };

  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await tick();
      } catch (thrown) {
        if (stopping.signal.aborted) return;
        // A full outbox says so itself, once.
        if (!isOperatingError(thrown, "OUTBOX_FULL"))
          log.error("the loop of a unit threw an error", { error: messageOf(thrown) });
      }
      await sleep(clock, everyMs, stopping.signal).catch(() => undefined);
    }
  };
  const running = loop();
  return {
    async stop() {
      stopping.abort(new Error("the worker stops"));
      await running;
    },
  };
}

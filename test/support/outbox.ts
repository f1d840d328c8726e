/** An outbox on a real file, and a coordinator (a real router) that it is sent to, in any weather. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inThreadStore } from "../../src/adapters/sqlite/in-thread-store.ts";
import { openWriter } from "../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../src/app/outbox-modules.ts";
import { builtinRows, createCatalog } from "../../src/events/index.ts";
import {
  type Clock,
  defined,
  isOperatingError,
  messageOf,
  OperatingError,
  silentLog,
  systemClock,
  systemRandom,
} from "../../src/kernel/index.ts";
import type { Prepared } from "../../src/router/index.ts";
import {
  createOutbox,
  type ForwardPort,
  type ForwardVerdict,
  type OutboxBounds,
} from "../../src/router/outbox/index.ts";
import { routerOver } from "./router.ts";

export const NODE = "n-test";

export interface OutboxFileOptions {
  readonly bounds?: OutboxBounds;
  readonly passing?: "sent" | "refused";
  readonly clock?: Clock;
  /** Stands between the outbox and its writer. */
  readonly carry?: (apply: () => () => void) => void;
}

/** A folder with the file of one node; each `open` is another process on it. */
export function outboxFile(onEnd: (end: () => void) => void) {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-outbox-"));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "outbox.db");
  return {
    path,
    open({ carry, clock = systemClock(), ...more }: OutboxFileOptions = {}) {
      const writer = openWriter(path, storeModules);
      const store = inThreadStore(writer, { clock, ...defined({ carry }) });
      const catalog = createCatalog(builtinRows);
      const outbox = createOutbox({
        store,
        catalog,
        clock,
        random: systemRandom(),
        log: silentLog(),
        nodeId: NODE,
        passing: "sent",
        ...more,
      });
      onEnd(() => writer.close());
      return Object.assign(outbox, { end: () => writer.close() });
    },
  };
}

/** What the line does to a request. */
export type Weather = "fine" | "no question" | "no answer";

export function coordinatorFor(weather: (request: number) => Weather = () => "fine") {
  const { router, store } = routerOver(builtinRows);
  const requests: string[][] = [];
  const passingHeard: string[] = [];
  router.subscribe("METRICS_UPDATED", (event) => void passingHeard.push(event.eventId));
  const lost = () => OperatingError.unavailable("UNREACHABLE", "the line is cut");
  const port: ForwardPort = {
    async send(events) {
      requests.push(events.map(({ eventId }) => eventId));
      const now = weather(requests.length);
      if (now === "no question") throw lost();
      const read: (Prepared | ForwardVerdict)[] = events.map(({ eventType, payload, eventId, source, traceId }) => {
        try {
          return router.prepare(eventType, payload, { eventId, source, traceId });
        } catch (thrown) {
          if (!isOperatingError(thrown)) throw thrown;
          return { durability: "refused", code: thrown.code, reason: messageOf(thrown) };
        }
      });
      const published = (await router.publishAll(read.flatMap((each) => ("event" in each ? [each] : [])))).values();
      if (now === "no answer") throw lost();
      return read.map((each): ForwardVerdict => {
        if (!("event" in each)) return each;
        const { seq, suppressed } = published.next().value!;
        return { durability: "cluster", seq, suppressed };
      });
    },
    isRefusal: () => undefined,
  };
  return {
    port,
    router,
    requests,
    passingHeard,
    /** The payload numbers in the journal, in its order. */
    journal: () =>
      router
        .history({ eventType: "DISK_CLEANUP_TRIGGERED", fromJournal: true, limit: 10_000 })
        .map(({ payload }) => payload.bytes_freed as number),
    async end() {
      await router.stop();
      await store.close();
    },
  };
}

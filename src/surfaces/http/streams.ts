import type { ServerResponse } from "node:http";
import { type Clock, isOperatingError, OperatingError, sleep } from "../../kernel/index.ts";
import type { Share } from "./backlog.ts";
import type { Metrics } from "./metrics.ts";
import { problemOf } from "./problem.ts";
import { type Caller, callerKey, type Out } from "./route.ts";

const MAX_STREAMS = 4_096;
const MAX_FOR_ONE = 128;
/** A reader that takes nothing for so long is gone, whatever its connection says. */
const STALL_MS = 60_000;
/** Whoever has not read to the end of an answer so long after it ended is cut off. */
const GOODBYE_MS = 5_000;

interface Open {
  readonly caller: Caller;
  readonly end: AbortController;
}

const tooSlow = (why: string) =>
  OperatingError.busy("STREAM_TOO_SLOW", `this stream was ended: ${why}`, {
    hint: "Read faster, or ask for less. The journal keeps the rest: use Last-Event-ID to continue.",
  });
const stalled = () =>
  OperatingError.busy("STREAM_STALLED", `this stream was ended because nothing was read for ${STALL_MS / 1_000} s`);

/** The last words of a stream, in the words of the others. */
const goodbye = (type: string | undefined, reason: OperatingError): string => {
  const why = JSON.stringify(problemOf(reason));
  return type === "text/event-stream" ? `event: ended\ndata: ${why}\n\n` : `{"ended":${why}}\n`;
};

/** The endless answers that are under way. They end with their reader, with its token, or with the process. */
export type Streams = ReturnType<typeof createStreams>;

export function createStreams(
  clock: Clock,
  metrics: Pick<Metrics, "streams">,
  onFailure: (thrown: unknown) => void,
  onCut: (caller: Caller, reason: OperatingError) => void,
) {
  const all = new Set<Open>();
  const assertRoom = (caller: Caller) => {
    const same = [...all].filter((one) => callerKey(one.caller) === callerKey(caller)).length;
    if (all.size >= MAX_STREAMS || (same >= MAX_FOR_ONE && caller.from !== "socket"))
      throw OperatingError.busy("TOO_MANY_STREAMS", `${same} streams of yours are open, ${all.size} of all`, {
        status: 429,
        details: { retryAfterSeconds: 5 },
      });
  };
  return {
    get size(): number {
      return all.size;
    },
    /** Throws when one more would be too many. Asked before anything is made ready for it. */
    assertRoom,
    open(
      caller: Caller,
      share: Share,
      gone: AbortSignal,
      outgoing: Pick<ServerResponse, "closed" | "once" | "on" | "destroy" | "writableLength">,
      headers: Readonly<Record<string, string>>,
      run: (out: Out) => Promise<void>,
    ): Response {
      assertRoom(caller);
      const end = new AbortController();
      const one: Open = { caller, end };
      all.add(one);
      metrics.streams(1);
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      const encoder = new TextEncoder();
      const abort = () => end.abort();
      share.onCut(() => end.abort(tooSlow(`too much of it waited to be read`)));
      const measure = () => share.onConnection(outgoing.writableLength);
      outgoing.on("drain", measure);
      gone.addEventListener("abort", abort, { once: true });
      // A reader that cancels errors the writer.
      writer.closed.catch(abort);
      const { expiresAt } = caller;
      const expiry = expiresAt === null ? undefined : clock.after(Math.max(0, expiresAt - clock.now()), abort);
      const write = async (text: string): Promise<void> => {
        measure();
        const bytes = Buffer.byteLength(text);
        if (!share.take(bytes)) return end.abort(tooSlow(`${share.bytes} bytes of it waited to be read`));
        const done = new AbortController();
        const limit = sleep(clock, STALL_MS, done.signal).then(
          () => end.abort(stalled()),
          () => undefined,
        );
        const aborted = new Promise<void>((resolve) => {
          if (end.signal.aborted) resolve();
          else end.signal.addEventListener("abort", () => resolve(), { once: true, signal: done.signal });
        });
        const written = writer.write(encoder.encode(text)).then(() => writer.ready);
        written.catch(abort);
        await Promise.race([written.catch(() => undefined), aborted]);
        done.abort();
        await limit;
        share.give(bytes);
        measure();
      };
      const finish = async () => {
        try {
          if (gone.aborted) abort();
          await run({ write, signal: end.signal });
        } catch (thrown) {
          if (!end.signal.aborted) onFailure(thrown);
        } finally {
          all.delete(one);
          metrics.streams(-1);
          expiry?.cancel();
          gone.removeEventListener("abort", abort);
          const { reason } = end.signal;
          if (isOperatingError(reason)) {
            onCut(caller, reason);
            writer.write(encoder.encode(goodbye(headers["content-type"], reason))).catch(() => undefined);
          }
          end.abort();
          share.close();
          writer.close().catch(() => undefined);
          // A reader that does not read would keep a polite goodbye waiting for ever, and its connection with it.
          if (!outgoing.closed) {
            const patience = clock.after(GOODBYE_MS, () => outgoing.destroy());
            outgoing.once("close", () => patience.cancel());
          }
        }
      };
      void finish();
      return new Response(readable, { headers });
    },
    endToken(id: string) {
      for (const { caller, end } of all) if (caller.tokenId === id) end.abort();
    },
    endAll() {
      for (const { end } of all) end.abort();
    },
  };
}

/** Brings what is in the spool to the queue: files first, then the word; again and again until there is an answer. */
import {
  backoffMs,
  type Clock,
  isOperatingError,
  type Log,
  messageOf,
  type Random,
  sleep,
} from "../../kernel/index.ts";
import type { ArtifactPort, QueuePort, Refusal, Reply } from "./ports.ts";
import { entryId, type Spool, type SpoolEntry } from "./spool.ts";

export interface DeliveriesOptions {
  readonly queue: Pick<QueuePort, "complete" | "fail" | "release">;
  readonly artifacts: ArtifactPort;
  readonly spool: Spool;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The queue has answered; nobody speaks for this lease any more. */
  readonly onSettled: (entry: SpoolEntry, refused: Refusal | undefined) => void;
}

export interface Deliveries {
  /** The entry is in the spool already. */
  push(entry: SpoolEntry): void;
  readonly waiting: number;
  /** Resolves when nothing waits, or after so long. */
  flush(limitMs: number): Promise<void>;
  /** Stops trying; what waits stays in the spool. */
  stop(): Promise<void>;
}

const AGAIN = { firstMs: 200, mostMs: 15_000, jitter: 0.5 };
const MOST_IN_REQUEST = 200;
const UPLOADS_AT_ONCE = 2;

/** The request could not be understood because of what is in it: the same bytes never will be. */
const isOwnFault = (thrown: unknown): boolean =>
  isOperatingError(thrown) && !thrown.retryable && /^(INVALID_|WORK_|PAYLOAD_|BODY_|ARTIFACT_)/.test(thrown.code);

const refusalOf = (thrown: unknown): Refusal => ({
  code: isOperatingError(thrown) ? thrown.code : "INTERNAL",
  message: messageOf(thrown),
});

export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { queue, artifacts, spool, clock, random, log, onSettled } = options;
  const stopping = new AbortController();
  /** Everything that was not answered yet, by its id. */
  const open = new Map<string, Promise<void>>();
  let ready: { entry: SpoolEntry; answered: (refused: Refusal | undefined) => void }[] = [];
  let sending: Promise<void> | undefined;
  let uploading = 0;
  const waitingUploads: (() => void)[] = [];

  /** Until it succeeds, cannot succeed, or nobody tries any more (then it throws the reason of the stop). */
  const patiently = async <T>(what: string, attempt: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries += 1) {
      stopping.signal.throwIfAborted();
      try {
        return await attempt();
      } catch (thrown) {
        stopping.signal.throwIfAborted();
        if (isOwnFault(thrown)) throw thrown;
        const level = tries === 3 ? "warn" : "debug";
        log[level](`${what} did not get through; it is tried again`, { tries, error: messageOf(thrown) });
        await sleep(clock, backoffMs(AGAIN, tries, random), stopping.signal);
      }
    }
  };

  const upload = async (entry: SpoolEntry): Promise<void> => {
    if (entry.say !== "complete") return;
    const uploads = entry.files.map(async (file) => {
      if (uploading >= UPLOADS_AT_ONCE) await new Promise<void>((resolve) => waitingUploads.push(resolve));
      uploading += 1;
      try {
        await patiently("an upload", () => artifacts.upload(file, stopping.signal));
      } finally {
        uploading -= 1;
        waitingUploads.shift()?.();
      }
    });
    // All of them have ended before anything is made of a failure: nothing reads a folder that is given away.
    const settled = await Promise.allSettled(uploads);
    for (const each of settled) if (each.status === "rejected") throw each.reason;
  };

  const sayAll = async (entries: readonly SpoolEntry[]): Promise<readonly Reply<unknown>[]> => {
    const [first] = entries;
    if (first?.say === "complete") return queue.complete(entries.flatMap((e) => (e.say === "complete" ? [e] : [])));
    if (first?.say === "fail") return queue.fail(entries.flatMap((e) => (e.say === "fail" ? [e] : [])));
    return queue.release(entries.flatMap((e) => (e.say === "release" ? [e] : [])));
  };

  const answersTo = async (entries: readonly SpoolEntry[]): Promise<readonly (Refusal | undefined)[]> => {
    try {
      const replies = await patiently("a result", () => sayAll(entries));
      return replies.map((reply) => (reply.ok ? undefined : reply.error));
    } catch (thrown) {
      stopping.signal.throwIfAborted();
      if (entries.length === 1) return [refusalOf(thrown)];
      // One bad word spoils the request: said alone, only the bad one is refused.
      const all: (Refusal | undefined)[] = [];
      for (const entry of entries) all.push(...(await answersTo([entry])));
      return all;
    }
  };

  const send = async (): Promise<void> => {
    try {
      while (ready.length > 0) {
        const { say } = ready[0]!.entry;
        const batch = ready.filter(({ entry }) => entry.say === say).slice(0, MOST_IN_REQUEST);
        ready = ready.filter((each) => !batch.includes(each));
        const answers = await answersTo(batch.map(({ entry }) => entry));
        for (const [i, { answered }] of batch.entries()) answered(answers[i]);
      }
    } finally {
      sending = undefined;
    }
  };

  const tell = (entry: SpoolEntry): Promise<Refusal | undefined> => {
    const { promise, resolve } = Promise.withResolvers<Refusal | undefined>();
    ready.push({ entry, answered: resolve });
    // What gathers while a request is under way goes together with the next one.
    sending ??= Promise.resolve().then(send);
    sending.catch(() => undefined);
    return promise;
  };

  const lacks = (entry: SpoolEntry, refused: Refusal): SpoolEntry => ({
    say: "fail",
    ref: entry.ref,
    work_type: entry.work_type,
    finished_at: entry.finished_at,
    ...(entry.folder === undefined ? {} : { folder: entry.folder }),
    failure: { class: "retryable", error: refused.message, error_code: refused.code },
  });

  const deliver = async (entry: SpoolEntry): Promise<void> => {
    let refused: Refusal | undefined;
    try {
      await upload(entry);
      refused = await tell(entry);
    } catch (thrown) {
      stopping.signal.throwIfAborted();
      refused = refusalOf(thrown);
    }
    // It is still ours, but proves nothing, or its files are gone: that is a failure, and one that counts.
    if (entry.say === "complete" && refused !== undefined && /^(WORK_EVIDENCE|ARTIFACT_)/.test(refused.code)) {
      log.warn("a job's result was not taken", { work_id: entry.ref.work_id, error: refused.message });
      await tell(lacks(entry, refused));
      await spool.reject(entry, refused);
    } else if (refused === undefined || entry.say !== "complete") await spool.remove(entry);
    else {
      log.warn("a finished job was refused: somebody else has it by now", {
        work_id: entry.ref.work_id,
        fence: entry.ref.fence,
        code: refused.code,
      });
      await spool.reject(entry, refused);
    }
    onSettled(entry, refused);
  };

  return {
    push(entry) {
      const id = entryId(entry.ref);
      if (open.has(id)) return;
      const delivered = deliver(entry)
        .catch((thrown) => {
          if (!stopping.signal.aborted) log.error("a result stays in the spool", { id, error: messageOf(thrown) });
        })
        .finally(() => open.delete(id));
      open.set(id, delivered);
    },
    get waiting() {
      return open.size;
    },
    async flush(limitMs) {
      const late = Promise.withResolvers<void>();
      const timer = clock.after(limitMs, late.resolve, "hold");
      while (open.size > 0) {
        const isLate = await Promise.race([
          Promise.all(open.values()).then(() => false),
          late.promise.then(() => true),
        ]);
        if (isLate) break;
      }
      timer.cancel();
    },
    async stop() {
      stopping.abort(new Error("the worker stops"));
      // Requests under way end by themselves; their answers are taken if they come before the connection goes.
      ready = [];
      for (const resume of waitingUploads.splice(0)) resume();
    },
  };
}

/** Brings what is in the spool to the queue: files first, then the word; again and again until there is an answer. */
import {
  backoffMs,
  defined,
  type Edges,
  isBodyRefused,
  isOperatingError,
  messageOf,
  PEER_BACKOFF,
  retry,
  sleep,
} from "../../kernel/index.ts";
import { RESULT_FILE_MISSING } from "../leases/lease.ts";
import type { ArtifactPort, MadeFile, QueuePort, Refusal, Reply } from "./ports.ts";
import { entryId, type Spool, type SpoolEntry } from "./spool.ts";
import { within } from "./within.ts";

export interface DeliveriesOptions extends Edges {
  readonly queue: Pick<QueuePort, "complete" | "fail" | "release">;
  readonly artifacts: ArtifactPort;
  readonly spool: Spool;
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

const MAX_IN_REQUEST = 200;
const UPLOADS_AT_ONCE = 2;
const MAX_BRINGS = 5;
/** Less than a worker that ends has for its last words. */
const SAVED_MS = 8_000;

type Release = Extract<SpoolEntry, { readonly say: "release" }>;

const releaseOf = ({ ref, reason, saved }: Release) => ({
  ref,
  reason,
  ...(saved === undefined ? {} : { saved: { sha256: saved.sha256, bytes: saved.bytes, epoch: saved.epoch } }),
});

const refusalOf = (thrown: unknown): Refusal => ({
  code: isOperatingError(thrown) ? thrown.code : "INTERNAL",
  message: messageOf(thrown),
});

/** Runs one for each, few at once over all calls; rejects once all have ended, if any failed. */
function fewAtOnce(max: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    async all<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
      const runs = items.map(async (item) => {
        if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve));
        running += 1;
        try {
          await run(item);
        } finally {
          running -= 1;
          waiting.shift()?.();
        }
      });
      // All of them have ended before anything is made of a failure: nothing reads a folder that is given away.
      for (const each of await Promise.allSettled(runs)) if (each.status === "rejected") throw each.reason;
    },
    stop() {
      for (const resume of waiting.splice(0)) resume();
    },
  };
}

export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { queue, artifacts, spool, clock, random, log, onSettled } = options;
  const stopping = new AbortController();
  /** Everything that was not answered yet, by its id. */
  const open = new Map<string, Promise<void>>();
  let ready: { entry: SpoolEntry; answered: (refused: Refusal | undefined) => void }[] = [];
  let sending: Promise<void> | undefined;
  const uploads = fewAtOnce(UPLOADS_AT_ONCE);

  /** Until it succeeds, cannot succeed, or nobody tries any more (then it throws the reason of the stop). */
  const patiently = <T>(what: string, attempt: () => Promise<T>): Promise<T> => {
    const again = (thrown: unknown, tries: number) => {
      if (isBodyRefused(thrown)) return false;
      const level = tries === 3 ? "warn" : "debug";
      log[level](`${what} did not get through; it is tried again`, { tries, error: messageOf(thrown) });
      return true;
    };
    return retry(attempt, { clock, random, signal: stopping.signal, again });
  };

  const uploadOne = (file: MadeFile) => patiently("an upload", () => artifacts.upload(file, stopping.signal));

  const sendAll = async (entries: readonly SpoolEntry[]): Promise<readonly Reply<unknown>[]> => {
    const [first] = entries;
    if (first?.say === "complete") return queue.complete(entries.flatMap((e) => (e.say === "complete" ? [e] : [])));
    if (first?.say === "fail") return queue.fail(entries.flatMap((e) => (e.say === "fail" ? [e] : [])));
    return queue.release(entries.flatMap((e) => (e.say === "release" ? [releaseOf(e)] : [])));
  };

  const answersTo = async (entries: readonly SpoolEntry[]): Promise<readonly (Refusal | undefined)[]> => {
    try {
      const replies = await patiently("a result", () => sendAll(entries));
      return replies.map((reply) => (reply.ok ? undefined : reply.error));
    } catch (thrown) {
      stopping.signal.throwIfAborted();
      if (entries.length === 1) return [refusalOf(thrown)];
      // One bad report spoils the request: sent alone, only the bad one is refused.
      const all: (Refusal | undefined)[] = [];
      for (const entry of entries) all.push(...(await answersTo([entry])));
      return all;
    }
  };

  const send = async (): Promise<void> => {
    try {
      while (ready.length > 0) {
        const { say } = ready[0]!.entry;
        const batch = ready.filter(({ entry }) => entry.say === say).slice(0, MAX_IN_REQUEST);
        ready = ready.filter((each) => !batch.includes(each));
        const answers = await answersTo(batch.map(({ entry }) => entry));
        for (const [i, { answered }] of batch.entries()) answered(answers[i]);
      }
    } finally {
      sending = undefined;
    }
  };

  const report = (entry: SpoolEntry): Promise<Refusal | undefined> => {
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
    ...defined({ folder: entry.folder }),
    failure: { class: "retryable", error: refused.message, error_code: refused.code },
  });

  /** What was saved is worth a try, and no more: a job that waits for its checkpoint for long would better begin anew. */
  const withSaved = async (entry: Release): Promise<SpoolEntry> => {
    const { saved, ...bare } = entry;
    if (saved === undefined) return entry;
    const late = new AbortController();
    const timer = clock.after(SAVED_MS, () => late.abort(new Error("it took too long")), "hold");
    try {
      await uploads.all([saved], () => artifacts.upload(saved, AbortSignal.any([stopping.signal, late.signal])));
      return entry;
    } catch (thrown) {
      stopping.signal.throwIfAborted();
      log.warn("the checkpoint of a job is lost; the next try starts again", {
        work_id: entry.ref.work_id,
        error: messageOf(thrown),
      });
      return bare;
    } finally {
      timer.cancel();
    }
  };

  /** Files first, then the word. A store that has lost one of them since gets it again; one that never takes it ends the tries. */
  const bring = async (entry: SpoolEntry): Promise<Refusal | undefined> => {
    if (entry.say === "release") return report(await withSaved(entry));
    for (let tries = 1; ; tries += 1) {
      if (entry.say === "complete") await uploads.all(entry.files, uploadOne);
      const refused = await report(entry);
      if (refused?.code !== RESULT_FILE_MISSING || tries >= MAX_BRINGS) return refused;
      log.warn("a result's file did not stay in the store; it is sent again", { work_id: entry.ref.work_id, tries });
      await sleep(clock, backoffMs(PEER_BACKOFF, tries, random), stopping.signal);
    }
  };

  /** The queue has answered, whatever the disk does: what stays in the spool is said once more at the next start. */
  const kept = (put: Promise<void>, { ref }: SpoolEntry): Promise<void> =>
    put.catch((thrown: unknown) =>
      log.error("a confirmed result could not be removed from the spool", {
        id: entryId(ref),
        error: messageOf(thrown),
      }),
    );

  const deliver = async (entry: SpoolEntry): Promise<void> => {
    let refused: Refusal | undefined;
    try {
      refused = await bring(entry);
    } catch (thrown) {
      stopping.signal.throwIfAborted();
      refused = refusalOf(thrown);
    }
    // It is still ours, but proves nothing, or its files are gone: that is a failure, and one that counts.
    if (
      entry.say === "complete" &&
      refused !== undefined &&
      /^(WORK_EVIDENCE|ARTIFACT_|RESULT_FILE_)/.test(refused.code)
    ) {
      log.warn("the result of a job was refused", { work_id: entry.ref.work_id, error: refused.message });
      await report(lacks(entry, refused));
      await kept(spool.reject(entry, refused), entry);
    } else if (refused === undefined || entry.say !== "complete") await kept(spool.remove(entry), entry);
    else {
      log.warn("a finished job was refused: somebody else has it by now", {
        work_id: entry.ref.work_id,
        fence: entry.ref.fence,
        code: refused.code,
      });
      await kept(spool.reject(entry, refused), entry);
    }
    onSettled(entry, refused);
  };

  const drained = async (): Promise<void> => {
    while (open.size > 0) await Promise.all(open.values());
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
    flush: (limitMs) => within(clock, drained(), limitMs),
    async stop() {
      stopping.abort(new Error("the worker stops"));
      // Requests under way end by themselves; their answers are taken if they come before the connection goes.
      ready = [];
      uploads.stop();
    },
  };
}

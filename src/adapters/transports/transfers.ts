/** All transfers of a node, seen from its main loop: what is asked of the thread, and what it tells. */
import type { KeyObject } from "node:crypto";
import { once as happens } from "node:events";
import { Worker } from "node:worker_threads";
import { type Log, messageOf, moduleBeside, OperatingError } from "../../kernel/index.ts";
import type { ArtifactStore, FetchRequest, PackedFiles, TransferReport, Transfers } from "../../sync/index.ts";
import type { CoordinatorLine } from "./coordinator/coordinator-transport.ts";
import type { ServerRefusal } from "./http/artifact-server.ts";
import type { RelayPlace } from "./relay/relay-client.ts";
import type { FromThread, PackedQuestion, ThreadSettings, ToThread, TransferStates } from "./transfer-thread.ts";

export interface TransfersOptions extends Omit<ThreadSettings, "coordinator"> {
  readonly store: Pick<ArtifactStore, "reserve" | "pathOf">;
  readonly log: Log;
  readonly coordinator?: CoordinatorLine | undefined;
  /** Somebody was turned away by what this node serves. */
  readonly onRefused: (refusal: ServerRefusal) => void;
}

export interface RunningTransfers extends Transfers {
  /** Where this node serves others; null if it does not. */
  readonly port: number | null;
  /** The coordinator's clock is so far ahead of ours: tickets are judged by it. */
  setAhead(aheadMs: number): void;
  /** By what tickets are known, and where to wait to be put through. */
  setCoordinator(key: KeyObject, relay: RelayPlace | null): void;
  /** A node that has joined may park connections here. */
  letPark(nodeId: string): void;
  /** How the ways are, and whether connections wait at the relay. */
  states(): Promise<TransferStates>;
  /** Files that lie together; only on a node that keeps some so. */
  readonly packed: PackedFiles | undefined;
}

interface Waiting {
  readonly done: PromiseWithResolvers<TransferReport>;
  readonly onProgress: FetchRequest["onProgress"];
}

const ended = (message: string) =>
  OperatingError.unavailable("TRANSFERS_ENDED", `the thread of transfers has ended: ${message}`, {
    hint: "Ask again, and unfinished transfers continue where they stopped.",
  });

/** Starts the thread, and resolves when it serves. */
export async function startTransfers(options: TransfersOptions): Promise<RunningTransfers> {
  const { store, log, coordinator, onRefused, ...rest } = options;
  const { prove, ...line } = coordinator ?? { prove: undefined };
  const workerData: ThreadSettings = {
    ...rest,
    coordinator: coordinator === undefined ? undefined : (line as Omit<CoordinatorLine, "prove">),
  };
  const thread = new Worker(moduleBeside(import.meta.url, "./transfer.thread"), { workerData });
  const waiting = new Map<number, Waiting>();
  const ready = Promise.withResolvers<number | null>();
  const asked = new Map<number, (states: TransferStates) => void>();
  const questions = new Map<number, PromiseWithResolvers<unknown>>();
  let ids = 0;
  let gone: OperatingError | undefined;
  const say = (message: ToThread): void => thread.postMessage(message);

  const answer = async (message: FromThread & { type: "prove" }): Promise<void> => {
    const { question, method, path, refused } = message;
    try {
      if (prove === undefined) throw new Error("this node has no coordinator");
      say({ type: "proof", question, headers: await prove(method, path, refused) });
    } catch (thrown) {
      say({ type: "proof", question, error: messageOf(thrown) });
    }
  };
  thread.on("message", (message: FromThread) => {
    if (message.type === "ready") return ready.resolve(message.port);
    if (message.type === "refused") return onRefused(message.refusal);
    if (message.type === "prove") return void answer(message);
    if (message.type === "states") {
      asked.get(message.question)?.(message.states);
      return void asked.delete(message.question);
    }
    if (message.type === "broken")
      return log.error("a pack of files is damaged; what could not be saved is fetched again", {
        path: message.path,
        error: message.why,
      });
    if (message.type === "packed") {
      const { question, answer: given, failed } = message;
      if (failed === undefined) questions.get(question)?.resolve(given);
      else questions.get(question)?.reject(OperatingError.unavailable(failed.code, failed.message));
      return void questions.delete(question);
    }
    const transfer = waiting.get(message.id);
    if (message.type === "progress") return transfer?.onProgress?.(message.progress);
    waiting.delete(message.id);
    if (message.type === "report") transfer?.done.resolve(message.report);
    else transfer?.done.reject(ended(message.message));
  });
  const lost = (message: string): void => {
    gone ??= ended(message);
    ready.reject(gone);
    for (const { done } of waiting.values()) done.reject(gone);
    for (const tell of asked.values()) tell({ ways: [], isParked: false });
    for (const question of questions.values()) question.reject(gone);
    waiting.clear();
    asked.clear();
    questions.clear();
  };
  thread.on("error", (thrown) => {
    log.error("the thread of transfers failed", { error: messageOf(thrown) });
    lost(messageOf(thrown));
  });
  thread.on("exit", () => lost("it was closed"));

  const send = async (
    request: Omit<FetchRequest, "sources" | "wanted">,
    message: (id: number) => ToThread & { type: "fetch" | "put" },
  ): Promise<TransferReport> => {
    const { signal, onProgress } = request;
    signal?.throwIfAborted();
    if (gone !== undefined) throw gone;
    ids += 1;
    const id = ids;
    const done = Promise.withResolvers<TransferReport>();
    waiting.set(id, { done, onProgress });
    say(message(id));
    const abort = () => say({ type: "abort", id });
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await done.promise;
    } catch (thrown) {
      signal?.throwIfAborted();
      throw thrown;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  };
  const limitsOf = ({ priority = "normal", maxBytesPerSecond }: Omit<FetchRequest, "sources" | "wanted">) => ({
    priority,
    maxBytesPerSecond: maxBytesPerSecond ?? null,
  });

  const askPacks = (question: PackedQuestion): Promise<unknown> => {
    if (gone !== undefined) return Promise.reject(gone);
    ids += 1;
    const answered = Promise.withResolvers<unknown>();
    questions.set(ids, answered);
    say({ type: "packed", question: ids, ...question });
    return answered.promise;
  };
  const packed: PackedFiles = {
    list: () => askPacks({ ask: "list", about: [] }) as ReturnType<PackedFiles["list"]>,
    find: (...about) => askPacks({ ask: "find", about }) as ReturnType<PackedFiles["find"]>,
    check: (...about) => askPacks({ ask: "check", about }) as ReturnType<PackedFiles["check"]>,
    makeFiles: async (...about) => void (await askPacks({ ask: "makeFiles", about })),
    setAside: async (...about) => void (await askPacks({ ask: "setAside", about })),
    drop: async (...about) => void (await askPacks({ ask: "drop", about })),
    compact: async () => void (await askPacks({ ask: "compact", about: [] })),
  };

  const port = await ready.promise;
  return {
    port,
    packed: options.packs === undefined ? undefined : packed,
    setCoordinator: (key, relay) => say({ type: "coordinator", key, relay }),
    letPark: (nodeId) => say({ type: "known", nodeId }),
    states: () =>
      new Promise((resolve) => {
        if (gone !== undefined) return resolve({ ways: [], isParked: false });
        ids += 1;
        asked.set(ids, resolve);
        say({ type: "states", question: ids });
      }),
    setAhead: (aheadMs) => say({ type: "clock", aheadMs }),
    async fetch(request) {
      const once = new Map(request.wanted.map((one) => [one.sha256, one]));
      const { expected, refused, release } = store.reserve([...once.values()], "transfers");
      try {
        const { sources } = request;
        const report = await send(request, (id) => ({ type: "fetch", id, expected, sources, ...limitsOf(request) }));
        return { ...report, failed: [...report.failed, ...refused] };
      } finally {
        release();
      }
    },
    put(request) {
      const made = request.wanted.map((one) => ({ ...one, path: store.pathOf(one.sha256) }));
      return send(request, (id) => ({ type: "put", id, made, to: request.to, ...limitsOf(request) }));
    },
    async close() {
      if (gone !== undefined) return;
      const exit = happens(thread, "exit");
      say({ type: "close" });
      await exit;
    },
  };
}

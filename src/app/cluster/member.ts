/** A coordinator's place among several, as the main thread sees it: its view of the cluster, and the terms that it leads. */
import { Worker } from "node:worker_threads";
import { fromPortable, portable } from "../../adapters/sqlite/portable-error.ts";
import { replicatedStore } from "../../adapters/sqlite/replica/replicated-store.ts";
import type { Outcome } from "../../adapters/sqlite/writer.ts";
import type { ClusterView } from "../../cluster/leadership/index.ts";
import { type Clock, type Log, messageOf, moduleBeside, OperatingError } from "../../kernel/index.ts";
import type { Operation, Store } from "../../router/index.ts";
import { type FromMember, type MemberThreadOptions, sharedNow, type ToMember } from "./messages.ts";

/** A term that this process leads, while it lasts. */
export interface LedTerm {
  readonly term: number;
  /** Commits through the log; refuses for good when the term is over. */
  readonly store: Store;
  /** Resolves with the reason when nothing is written in it any more. */
  readonly over: Promise<OperatingError>;
}

export interface MemberOptions extends Omit<MemberThreadOptions, "trusted" | "modulesUrl"> {
  readonly clock: Clock;
  readonly logLines: Log;
  /** Begins everything that leads; what it gives ends all of that again. */
  readonly lead: (led: LedTerm) => Promise<() => Promise<void>>;
}

export interface Member {
  view(): ClusterView;
  /** Whether this process may act outside of the database as the leader. */
  isTrusted(): boolean;
  /** For how long it may still do so unless its lease is renewed, in milliseconds. */
  trustedForMs(): number;
  stepDown(to: string | undefined, reason: string): Promise<void>;
  /** Every replica writes down what its rows come to at one entry; gives what they come to here. */
  verify(): Promise<{ readonly seq: number; readonly digest: string }>;
  /** The log need not have entries up to this number any more. */
  forget(upTo: number): Promise<void>;
  /** Resolves if this member cannot go on. */
  readonly broken: Promise<OperatingError>;
  /** Hands the lead over, if it has it, and ends. */
  stop(): Promise<void>;
}

const ALIVE_EVERY_MS = 250;

interface Current {
  readonly term: number;
  readonly over: PromiseWithResolvers<OperatingError>;
  readonly waiting: PromiseWithResolvers<Outcome[]>[];
  /** Gives what ends it, once it has begun. */
  readonly begun: Promise<() => Promise<void>>;
}

export async function startMember(options: MemberOptions): Promise<Member> {
  const { clock, logLines, lead, ...rest } = options;
  const trusted = new SharedArrayBuffer(8);
  const modulesUrl = moduleBeside(import.meta.url, "../store-modules").href;
  const thread = new Worker(moduleBeside(import.meta.url, "./member.thread"), {
    name: "coordinator member",
    workerData: { ...rest, modulesUrl, trusted } satisfies MemberThreadOptions,
  });
  const say = (message: ToMember) => thread.postMessage(message);
  const exited = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
  const ready = Promise.withResolvers<void>();
  const broken = Promise.withResolvers<OperatingError>();
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
  let ids = 0;
  let current: Current | undefined;
  let view: ClusterView | undefined;
  let isStopping = false;

  /** The store of a term; its batches are settled in the order in which they were sent. */
  const begin = (term: number): Current => {
    const over = Promise.withResolvers<OperatingError>();
    const waiting: PromiseWithResolvers<Outcome[]>[] = [];
    const apply = (batch: readonly (readonly Operation[])[]): Promise<Outcome[]> => {
      const settled = Promise.withResolvers<Outcome[]>();
      waiting.push(settled);
      say({ type: "apply", term, batch });
      return settled.promise;
    };
    const store = replicatedStore({ apply, ended: over.promise }, options.path, clock);
    const begun = lead({ term, store, over: over.promise });
    begun.then(
      () => say({ type: "leading", term }),
      (thrown: unknown) => say({ type: "leading", term, error: portable(thrown) }),
    );
    return { term, over, waiting, begun };
  };

  const take = (message: FromMember): void => {
    if (message.type === "ready") ready.resolve();
    else if (message.type === "failed") ready.reject(fromPortable(message.error));
    else if (message.type === "broken") broken.resolve(fromPortable(message.error));
    else if (message.type === "view") view = message.view;
    else if (message.type === "log") logLines[message.level](message.line, { ...message.more });
    else if (message.type === "lead") current = begin(message.term);
    else if (message.type === "answer") {
      const waiting = asked.get(message.id);
      asked.delete(message.id);
      if (message.error === undefined) waiting?.resolve(message.result);
      else waiting?.reject(fromPortable(message.error));
    } else if (current?.term !== message.term) return;
    else if (message.type === "settled")
      current.waiting
        .shift()
        ?.resolve(message.outcomes.map((one) => (one.ok ? one : { ok: false, error: fromPortable(one.error) })));
    else if (message.type === "over") current.over.resolve(fromPortable(message.error));
    else {
      const { term, begun } = current;
      // What could not begin has nothing to end.
      void begun
        .then((end) => end())
        .catch((thrown: unknown) => logLines.error("a term did not end in order", { error: messageOf(thrown) }))
        .finally(() => say({ type: "ended", term }));
    }
  };
  thread.on("message", take);
  const gone = (why: string) => {
    const error = OperatingError.internal("STORE_GONE", `the thread of this coordinator ended: ${why}`, {
      status: 503,
      hint: "Start the process again; the log has everything that was acknowledged.",
    });
    ready.reject(error);
    current?.over.resolve(error);
    for (const { reject } of asked.values()) reject(error);
    if (!isStopping) broken.resolve(error);
  };
  thread.on("error", (error) => gone(messageOf(error)));
  thread.on("exit", () => gone("nothing more is known"));
  const alive = setInterval(() => say({ type: "alive" }), ALIVE_EVERY_MS);

  const ask = <T>(make: (id: number) => ToMember): Promise<T> => {
    ids += 1;
    const waiting = Promise.withResolvers<unknown>();
    asked.set(ids, waiting);
    say(make(ids));
    return waiting.promise as Promise<T>;
  };

  try {
    await ready.promise;
  } catch (thrown) {
    clearInterval(alive);
    throw thrown;
  }
  const until = new Float64Array(trusted);
  let stopping: Promise<void> | undefined;
  return {
    view: () => view!,
    isTrusted: () => sharedNow() < until[0]!,
    trustedForMs: () => until[0]! - sharedNow(),
    stepDown: (to, reason) => ask((id) => ({ type: "step-down", id, to: to ?? null, reason })),
    verify: () => ask((id) => ({ type: "verify", id })),
    forget: (upTo) => ask((id) => ({ type: "forget", id, upTo })),
    broken: broken.promise,
    stop() {
      stopping ??= (async () => {
        isStopping = true;
        say({ type: "stop" });
        await exited;
        clearInterval(alive);
      })();
      return stopping;
    },
  };
}

import {
  type BuiltinRows,
  builtinRows,
  createCatalog,
  type EventName,
  fromCloudEvent,
  type PayloadFor,
  type RouterEventOf,
  type Rows,
  toCloudEvent,
  type WireValue,
} from "../../events/index.ts";
import {
  backoffMs,
  type Clock,
  createIds,
  defined,
  isBodyRefused,
  isOperatingError,
  messageOf,
  type Random,
  retry,
  sleep,
  stackOf,
  systemClock,
  systemRandom,
} from "../../kernel/index.ts";
import type { AnyEvent } from "../../router/index.ts";
import { callTo, sendTo } from "../client/call.ts";
import { type Channel, type Endpoint, openChannel } from "../client/channel.ts";
import { leaderNamedIn, turnTo } from "../client/coordinators.ts";
import { clusterTokenIn, requireEndpoint } from "../client/endpoint.ts";
import { publishEvents, tailEvents } from "../events/wire.ts";
import type { PublishedReceipt } from "../http/fields.ts";
import { addressOf } from "../http/wire.ts";
import { type LocksClient, locksOver } from "../locks/locks-client.ts";
import { type NodesClient, nodesOver } from "../nodes/nodes-client.ts";
import { jobsOver, type WorkQueueClient } from "../queue/jobs-client.ts";
import { ackSession, closeSession, nackSession, openSession, pollSession, streamSession } from "./wire.ts";

/** A delivery, or why none will follow. */
interface StreamedLine {
  readonly attempt: number;
  readonly event: unknown;
  readonly ended?: { readonly detail: string };
}

export interface ClientOptions<R extends Rows = Record<never, never>> {
  /** Events of your own, from `defineEvents`: they are typed and spelt as the built-in ones are. */
  readonly events?: R;
  /** The data folder of the main process; its endpoint is looked up there, again after each restart. */
  readonly dataDir?: string;
  readonly endpoint?: Endpoint;
  /** Several coordinators, of which one leads: the client finds it, and follows when another leads. */
  readonly endpoints?: readonly Endpoint[];
  /** Who publishes; shown as the events' source. */
  readonly source?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  /** How long a publish waits for a main process that does not answer; 60 s unless said. */
  readonly patienceMs?: number;
}

export interface ClientPublishOptions {
  readonly source?: string;
  readonly eventId?: string;
  readonly parent?: AnyEvent;
  readonly correlationId?: string;
  readonly routeToDataBus?: boolean;
  readonly routeToStageBus?: boolean;
  readonly routeToCrossProcess?: boolean;
}

/** What a handler has beside its event. */
export interface ClientHandlerContext<R extends Rows = BuiltinRows> {
  readonly attempt: number;
  /** Emits because of this event; committed together with its ack. */
  emit<N extends EventName<R>>(eventType: N | WireValue<N>, payload: PayloadFor<N, R>): void;
}

/** Handles any event: its payload is yet to be understood. */
export type ClientHandler<R extends Rows = BuiltinRows> = (
  event: AnyEvent,
  context: ClientHandlerContext<R>,
) => void | Promise<void>;

export interface SubscribeOptions<N extends string = string> {
  /** Stable name: who comes back under it reads on from where it was. */
  readonly consumer: string;
  /** All events unless given. */
  readonly eventTypes?: readonly (N | WireValue<N>)[];
  readonly start?: "earliest" | "now";
  readonly version?: string;
  readonly leaseSeconds?: number;
  /** Unacknowledged events that may be on their way. */
  readonly credit?: number;
  /** Told of what goes wrong while it keeps trying. */
  readonly onTrouble?: (error: unknown) => void;
}

export interface Subscription {
  stop(): Promise<void>;
  /** Resolves when it has stopped. */
  readonly ended: Promise<void>;
}

interface Outgoing {
  readonly json: unknown;
  readonly resolve: (receipt: PublishedReceipt) => void;
  readonly reject: (error: unknown) => void;
}

interface SessionParams {
  readonly consumer: string;
  readonly session: string;
}

interface Delivered {
  readonly attempt: number;
  readonly event: AnyEvent;
}

const MAX_IN_REQUEST = 500;
/** The session is gone, or something in between has answered: a new one may do. One that was replaced stays so. */
const SESSION_OVER: ReadonlySet<string> = new Set(["SESSION_CLOSED", "SESSION_NOT_FOUND", "UNEXPECTED_ANSWER"]);
const RECONNECT = { firstMs: 50, maxMs: 2_000, jitter: 0.5 };

/** A process beside the main one: publishes to its router and consumes from its journal. */
export class Client<R extends Rows = BuiltinRows> {
  readonly #o: ClientOptions<Rows>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ids;
  readonly #names;
  /** The queue: jobs are put in, looked at, taken back. */
  readonly work: WorkQueueClient;
  /** The machines, and how they are. */
  readonly nodes: NodesClient;
  /** Names that one holder has at a time. */
  readonly locks: LocksClient;
  #channel: Channel | undefined;
  /** Which of several endpoints is asked. */
  #at = 0;
  /** The leader, while the coordinator of this machine stands by. */
  #leader: Endpoint | undefined;
  #outbox: Outgoing[] = [];
  #sending = false;
  #closed = false;

  constructor(options: ClientOptions<Rows>) {
    this.#o = options;
    this.#names = createCatalog({ ...builtinRows, ...options.events }).names;
    this.#clock = options.clock ?? systemClock();
    this.#random = options.random ?? systemRandom();
    this.#ids = createIds(this.#clock, this.#random);
    const sender: Pick<Channel, "send"> = { send: (...request) => this.#open().send(...request) };
    this.work = jobsOver(sender);
    this.nodes = nodesOver(sender);
    this.locks = locksOver(sender);
  }

  /** Resolves once the event is committed. Repeats the same event, under the same id, over restarts of the main process. */
  publish<N extends EventName<R>>(
    eventType: N | WireValue<N>,
    payload: PayloadFor<N, R>,
    options?: ClientPublishOptions,
  ): Promise<PublishedReceipt> {
    return this.publishUnchecked(eventType, payload, options);
  }

  /** The same for a name or a payload that is only known at run time; the main process checks both. */
  publishUnchecked(eventType: string, payload: object, options: ClientPublishOptions = {}): Promise<PublishedReceipt> {
    return new Promise((resolve, reject) => {
      this.#outbox.push({ json: this.#onTheWire(eventType, payload, options), resolve, reject });
      if (this.#sending) return;
      this.#sending = true;
      queueMicrotask(() => void this.#flush());
    });
  }

  /** Consumes under a stable name until stopped, over restarts on both sides. Events come one after the other. */
  subscribe<const N extends EventName<R>>(
    options: SubscribeOptions<N> & Required<Pick<SubscribeOptions<N>, "eventTypes">>,
    handler: (event: RouterEventOf<N, R>, context: ClientHandlerContext<R>) => void | Promise<void>,
  ): Subscription;
  subscribe(options: Omit<SubscribeOptions, "eventTypes">, handler: ClientHandler<R>): Subscription;
  subscribe(options: SubscribeOptions, handler: unknown): Subscription {
    return this.subscribeUnchecked(options, handler as ClientHandler<R>);
  }

  /** The same for names that are only known at run time. */
  subscribeUnchecked(options: SubscribeOptions, handler: ClientHandler<R>): Subscription {
    const stop = new AbortController();
    const ended = this.#consume(options, handler, stop.signal);
    return {
      ended,
      async stop() {
        stop.abort();
        await ended;
      },
    };
  }

  /** What happens from now on, owed nothing: for looking, not for working. */
  async *tail(
    eventTypes: readonly string[],
    signal: AbortSignal,
  ): AsyncGenerator<{ event: AnyEvent } | { missed: number }> {
    for await (const line of this.#open().lines(addressOf(tailEvents, { query: { event_type: eventTypes } }), signal)) {
      if (line === "") continue;
      const read = JSON.parse(line) as { event?: unknown; missed?: number };
      yield read.event === undefined ? { missed: read.missed ?? 0 } : { event: fromCloudEvent(read.event) as AnyEvent };
    }
  }

  /** Takes up to `max` deliveries, waiting for some; for those who want to ack by hand. */
  async openSession(options: SubscribeOptions) {
    const params = await this.#session(options);
    return {
      poll: async (max = 100, waitSeconds = 0): Promise<Delivered[]> => {
        const { deliveries } = await callTo(
          this.#open(),
          pollSession,
          { params, body: { max, wait_seconds: waitSeconds } },
          // Longer than the wait: an answer that nobody hears any more would lease its deliveries to nobody.
          { timeoutMs: 60_000 + waitSeconds * 1_000 },
        );
        return deliveries.map(({ attempt, event }) => ({ attempt, event: fromCloudEvent(event) as AnyEvent }));
      },
      ack: (seqs: readonly number[]) => callTo(this.#open(), ackSession, { params, body: { seqs } }),
      nack: (seq: number, error: string) => callTo(this.#open(), nackSession, { params, body: { seq, error } }),
      close: () => callTo(this.#open(), closeSession, { params }),
    };
  }

  /** Opens a session; what its routes take. */
  async #session(options: SubscribeOptions): Promise<SessionParams> {
    const { consumer, eventTypes = [], start = "now", version, leaseSeconds } = options;
    const body = { event_types: eventTypes, start, version, lease_seconds: leaseSeconds };
    const { session_id } = await callTo(this.#open(), openSession, { params: { consumer }, body });
    return { consumer, session: session_id };
  }

  /** Any route of the API. */
  request<T>(method: string, path: string, body?: unknown): Promise<T> {
    return this.#open().send<T>(method, path, body);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#channel?.close();
  }

  #open(): Channel {
    this.#channel ??= openChannel(this.#leader ?? this.#endpoint());
    return this.#channel;
  }

  #endpoint(): Endpoint {
    const { endpoint, endpoints = [], dataDir = ".ringrift" } = this.#o;
    return endpoint ?? endpoints[this.#at] ?? { socketPath: requireEndpoint(dataDir).socket_path };
  }

  /** The next request begins anew, where the leader is known to be. */
  #reconnect(thrown: unknown): void {
    this.#channel?.close();
    this.#channel = undefined;
    const { endpoint, endpoints = [], dataDir = ".ringrift" } = this.#o;
    const urls = endpoints.map((each) => ("url" in each ? each.url : ""));
    this.#at = turnTo(urls, this.#at, thrown);
    // The coordinator of this machine may name the leader, and has a token that is good there.
    const named = endpoint === undefined && endpoints.length === 0 ? leaderNamedIn(thrown) : undefined;
    const token = named == null ? undefined : clusterTokenIn(dataDir);
    this.#leader =
      named == null || token === undefined
        ? undefined
        : { url: named.url, token, ...defined({ fingerprint: named.fingerprint ?? undefined }) };
  }

  #onTheWire(eventType: string, payload: object, options: ClientPublishOptions): unknown {
    const eventId = options.eventId ?? this.#ids.uuid();
    const { parent } = options;
    // The main process computes the hash itself.
    const { contenthash: _, ...event } = toCloudEvent({
      eventType: this.#names.resolve(eventType)?.name ?? eventType,
      payload: payload as never,
      timestamp: this.#clock.now() / 1_000,
      source: options.source ?? this.#o.source ?? `process-${process.pid}`,
      origin: "cross_process",
      eventId,
      traceId: parent?.traceId ?? this.#ids.traceId(),
      correlationId: options.correlationId ?? parent?.correlationId ?? eventId,
      parentEventId: parent?.eventId ?? null,
      contentHash: "",
      seq: null,
      payloadVersion: 1,
      eventClass: "durable",
      orderKey: null,
      views: {
        dataBus: options.routeToDataBus ?? true,
        stageBus: options.routeToStageBus ?? true,
        crossProcess: options.routeToCrossProcess ?? true,
      },
      nodeId: "local",
    });
    return event;
  }

  /** One request after the other; what gathers meanwhile goes together. */
  async #flush(): Promise<void> {
    while (this.#outbox.length > 0) {
      const batch = this.#outbox.slice(0, MAX_IN_REQUEST);
      this.#outbox = this.#outbox.slice(MAX_IN_REQUEST);
      try {
        const { events } = await this.#patiently(() =>
          callTo(this.#open(), publishEvents, {
            body: batch.length === 1 ? batch[0]!.json : batch.map(({ json }) => json),
          }),
        );
        for (const [i, { resolve }] of batch.entries()) resolve(events[i]!);
      } catch (thrown) {
        if (batch.length === 1) batch[0]!.reject(thrown);
        else await this.#oneByOne(batch);
      }
    }
    this.#sending = false;
  }

  /** One bad event refuses its whole request: sent alone, only the bad one fails. */
  async #oneByOne(batch: readonly Outgoing[]): Promise<void> {
    for (const { json, resolve, reject } of batch)
      try {
        const { events } = await this.#patiently(() => callTo(this.#open(), publishEvents, { body: json }));
        resolve(events[0]!);
      } catch (thrown) {
        reject(thrown);
      }
  }

  /** Tries again while the main process is away, as long as our patience lasts. */
  #patiently<T>(attempt: () => Promise<T>): Promise<T> {
    const until = this.#clock.monotonic() + (this.#o.patienceMs ?? 60_000);
    const again = (thrown: unknown) => {
      if (!isOperatingError(thrown) || !thrown.retryable || this.#closed) return false;
      if (this.#clock.monotonic() > until) return false;
      this.#reconnect(thrown);
      return true;
    };
    return retry(attempt, { clock: this.#clock, random: this.#random, policy: RECONNECT, again });
  }

  async #consume(options: SubscribeOptions, handler: ClientHandler<R>, signal: AbortSignal): Promise<void> {
    for (let tries = 1; !signal.aborted && !this.#closed; tries += 1) {
      try {
        const params = await this.#session(options);
        tries = 1;
        await this.#work(params, options, handler, signal);
      } catch (thrown) {
        if (signal.aborted || this.#closed) return;
        if (isOperatingError(thrown) && !thrown.retryable && !SESSION_OVER.has(thrown.code)) throw thrown;
        options.onTrouble?.(thrown);
        this.#reconnect(thrown);
        // A wait that is cut short by stop() ends the loop by itself.
        await sleep(this.#clock, backoffMs(RECONNECT, tries, this.#random), signal).catch(() => undefined);
      }
    }
  }

  async #work(
    params: SessionParams,
    options: SubscribeOptions,
    handler: ClientHandler<R>,
    signal: AbortSignal,
  ): Promise<void> {
    const channel = this.#open();
    const answers = createAnswers(channel, params);
    /**
     * Keys whose event failed, and which one: the later ones were taken back and come again after it. An earlier one is a dead
     * letter that was sent back, and is ours to answer.
     */
    const failedAt = new Map<string, number>();
    const stream = new AbortController();
    let working = false;
    let left: Promise<void> | undefined;
    /** In good order: what was handled is acked and the session closed before the connection goes, so no try is spent. */
    const leave = async () => {
      await answers.drain();
      await sendTo(channel, closeSession, { params });
    };
    const end = () => {
      if (working) return;
      left = leave().finally(() => stream.abort());
      left.catch(() => undefined);
    };
    signal.addEventListener("abort", end, { once: true });
    // Told to stop while the session was being opened.
    if (signal.aborted) end();
    try {
      const address = addressOf(streamSession, { params, query: { credit: options.credit } });
      for await (const line of channel.lines(address, stream.signal)) {
        // What still comes goes back with the session.
        if (signal.aborted) continue;
        answers.check();
        if (line === "") continue;
        const { attempt, event: json, ended } = JSON.parse(line) as StreamedLine;
        if (ended !== undefined) throw new Error(ended.detail);
        const event = fromCloudEvent(json) as AnyEvent;
        const failed = event.orderKey === null ? undefined : failedAt.get(event.orderKey);
        if (failed !== undefined && event.seq! > failed) continue;
        if (failed === event.seq) failedAt.delete(event.orderKey!);
        const emitted: unknown[] = [];
        const emit = (eventType: string, payload: object) => {
          emitted.push(this.#onTheWire(eventType, payload, { parent: event, source: options.consumer }));
        };
        working = true;
        try {
          await handler(event, { attempt, emit });
          answers.ack(event.seq!, emitted);
        } catch (thrown) {
          const error = stackOf(thrown);
          const outcome = await answers.nack(event.seq!, error);
          if (outcome === "retrying" && event.orderKey !== null) failedAt.set(event.orderKey, event.seq!);
        }
        working = false;
        if (signal.aborted) {
          left = leave();
          await left;
        }
      }
      if (!signal.aborted) {
        await answers.drain();
        throw new Error("the stream ended");
      }
      await left;
    } finally {
      signal.removeEventListener("abort", end);
      stream.abort();
    }
  }
}

interface Ack {
  readonly seq: number;
  readonly emit: readonly unknown[];
}

/** Sends acks in order, many together while one request is under way; a failure shows at the next check. */
function createAnswers(channel: Channel, params: SessionParams) {
  const sendAck = (seqs: readonly number[], emit: readonly unknown[]) =>
    callTo(channel, ackSession, { params, body: { seqs, emit } });
  const sendNack = (seq: number, error: string) => callTo(channel, nackSession, { params, body: { seq, error } });
  let waiting: Ack[] = [];
  let sending: Promise<void> | undefined;
  let failed: unknown;

  const together = async (answers: readonly Ack[]): Promise<boolean> => {
    const emit = answers.flatMap((one) => one.emit);
    try {
      const { refused } = await sendAck(
        answers.map(({ seq }) => seq),
        emit,
      );
      // With emissions it is all or nothing: if one delivery was taken back, none of them counts yet.
      return refused.length === 0 || emit.length === 0;
    } catch (thrown) {
      // What a handler says is refused: that is its failure, not one of the connection.
      if (!isBodyRefused(thrown)) throw thrown;
      return false;
    }
  };
  const alone = async ({ seq, emit }: Ack): Promise<void> => {
    try {
      await sendAck([seq], emit);
    } catch (thrown) {
      if (!isBodyRefused(thrown)) throw thrown;
      await sendNack(seq, messageOf(thrown));
    }
  };
  const flush = async () => {
    try {
      while (waiting.length > 0) {
        const take = waiting.slice(0, roomFor(waiting));
        waiting = waiting.slice(take.length);
        if (take.length > 1 && (await together(take))) continue;
        for (const one of take) await alone(one);
      }
    } catch (thrown) {
      failed = thrown;
    }
    sending = undefined;
  };
  return {
    ack(seq: number, emit: readonly unknown[]) {
      waiting.push({ seq, emit });
      sending ??= flush();
    },
    async nack(seq: number, error: string) {
      await sending;
      this.check();
      const { outcome } = await sendNack(seq, error.slice(0, 10_000));
      return outcome;
    },
    check() {
      if (failed !== undefined) throw failed;
    },
    async drain() {
      await sending;
      this.check();
    },
  };
}

/** How many at the front fit into one request. */
const roomFor = (waiting: readonly Ack[]): number => {
  let emissions = 0;
  let n = 0;
  for (const { emit } of waiting) {
    emissions += emit.length;
    if (n > 0 && (emissions > 500 || n >= 1_000)) break;
    n += 1;
  }
  return n;
};

export const connect = <R extends Rows = Record<never, never>>(options: ClientOptions<R>): Client<BuiltinRows & R> =>
  new Client(options);

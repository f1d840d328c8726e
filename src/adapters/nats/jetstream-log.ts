/** The replicated log as one stream of NATS JetStream. Only processes that are told to share their log load this file. */
import { AckPolicy, DeliverPolicy, JetStreamApiError, jetstream } from "@nats-io/jetstream";
import type { EngineHealth } from "../../cluster/index.ts";
import { type Clock, isOperatingError, OperatingError, sleep } from "../../kernel/index.ts";
import type { ReplicatedLog, StoredEntry } from "../../router/index.ts";
import { checkStream, connectServers, type JetStreamOptions, unavailable } from "./connection.ts";
import { MAX_ENTRY_BYTES, MAX_MESSAGE_BYTES, memberSubjectOf, subjectOf } from "./stream-settings.ts";

/** The answers that mean: not stored, and never will be. After all others nobody knows. */
const REFUSALS: ReadonlySet<number> = new Set([10_071, 10_164]);

/** What is asked for at once while following: bounded in bytes, since entries differ in size. */
const FETCH = { max_bytes: 4 * MAX_MESSAGE_BYTES, expires: 2_000 } as const;
const LOOK_AGAIN_MS = 250;
/** A consumer whose reader was killed is forgotten by the servers after this time. */
const CONSUMER_FORGOTTEN_MS = 60_000;
const NANOS_PER_MS = 1_000_000;

const lastIn = (message: string): number | undefined => {
  const found = /wrong last sequence: (\d+)/.exec(message)?.[1];
  return found === undefined ? undefined : Number(found);
};

export interface JetStreamLogOptions extends JetStreamOptions {
  readonly clock: Clock;
  /** What is waited out while following: a server that went away, an election. */
  readonly onTrouble?: (thrown: OperatingError) => void;
}

/** What members tell each other beside the log: nothing depends on it, and what is lost is said again. */
export interface MemberChannel {
  announce(about: Uint8Array): void;
  /** Everything that anybody announces from now on. */
  listen(heard: (about: Uint8Array) => void): void;
}

export interface JetStreamLog extends ReplicatedLog {
  readonly members: MemberChannel;
  /** How the servers of the log are, as one of them says. */
  health(): Promise<EngineHealth>;
}

const MAX_ANNOUNCED_BYTES = 8_192;

export async function openJetStreamLog(options: JetStreamLogOptions): Promise<JetStreamLog> {
  const { stream, answerMs, clock } = options;
  const connection = await connectServers(options);
  const manager = await checkStream(connection, options).catch(async (thrown: unknown) => {
    await connection.close();
    throw thrown;
  });
  const client = jetstream(connection, { timeout: answerMs });
  const subject = subjectOf(stream);

  let lookedElsewhereAt = Number.NEGATIVE_INFINITY;
  /**
   * A server that is stopped or cut off from the others does not answer, and the line to it may look sound for long. Another one may know
   * more: the connection goes to the next, at most once in the time that an answer may take.
   */
  const lookElsewhere = (): void => {
    if (clock.monotonic() - lookedElsewhereAt < answerMs) return;
    lookedElsewhereAt = clock.monotonic();
    if (!connection.isClosed()) void connection.reconnect().catch(() => {});
  };

  const append: ReplicatedLog["append"] = async ({ id, bytes }, expected) => {
    if (bytes.length > MAX_ENTRY_BYTES)
      throw OperatingError.invalid(
        "LOG_ENTRY_TOO_BIG",
        `the entry has ${bytes.length} bytes; at most ${MAX_ENTRY_BYTES} are allowed`,
      );
    try {
      const { seq } = await client.publish(subject, bytes, {
        msgID: id,
        timeout: answerMs,
        expect: { streamName: stream, lastSequence: expected },
      });
      // Another number means that an entry of this id was stored elsewhere, and so was not stored now.
      return seq === expected + 1 ? { outcome: "accepted", seq } : { outcome: "refused", last: undefined };
    } catch (thrown) {
      if (thrown instanceof JetStreamApiError && REFUSALS.has(thrown.code)) {
        const last = lastIn(thrown.message);
        const by = connection.info?.server_name;
        // One that was cut off may know less than we do: the next time another one is asked.
        if (last !== undefined && last < expected) lookElsewhere();
        return { outcome: "refused", last, by };
      }
      lookElsewhere();
      return { outcome: "unknown", why: unavailable(thrown) };
    }
  };

  const state = async () => (await manager.streams.info(stream)).state;

  const last: ReplicatedLog["last"] = async () => {
    try {
      return (await state()).last_seq;
    } catch (thrown) {
      throw unavailable(thrown);
    }
  };

  const forget: ReplicatedLog["forget"] = async (upTo) => {
    try {
      // Up to and without this number.
      if (upTo > 0) await manager.streams.purge(stream, { seq: upTo + 1 });
    } catch (thrown) {
      throw unavailable(thrown);
    }
  };

  const health = async (): Promise<EngineHealth> => {
    try {
      const { state, cluster } = await manager.streams.info(stream);
      const replicas = (cluster?.replicas ?? []).map(({ name, current, offline = false, lag = 0 }) => ({
        name,
        isCurrent: current && !offline,
        lag,
      }));
      const leader = cluster?.leader ?? "";
      return {
        leader: leader === "" ? null : leader,
        servers: [...(leader === "" ? [] : [{ name: leader, isCurrent: true, lag: 0 }]), ...replicas],
        first: state.first_seq,
        last: state.last_seq,
        bytes: state.bytes,
      };
    } catch (thrown) {
      throw unavailable(thrown);
    }
  };

  /** Reads on until something gets lost on the way; whoever follows then begins anew behind what it has. */
  async function* readOn(after: number, signal: AbortSignal): AsyncIterable<StoredEntry> {
    const { first_seq: first } = await state();
    if (first > after + 1)
      throw OperatingError.conflict("LOG_PURGED", `the log begins with entry ${first}; entry ${after + 1} is gone`, {
        hint: "Take a snapshot of another coordinator first.",
      });
    const info = await manager.consumers.add(stream, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: after + 1,
      inactive_threshold: CONSUMER_FORGOTTEN_MS * NANOS_PER_MS,
      mem_storage: true,
      num_replicas: 1,
    });
    try {
      const consumer = client.consumers.getConsumerFromInfo(info);
      for (let at = after; !signal.aborted; ) {
        const batch = await consumer.fetch(FETCH);
        const stop = () => batch.stop();
        signal.addEventListener("abort", stop, { once: true });
        const before = at;
        try {
          for await (const { seq, data } of batch) {
            if (signal.aborted || seq !== at + 1) return;
            at = seq;
            yield { seq, bytes: data };
          }
        } finally {
          signal.removeEventListener("abort", stop);
          batch.stop();
        }
        // Nothing came although there is something: it was lost on the way.
        if (at === before && !signal.aborted && (await state()).last_seq > at) return;
      }
    } finally {
      // The servers forget it by themselves as well.
      await manager.consumers.delete(stream, info.name).catch(() => {});
    }
  }

  async function* follow(after: number, signal: AbortSignal): AsyncIterable<StoredEntry> {
    for (let at = after; !signal.aborted; ) {
      try {
        for await (const entry of readOn(at, signal)) {
          at = entry.seq;
          yield entry;
        }
      } catch (thrown) {
        if (isOperatingError(thrown, "LOG_PURGED")) throw thrown;
        options.onTrouble?.(unavailable(thrown));
        // The next try asks whoever is there then.
        lookElsewhere();
        await sleep(clock, LOOK_AGAIN_MS, signal).catch(() => {});
      }
    }
  }

  const talk = memberSubjectOf(stream);
  const members: MemberChannel = {
    announce(about) {
      // While the line is down nobody would hear it, and the next one says the same.
      if (!connection.isClosed() && about.length <= MAX_ANNOUNCED_BYTES) connection.publish(talk, about);
    },
    listen(heard) {
      connection.subscribe(talk, {
        callback: (error, { data }) => {
          if (error === null && data.length <= MAX_ANNOUNCED_BYTES) heard(data);
        },
      });
    },
  };
  return { maxBytes: MAX_ENTRY_BYTES, append, follow, last, forget, health, members, close: () => connection.close() };
}

/** The same for who starts before the servers, or while they choose a leader: waits for them until it is told to stop. */
export async function awaitJetStreamLog(options: JetStreamLogOptions, signal: AbortSignal): Promise<JetStreamLog> {
  for (;;) {
    try {
      return await openJetStreamLog(options);
    } catch (thrown) {
      if (!isOperatingError(thrown, "LOG_UNAVAILABLE") || signal.aborted) throw thrown;
      options.onTrouble?.(thrown);
      await sleep(options.clock, LOOK_AGAIN_MS, signal).catch(() => {});
    }
  }
}

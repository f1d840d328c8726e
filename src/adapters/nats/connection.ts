/** The way to the servers, and what must be so of them before anything is entrusted to them. */
import { JetStreamApiError, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { z } from "zod";
import { defined, isOperatingError, messageOf, OperatingError } from "../../kernel/index.ts";
import { type ServerFacts, serverFaults, streamFaults, streamSettings } from "./stream-settings.ts";

export interface JetStreamOptions {
  /** Addresses of the servers, `nats://host:port`; one that answers is enough. */
  readonly servers: readonly string[];
  /** The monitor of each server, `http://host:port`: only there a server says whether it flushes before it answers. */
  readonly monitors: readonly string[];
  readonly stream: string;
  readonly replicas: number;
  readonly user?: { readonly name: string; readonly password: string };
  readonly tls?: { readonly caFile: string; readonly certFile?: string; readonly keyFile?: string };
  /** How long one answer is waited for. */
  readonly answerMs: number;
}

const ANSWER_OF_MONITOR_MS = 2_000;
const STREAM_NOT_FOUND = 10_059;

const varzSchema = z.object({
  server_name: z.string(),
  version: z.string(),
  max_payload: z.number(),
  jetstream: z.object({ config: z.object({ sync_always: z.boolean().default(false) }).optional() }).optional(),
});

export const unavailable = (thrown: unknown): OperatingError =>
  isOperatingError(thrown)
    ? thrown
    : OperatingError.unavailable("LOG_UNAVAILABLE", `the replicated log does not answer: ${messageOf(thrown)}`, {
        cause: thrown,
        hint: "Look at the nats-servers of the cluster: at least two of three must run and reach each other.",
      });

const unsafe = (faults: readonly string[]): OperatingError =>
  OperatingError.conflict("LOG_UNSAFE", `the replicated log is not safe to use: ${faults.join("; ")}`, {
    hint: "Correct what is named here on the nats-servers, then start again.",
  });

async function factsOf(monitor: string): Promise<ServerFacts | undefined> {
  let answer: unknown;
  try {
    const response = await fetch(new URL("/varz", monitor), { signal: AbortSignal.timeout(ANSWER_OF_MONITOR_MS) });
    answer = await response.json();
  } catch {
    // One of three may be down; it is counted below.
    return undefined;
  }
  const varz = varzSchema.safeParse(answer);
  if (!varz.success) return { name: monitor, version: "0", maxPayload: 0, syncsAlways: undefined };
  const { server_name: name, version, max_payload: maxPayload, jetstream } = varz.data;
  // It keeps no streams now: it starts, or has stopped to because its disk was full. That passes, and is no setting.
  if (jetstream?.config === undefined) return undefined;
  return { name, version, maxPayload, syncsAlways: jetstream.config.sync_always };
}

/** A majority of the servers answers, and each of these is sound; whoever is down is looked at when somebody starts again. */
async function checkServers({ monitors }: JetStreamOptions): Promise<void> {
  const facts = (await Promise.all(monitors.map(factsOf))).filter((fact) => fact !== undefined);
  const faults = facts.flatMap(serverFaults);
  if (faults.length > 0) throw unsafe(faults);
  if (facts.length * 2 <= monitors.length)
    throw OperatingError.unavailable(
      "LOG_UNAVAILABLE",
      `${facts.length} of ${monitors.length} nats-servers answer and keep streams; more than half is required`,
    );
}

/** A connection that comes back by itself as long as it is not closed. */
export async function connectServers(options: JetStreamOptions): Promise<NatsConnection> {
  const { servers, user, tls, answerMs } = options;
  await checkServers(options);
  try {
    return await connect({
      servers: [...servers],
      name: "ringrift",
      timeout: answerMs,
      reconnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      pingInterval: 5_000,
      maxPingOut: 2,
      // A stack for every request costs more than the request, and is shown to nobody.
      noAsyncTraces: true,
      ...defined({ user: user?.name, pass: user?.password, tls }),
    });
  } catch (thrown) {
    throw unavailable(thrown);
  }
}

const isMissingStream = (thrown: unknown): boolean =>
  thrown instanceof JetStreamApiError && thrown.code === STREAM_NOT_FOUND;

/** The stream is there and as it must be. One that is missing is never made here: its entries were acknowledged. */
export async function checkStream(connection: NatsConnection, { stream, replicas, answerMs }: JetStreamOptions) {
  try {
    const manager = await jetstreamManager(connection, { timeout: answerMs, checkAPI: false });
    const { config } = await manager.streams.info(stream);
    const faults = streamFaults(config as unknown as Record<string, unknown>, replicas);
    if (faults.length > 0) throw unsafe(faults);
    return manager;
  } catch (thrown) {
    if (isMissingStream(thrown))
      throw OperatingError.conflict("LOG_MISSING", `the stream ${stream} of the replicated log does not exist`, {
        cause: thrown,
        hint: "It is never made anew by itself: restore the servers' folders, or begin a new generation from one replica.",
      });
    throw unavailable(thrown);
  }
}

/** Makes the empty stream of a new cluster, or only looks whether it could; one that is there already is an error. */
export async function createStream(options: JetStreamOptions, isDry = false): Promise<void> {
  const { stream, replicas, answerMs } = options;
  const connection = await connectServers(options);
  try {
    const manager = await jetstreamManager(connection, { timeout: answerMs, checkAPI: false });
    const isThere = await manager.streams.info(stream).then(
      () => true,
      (thrown: unknown) => {
        if (isMissingStream(thrown)) return false;
        throw thrown;
      },
    );
    if (isThere)
      throw OperatingError.conflict("LOG_EXISTS", `the stream ${stream} exists already`, {
        hint: "It may be the log of another cluster: choose another name with RINGRIFT_COORDINATORS_STREAM.",
      });
    if (isDry) return;
    const { subjects, ...settings } = streamSettings(stream, replicas);
    await manager.streams.add({ ...settings, subjects: [...subjects] });
  } catch (thrown) {
    throw unavailable(thrown);
  } finally {
    await connection.close();
  }
}

/** Takes the log of a cluster that is dissolved away. */
export async function deleteStream(options: JetStreamOptions): Promise<void> {
  const connection = await connectServers(options);
  try {
    const manager = await checkStream(connection, options);
    await manager.streams.delete(options.stream);
  } catch (thrown) {
    throw unavailable(thrown);
  } finally {
    await connection.close();
  }
}

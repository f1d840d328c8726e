/** The thread of transfers: what comes, what goes, and what this node serves to others. No byte of it passes the main loop. */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import {
  assert,
  isOperatingError,
  listeningTime,
  messageOf,
  OperatingError,
  systemClock,
  systemRandom,
} from "../../kernel/index.ts";
import type { Source, TransferReport, Transport } from "../../sync/index.ts";
import {
  createBudget,
  createFlusher,
  createGrowingFiles,
  createWays,
  fetchAll,
  openPackStore,
  type PackedFiles,
  putAll,
  transferDefaults,
  transferWorld,
} from "../../sync/transfer/index.ts";
import { createFileMaker } from "./file-maker.ts";
import { createArtifactServer, type ServerRefusal } from "./http/artifact-server.ts";
import { openTransport } from "./open-transport.ts";
import { parkAtRelay, type RelayPlace } from "./relay/relay-client.ts";
import { relayOn } from "./relay/relay-server.ts";
import type { FromThread, ServeOptions, ThreadSettings, ToThread, TransferTerms } from "./transfer-thread.ts";

/** How often the main loop is told how far a transfer is. */
const PROGRESS_MS = 250;

assert(parentPort, "this module runs in a worker thread");
const port = parentPort;
const settings = workerData as ThreadSettings;
const say = (message: FromThread): void => port.postMessage(message);

const clock = systemClock();
let aheadMs = 0;
const bearer = { publicKey: settings.publicKey, privateKey: settings.privateKey };
const limit = settings.maxBytesPerSecond ?? Number.POSITIVE_INFINITY;
const budgetOf = () => createBudget({ bytesPerSecond: limit, clock });
/** What goes; a line carries as much in either direction at once. */
const outgoing = budgetOf();
const maker = createFileMaker();
const flusher = createFlusher();
/** The files of this node that lie together. They are this thread's alone: whoever else wants one asks it. */
const packs =
  settings.packs === undefined
    ? undefined
    : await openPackStore({
        folder: settings.packs.folder,
        landingOf(sha256) {
          const path = join(settings.folder, sha256);
          return { path, part: `${path}.part`, quarantine: settings.packs?.quarantine };
        },
        flusher,
        clock,
        onBroken: (path, why) => say({ type: "broken", path, why }),
      });
const shared = {
  clock,
  random: systemRandom(),
  listening: listeningTime(clock),
  ways: createWays(clock),
  budget: budgetOf(),
  flusher,
  maker,
  packs,
  stallMs: settings.stallMs,
  chunkBytes: transferDefaults.chunkBytes,
  growing: createGrowingFiles(clock),
};

/** Proofs come from the main loop, which has the line to the coordinator and counts what it signs. */
const questions = new Map<number, PromiseWithResolvers<Readonly<Record<string, string>>>>();
let asked = 0;
const coordinator =
  settings.coordinator === undefined
    ? undefined
    : {
        ...settings.coordinator,
        prove(method: string, path: string, refused?: { code: string; details: Readonly<Record<string, unknown>> }) {
          asked += 1;
          const question = Promise.withResolvers<Readonly<Record<string, string>>>();
          questions.set(asked, question);
          const told = refused === undefined ? {} : { refused: { code: refused.code, details: refused.details } };
          say({ type: "prove", question: asked, method, path, ...told });
          return question.promise;
        },
      };

const running = new Map<number, AbortController>();

/** One transfer from beginning to end, with ways of its own to places that all share their breakers. */
async function run(
  id: number,
  { priority, maxBytesPerSecond }: TransferTerms,
  all: readonly { readonly bytes: number }[],
  sources: readonly Source[],
  act: (transports: readonly Transport[], world: ReturnType<typeof transferWorld>) => Promise<TransferReport>,
): Promise<void> {
  const ended = new AbortController();
  running.set(id, ended);
  const transports: Transport[] = [];
  const totals = { files: all.length, bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) };
  let done = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  try {
    const ownLimit = maxBytesPerSecond ?? undefined;
    const tightest = Math.min(ownLimit ?? Number.POSITIVE_INFINITY, limit);
    for (const source of sources)
      transports.push(
        openTransport(source, {
          ...settings,
          clock,
          bearer,
          coordinator,
          maxBytesPerSecond: Number.isFinite(tightest) ? tightest : undefined,
        }),
      );
    const world = transferWorld(shared, {
      signal: ended.signal,
      priority,
      own: ownLimit === undefined ? undefined : createBudget({ bytesPerSecond: ownLimit, clock }),
      onMoved({ name, place }, bytes) {
        done += bytes;
        if (clock.monotonic() - toldAt < PROGRESS_MS) return;
        toldAt = clock.monotonic();
        const filesDone = world.tries().reduce((sum, { files }) => sum + files, 0);
        say({ type: "progress", id, progress: { ...totals, filesDone, bytesDone: done, transport: name, place } });
      },
    });
    say({ type: "report", id, report: await act(transports, world) });
  } catch (thrown) {
    say({ type: "failed", id, message: messageOf(thrown) });
  } finally {
    running.delete(id);
    for (const transport of transports) await transport.close();
  }
}

const { serve } = settings;
const now = () => clock.now() + aheadMs;
const onRefused = (refusal: ServerRefusal) => say({ type: "refused", refusal });
let coordinatorKey = serve?.coordinatorKey;
const serving = (tls: ServeOptions["tls"]) =>
  createArtifactServer({
    folder: settings.folder,
    isFlat: settings.isFlat,
    packs,
    nodeId: settings.nodeId,
    key: () => coordinatorKey,
    clock: { now },
    budget: outgoing,
    growing: shared.growing,
    onRefused,
    ...(tls === undefined ? {} : { tls }),
  });
const server = serve === undefined ? undefined : serving(serve.tls);
/** Who comes through the relay speaks to the relay in TLS, and to nobody else. */
const throughRelay = serve?.tls === undefined ? server : serving(undefined);
const joined = new Set<string>();
if (server !== undefined && serve?.isRelay === true && coordinatorKey !== undefined)
  relayOn(server, {
    key: coordinatorKey,
    isKnown: (nodeId) => joined.has(nodeId),
    clock: { now },
    budget: outgoing,
    onRefused,
  });

let parking: (ReturnType<typeof parkAtRelay> & { readonly relay: RelayPlace }) | undefined;
const parkAt = async (relay: RelayPlace | null): Promise<void> => {
  if (parking?.relay.url === relay?.url && parking?.relay.fingerprint === relay?.fingerprint) return;
  const before = parking;
  parking = undefined;
  await before?.close();
  if (relay === null || throughRelay === undefined || parking !== undefined) return;
  parking = {
    ...parkAtRelay({ relay, bearer, server: throughRelay, clock: { ...clock, now }, random: shared.random }),
    relay,
  };
};
if (serve?.relay !== undefined) void parkAt(serve.relay);

async function answerPacked({ question, ask, about }: ToThread & { readonly type: "packed" }): Promise<void> {
  try {
    assert(packs, "this node keeps no files together");
    const asked = packs[ask] as (...given: readonly unknown[]) => ReturnType<PackedFiles[typeof ask]>;
    say({ type: "packed", question, answer: await asked(...about) });
  } catch (thrown) {
    const code = isOperatingError(thrown) ? thrown.code : "PACKS_FAILED";
    say({ type: "packed", question, failed: { code, message: messageOf(thrown) } });
  }
}

port.on("message", (message: ToThread) => {
  switch (message.type) {
    case "fetch":
      return void run(message.id, message, message.expected, message.sources, (transports, world) =>
        fetchAll(message.expected, transports, world),
      );
    case "put":
      return void run(message.id, message, message.made, [message.to], ([transport], world) =>
        putAll(message.made, transport!, world),
      );
    case "abort":
      return running.get(message.id)?.abort(new Error("it is not wanted any more"));
    case "proof": {
      const question = questions.get(message.question);
      questions.delete(message.question);
      if (message.headers === undefined)
        return question?.reject(OperatingError.unavailable("PLACE_UNREACHABLE", message.error ?? "no proof"));
      return question?.resolve(message.headers);
    }
    case "clock":
      aheadMs = message.aheadMs;
      return;
    case "coordinator":
      coordinatorKey = message.key;
      return void parkAt(message.relay);
    case "known":
      return void joined.add(message.nodeId);
    case "states": {
      const states = { ways: shared.ways.states(), isParked: parking?.isWaiting() ?? false };
      return say({ type: "states", question: message.question, states });
    }
    case "packed":
      return void answerPacked(message);
    case "close":
      return void close();
  }
});

async function close(): Promise<void> {
  for (const ended of running.values()) ended.abort(new Error("it ends"));
  await parking?.close();
  server?.closeAllConnections();
  server?.close();
  shared.listening.stop();
  await maker.close();
  packs?.close();
  port.close();
}

if (server !== undefined && serve !== undefined && serve.host !== null) {
  server.listen(serve.port, serve.host);
  await once(server, "listening");
}
say({ type: "ready", port: (server?.address() as AddressInfo | undefined)?.port ?? null });

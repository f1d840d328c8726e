/** From one coordinator to several, and back: what is done to a data folder on which nothing runs. */
import { randomUUID } from "node:crypto";
import { createWriteStream, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createStream, deleteStream } from "../../adapters/nats/connection.ts";
import { type JetStreamLog, openJetStreamLog } from "../../adapters/nats/jetstream-log.ts";
import { inThreadStore } from "../../adapters/sqlite/in-thread-store.ts";
import { openReplica, positionIn, removeReplica } from "../../adapters/sqlite/replica/replica.ts";
import { installSnapshot } from "../../adapters/sqlite/replica/snapshot.ts";
import { replicaPort } from "../../adapters/sqlite/replica/term-writer.ts";
import { openDatabase, openWriter } from "../../adapters/sqlite/writer.ts";
import { decodeMember } from "../../cluster/leadership/index.ts";
import {
  type Clock,
  isOperatingError,
  makeFolders,
  OperatingError,
  silentLog,
  sleep,
  systemClock,
} from "../../kernel/index.ts";
import type { LogPosition } from "../../router/index.ts";
import {
  CLUSTER_TOKEN_FILE,
  createTokens,
  getSnapshot,
  openLink,
  SNAPSHOT_HEADERS,
  type TlsTrust,
} from "../../surfaces/index.ts";
import { guardDataDir } from "../data-folder/folder-lock.ts";
import { makePrivateFile } from "../data-folder/private-file.ts";
import { writeWhole } from "../data-folder/token.ts";
import { DATABASE_FILE } from "../ground.ts";
import type { Settings } from "../settings.ts";
import { storeModules } from "../store-modules.ts";
import { logOptionsOf } from "./log-options.ts";

export const placeOf = ({ dataDir }: Settings) => join(dataDir, DATABASE_FILE);

/** Holds the folder meanwhile, so that nothing starts on it. */
export async function withFolder<T>(settings: Settings, run: () => Promise<T>): Promise<T> {
  makeFolders(settings.dataDir);
  const guard = guardDataDir(settings.dataDir);
  try {
    return await run();
  } finally {
    guard.release();
  }
}

export const positionOf = (settings: Settings) => {
  if (!existsSync(placeOf(settings))) return undefined;
  const db = openDatabase(placeOf(settings));
  try {
    return positionIn(db);
  } finally {
    db.close();
  }
};

const isMember = (settings: Settings, cluster: string) =>
  OperatingError.conflict("ALREADY_A_MEMBER", `${settings.dataDir} belongs to the cluster ${cluster} already`, {
    hint: "Start it with 'ringrift up'. 'ringrift cluster dissolve' makes it a coordinator by itself.",
  });

export function needServers(settings: Settings): void {
  if (logOptionsOf(settings).servers.length < 3)
    throw OperatingError.invalid("NO_SERVERS", "no nats-servers are named for the shared log", {
      hint: "Let ringrift run them: 'ringrift cluster engine init --peers ...'. Or name your own with RINGRIFT_COORDINATORS_SERVERS and RINGRIFT_COORDINATORS_MONITORS, three addresses each.",
    });
}

/** A stream that is there is that of somebody else, unless an earlier try was cut off before its first entry. */
async function refuseUnlessBegun(thrown: unknown, settings: Settings, before: object | undefined): Promise<void> {
  if (!isOperatingError(thrown, "LOG_EXISTS") || before === undefined) throw thrown;
  const log = await openJetStreamLog({ ...logOptionsOf(settings), clock: systemClock() });
  try {
    if ((await log.last()) > 0) throw thrown;
  } finally {
    await log.close();
  }
}

export interface Made {
  readonly cluster: string;
  readonly generation: number;
  readonly seq: number;
  readonly stream: string;
  readonly applied: boolean;
}

/** The folder of a coordinator by itself, or an empty one, becomes the first of a cluster. */
export const initCluster = (settings: Settings, clock: Clock, isDry: boolean): Promise<Made> =>
  withFolder(settings, async () => {
    needServers(settings);
    const { stream } = settings.coordinators;
    const before = positionOf(settings);
    if (before !== undefined && before.seq > 0) throw isMember(settings, before.cluster);
    const cluster = before?.cluster ?? `c-${randomUUID()}`;
    const made = { cluster, generation: 1, seq: 0, stream, applied: !isDry };
    const log = logOptionsOf(settings);
    // Servers that are unsafe are refused before anything is changed; so is a stream that others use.
    await createStream(log, true).catch((thrown: unknown) => refuseUnlessBegun(thrown, settings, before));
    if (isDry) return made;
    const writer = openWriter(makePrivateFile(placeOf(settings)), storeModules);
    try {
      // Written before the first snapshot is taken, it is good at every coordinator.
      const { token } = await createTokens(inThreadStore(writer, { clock }), clock, silentLog()).issue(
        { label: `cluster ${settings.nodeId}`, scope: "operator" },
        "cluster init",
      );
      writeWhole(join(settings.dataDir, CLUSTER_TOKEN_FILE), `${token}\n`);
      openReplica(writer.db, { cluster, generation: 1 });
    } finally {
      writer.close();
    }
    await createStream(log).catch((thrown: unknown) => refuseUnlessBegun(thrown, settings, before));
    return made;
  });

export interface JoinFrom {
  readonly url: URL;
  readonly trust: TlsTrust;
  readonly token: string;
}

const SNAPSHOT_MS = 600_000;

/** An empty folder gets a copy of the leader's database, and follows from there. */
export const joinCluster = (settings: Settings, from: JoinFrom, clock: Clock, isDry: boolean): Promise<Made> =>
  withFolder(settings, async () => {
    needServers(settings);
    const { dataDir, coordinators } = settings;
    const before = positionOf(settings);
    if (before === undefined && existsSync(placeOf(settings)))
      throw OperatingError.conflict("FOLDER_IN_USE", `${dataDir} is the folder of a coordinator by itself`, {
        hint: "Join with an empty folder: choose another one with --data-dir. Its own data is not merged.",
      });
    const log = await openJetStreamLog({ ...logOptionsOf(settings), clock });
    await log.close();
    const link = openLink({ target: { url: from.url, trust: from.trust }, clock, token: from.token });
    const arrived = join(dataDir, "snapshot.arriving");
    try {
      if (isDry) {
        await link.send("GET", "/v1/cluster");
        return { cluster: "", generation: 0, seq: 0, stream: coordinators.stream, applied: false };
      }
      const answer = await link.open(getSnapshot.path, { line: "file", timeoutMs: SNAPSHOT_MS });
      const said = (key: keyof typeof SNAPSHOT_HEADERS) => String(answer.headers[SNAPSHOT_HEADERS[key]] ?? "");
      await pipeline(answer, createWriteStream(arrived, { mode: 0o600, flush: true }));
      const position = {
        ...{ cluster: said("cluster"), chain: said("chain") },
        ...{ generation: Number(said("generation")), seq: Number(said("seq")), term: Number(said("term")) },
      };
      const bytes = Number(answer.headers["content-length"]);
      await installSnapshot(arrived, { position, sha256: said("sha256"), bytes }, placeOf(settings));
      writeWhole(join(dataDir, CLUSTER_TOKEN_FILE), `${from.token}\n`);
      const { cluster, generation, seq } = position;
      return { cluster, generation, seq, stream: coordinators.stream, applied: true };
    } finally {
      link.close();
      rmSync(arrived, { force: true });
    }
  });

/** Members speak every second. */
const LISTEN_MS = 3_000;

/** Coordinators of a cluster that run now. */
export async function othersHeard(
  log: Pick<JetStreamLog, "members">,
  cluster: string,
  clock: Clock,
): Promise<string[]> {
  const heard = new Set<string>();
  log.members.listen((bytes) => {
    const news = decodeMember(bytes);
    if (news?.cluster === cluster) heard.add(news.name);
  });
  await sleep(clock, LISTEN_MS);
  return [...heard].toSorted();
}

const behind = (seq: number, last: number | undefined): OperatingError =>
  OperatingError.conflict(
    "MEMBER_BEHIND",
    `the shared log has ${last === undefined ? "other entries than this folder" : `entry ${last}`}; this folder has entry ${seq}`,
    { hint: "Start this coordinator until it has caught up, or dissolve from the one that leads." },
  );

/** What a server says of the last entry may be old. Only one that the log takes behind it proves that this folder has all of them. */
async function proveLast(settings: Settings, log: JetStreamLog, at: LogPosition, clock: Clock): Promise<void> {
  const db = openDatabase(placeOf(settings));
  try {
    const boot = randomUUID();
    const port = replicaPort({ replica: openReplica(db, at), modules: storeModules, log, clock, nextId: () => boot });
    const { cluster, generation, term, seq } = at;
    const claimed = await port.claim({ cluster, generation, term: term + 1, boot, node: settings.nodeId });
    if (claimed.claim === "lost") throw behind(seq, claimed.last);
    if (claimed.claim === "unknown")
      throw OperatingError.unavailable(
        "LOG_UNAVAILABLE",
        "the replicated log did not say whether this folder has all of it",
      );
  } finally {
    db.close();
  }
}

/** The folder of the last member becomes that of a coordinator by itself again, and the shared log goes. */
export const dissolveCluster = (settings: Settings, clock: Clock, isDry: boolean): Promise<Made> =>
  withFolder(settings, async () => {
    const before = positionOf(settings);
    if (before === undefined)
      throw OperatingError.conflict("NOT_A_MEMBER", `${settings.dataDir} belongs to no cluster of coordinators`);
    needServers(settings);
    const log = await openJetStreamLog({ ...logOptionsOf(settings), clock });
    try {
      const heard = await othersHeard(log, before.cluster, clock);
      if (heard.length > 0)
        throw OperatingError.conflict("MEMBERS_RUN", `other coordinators still run: ${heard.join(", ")}`, {
          hint: "Stop them first with 'ringrift down' on each machine.",
        });
      const last = await log.last();
      if (last > before.seq) throw behind(before.seq, last);
      if (!isDry) await proveLast(settings, log, before, clock);
    } finally {
      await log.close();
    }
    const made = { ...before, stream: settings.coordinators.stream, applied: !isDry };
    const { cluster, generation, seq, stream, applied } = made;
    if (isDry) return { cluster, generation, seq, stream, applied };
    const db = openDatabase(placeOf(settings));
    try {
      removeReplica(db);
    } finally {
      db.close();
    }
    // What is left of the log is of no use to anybody: this folder has all of it.
    await deleteStream(logOptionsOf(settings)).catch((thrown: unknown) => {
      if (!isOperatingError(thrown, "LOG_MISSING")) throw thrown;
    });
    return { cluster, generation, seq, stream, applied };
  });

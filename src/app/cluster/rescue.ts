/**
 * The ways back: a copy of the whole cluster in a file, a cluster that begins anew from such a file or from the one folder that is left,
 * and a coordinator that leaves. A log that is gone is never made again by itself: whoever wants that says so here, and the new log is of a
 * new generation, which those of the old one refuse.
 */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { createStream, deleteStream } from "../../adapters/nats/connection.ts";
import { openJetStreamLog } from "../../adapters/nats/jetstream-log.ts";
import { beginGeneration, positionIn } from "../../adapters/sqlite/replica/replica.ts";
import { openDatabase, openReader } from "../../adapters/sqlite/writer.ts";
import { type CoordinatorRow, storedCoordinators } from "../../cluster/index.ts";
import { type Clock, defined, isOperatingError, messageOf, OperatingError } from "../../kernel/index.ts";
import type { LogPosition } from "../../router/index.ts";
import {
  CLUSTER_TOKEN_FILE,
  callTo,
  getCluster,
  getSnapshot,
  leaveCluster,
  openLink,
  SNAPSHOT_HEADERS,
} from "../../surfaces/index.ts";
import { makePrivateFile } from "../data-folder/private-file.ts";
import { writeWhole } from "../data-folder/token.ts";
import type { Settings } from "../settings.ts";
import { clusterTokenIn } from "./cluster-token.ts";
import { logOptionsOf } from "./log-options.ts";
import { type JoinFrom, type Made, needServers, othersHeard, placeOf, positionOf, withFolder } from "./setup.ts";

const SNAPSHOT_MS = 600_000;

const notAMember = (dataDir: string) =>
  OperatingError.notFound("NO_MEMBER_HERE", `${dataDir} belongs to no cluster of coordinators`, {
    hint: "Run this on a machine whose data folder has joined one.",
  });

/** What lies beside the file of a snapshot, and says what must be in it. */
const manifestSchema = z.object({
  format: z.literal("ringrift-cluster-snapshot-1"),
  cluster: z.string().min(1).max(200),
  generation: z.int().min(1),
  seq: z.int().min(0),
  term: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().min(1),
  /** The token of the members, so that whoever begins anew from it can speak for them. */
  token: z.string().max(1_000),
});
type Manifest = z.output<typeof manifestSchema>;

const manifestOf = (file: string) => `${file}.json`;

const hashOf = async (path: string): Promise<string> => {
  const digest = createHash("sha256");
  for await (const piece of createReadStream(path)) digest.update(piece as Buffer);
  return digest.digest("hex");
};

const damaged = (file: string, what: string) =>
  OperatingError.internal("SNAPSHOT_DAMAGED", `the snapshot ${file} ${what}`, {
    hint: "Use another one. Nothing was changed.",
  });

const ASK_MS = 5_000;

/** Whoever leads, as one of the coordinators says that this folder knows of. */
export async function findLeader(settings: Settings, clock: Clock): Promise<JoinFrom> {
  if (positionOf(settings) === undefined) throw notAMember(settings.dataDir);
  const token = clusterTokenIn(settings.dataDir);
  const db = openReader(placeOf(settings));
  let known: readonly CoordinatorRow[];
  try {
    known = storedCoordinators({ read: (sql, ...params) => db.prepare(sql).all(...params) as never });
  } finally {
    db.close();
  }
  for (const { url, fingerprint } of known) {
    const trust = defined({ fingerprint: fingerprint ?? undefined });
    const link = openLink({ target: { url: new URL(url), trust }, clock, token });
    try {
      const { leader } = await callTo(link, getCluster, {}, { timeoutMs: ASK_MS });
      if (leader !== null)
        return {
          url: new URL(leader.url),
          trust: defined({ fingerprint: leader.fingerprint ?? undefined }),
          token,
        };
    } catch {
      // The next one may be there.
    } finally {
      link.close();
    }
  }
  throw OperatingError.unavailable("NO_LEADER", "no coordinator that this folder knows of says who leads", {
    hint: `It asked ${known.map(({ url }) => url).join(", ") || "nobody"}. Start at least two coordinators.`,
  });
}

/** Fetches a copy of the leader's database into a file; what belongs to it is written last. */
export async function saveSnapshot(from: JoinFrom, file: string, clock: Clock, isDry: boolean) {
  const path = resolve(file);
  if (existsSync(path) || existsSync(manifestOf(path)))
    throw OperatingError.conflict("FILE_EXISTS", `${path} exists already`, { hint: "Choose another name." });
  const link = openLink({ target: { url: from.url, trust: from.trust }, clock, token: from.token });
  const arriving = `${path}.arriving`;
  try {
    if (isDry) {
      const { cluster, generation, seq } = await link.send<{ cluster: string; generation: number; seq: number }>(
        "GET",
        "/v1/cluster",
      );
      return { file: path, cluster, generation, seq, bytes: 0, applied: false };
    }
    const answer = await link.open(getSnapshot.path, { line: "file", timeoutMs: SNAPSHOT_MS });
    const said = (key: keyof typeof SNAPSHOT_HEADERS) => String(answer.headers[SNAPSHOT_HEADERS[key]] ?? "");
    await pipeline(answer, createWriteStream(arriving, { mode: 0o600, flush: true }));
    const manifest: Manifest = {
      format: "ringrift-cluster-snapshot-1",
      cluster: said("cluster"),
      ...{ generation: Number(said("generation")), seq: Number(said("seq")), term: Number(said("term")) },
      sha256: said("sha256"),
      bytes: Number(answer.headers["content-length"]),
      token: from.token,
    };
    if ((await hashOf(arriving)) !== manifest.sha256) throw damaged(path, "did not arrive as it was sent");
    renameSync(arriving, path);
    writeWhole(manifestOf(path), `${JSON.stringify(manifest)}\n`);
    const { cluster, generation, seq, bytes } = manifest;
    return { file: path, cluster, generation, seq, bytes, applied: true };
  } finally {
    link.close();
    rmSync(arriving, { force: true });
  }
}

async function readSnapshot(file: string): Promise<{ readonly path: string; readonly manifest: Manifest }> {
  const path = resolve(file);
  let given: unknown;
  try {
    given = JSON.parse(readFileSync(manifestOf(path), "utf8"));
  } catch (cause) {
    throw OperatingError.invalid("SNAPSHOT_MISSING", `there is no snapshot ${path}: ${messageOf(cause)}`, {
      hint: `'ringrift cluster snapshot <file>' makes one; ${manifestOf(path)} belongs to it.`,
    });
  }
  const manifest = manifestSchema.safeParse(given);
  if (!manifest.success) throw damaged(path, "has a manifest that is none of ours");
  if (!existsSync(path) || (await hashOf(path)) !== manifest.data.sha256)
    throw damaged(path, "is not what its manifest says");
  return { path, manifest: manifest.data };
}

export interface Anew {
  /** The name of the cluster, typed by whoever decides. */
  readonly confirm: string | undefined;
  /** The log that is there may be deleted. */
  readonly replaceLog: boolean;
}

/** What stands in the way of a new log: coordinators that run, and one that is there. Gives its last entry, null for none. */
async function lookAtLog(settings: Settings, cluster: string, clock: Clock): Promise<number | null> {
  try {
    const log = await openJetStreamLog({ ...logOptionsOf(settings), clock });
    try {
      const heard = await othersHeard(log, cluster, clock);
      if (heard.length > 0)
        throw OperatingError.conflict("MEMBERS_RUN", `other coordinators still run: ${heard.join(", ")}`, {
          hint: "Stop them first with 'ringrift down' on each machine. While one of them leads there is nothing to rescue.",
        });
      return await log.last();
    } finally {
      await log.close();
    }
  } catch (thrown) {
    if (isOperatingError(thrown, "LOG_MISSING")) return null;
    throw thrown;
  }
}

function checkAnew(at: LogPosition, last: number | null, { confirm, replaceLog }: Anew, isDry: boolean): void {
  if (last !== null && !replaceLog)
    throw OperatingError.conflict(
      "LOG_EXISTS",
      `the shared log is there and ends at entry ${last}; here is entry ${at.seq}${last > at.seq ? `: ${last - at.seq} entries would be lost` : ""}`,
      {
        hint:
          last > at.seq
            ? "Start a coordinator with 'ringrift up' and let it catch up. Only if that cannot be: --replace-log deletes the log."
            : "Start it with 'ringrift up'. Only if the log is of no use any more: --replace-log deletes it.",
      },
    );
  if (!isDry && confirm !== at.cluster)
    throw OperatingError.invalid(
      "NOT_CONFIRMED",
      "what the other coordinators have beyond this copy is given up for good",
      { hint: `If you mean it, add --confirm ${at.cluster}` },
    );
}

/** The folder becomes the first of a new generation, with an empty log. */
async function beginAnew(settings: Settings, last: number | null): Promise<Made> {
  const log = logOptionsOf(settings);
  const db = openDatabase(placeOf(settings));
  let now: LogPosition;
  try {
    now = beginGeneration(db);
  } finally {
    db.close();
  }
  if (last !== null) await deleteStream(log);
  await createStream(log);
  const { cluster, generation, seq } = now;
  return { cluster, generation, seq, stream: settings.coordinators.stream, applied: true };
}

/** The one folder that is left begins the cluster anew. */
export const recoverCluster = (settings: Settings, anew: Anew, clock: Clock, isDry: boolean): Promise<Made> =>
  withFolder(settings, async () => {
    needServers(settings);
    const at = positionOf(settings);
    if (at === undefined) throw notAMember(settings.dataDir);
    const last = await lookAtLog(settings, at.cluster, clock);
    checkAnew(at, last, anew, isDry);
    const { cluster, generation, seq } = at;
    if (isDry)
      return { cluster, generation: generation + 1, seq, stream: settings.coordinators.stream, applied: false };
    return beginAnew(settings, last);
  });

/** Where the database of a snapshot stands; refuses one that is not what its manifest says. */
function positionOfSnapshot(path: string, manifest: Manifest): LogPosition {
  const db = new DatabaseSync(path, { readOnly: true });
  let at: LogPosition | undefined;
  try {
    at = positionIn(db);
  } finally {
    db.close();
  }
  if (at === undefined || at.cluster !== manifest.cluster || at.seq !== manifest.seq)
    throw damaged(path, "stands at another entry than its manifest says");
  return at;
}

/** An empty folder begins the cluster anew from a file. */
export async function restoreCluster(
  settings: Settings,
  file: string,
  anew: Anew,
  clock: Clock,
  isDry: boolean,
): Promise<Made> {
  // All that was given is looked at before the folder is made.
  const { path, manifest } = await readSnapshot(file);
  needServers(settings);
  const at = positionOfSnapshot(path, manifest);
  return withFolder(settings, async () => {
    if (existsSync(placeOf(settings)))
      throw OperatingError.conflict("FOLDER_IN_USE", `${settings.dataDir} has a database already`, {
        hint: "Restore into an empty folder: choose another one with --data-dir, or move this one away.",
      });
    const last = await lookAtLog(settings, at.cluster, clock);
    checkAnew(at, last, anew, isDry);
    const { stream } = settings.coordinators;
    if (isDry) return { cluster: at.cluster, generation: at.generation + 1, seq: at.seq, stream, applied: false };
    const place = makePrivateFile(placeOf(settings));
    try {
      await copyFile(path, place);
      writeWhole(join(settings.dataDir, CLUSTER_TOKEN_FILE), `${manifest.token}\n`);
      return await beginAnew(settings, last);
    } catch (thrown) {
      // A folder that is half restored must not pass for a member.
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${place}${suffix}`, { force: true });
      throw thrown;
    }
  });
}

/** A coordinator whose machine is gone is taken out from another one. */
export async function takeOut(from: JoinFrom, name: string, reason: string, clock: Clock, isDry: boolean) {
  const link = openLink({ target: { url: from.url, trust: from.trust }, clock, token: from.token });
  try {
    return await callTo(link, leaveCluster, { params: { name }, body: { reason, dry_run: isDry } });
  } finally {
    link.close();
  }
}

/** A coordinator that is stopped leaves; its folder is set aside, since it would soon be old. */
export const leaveTheCluster = (
  settings: Settings,
  from: JoinFrom,
  reason: string,
  clock: Clock,
  isDry: boolean,
): Promise<{ left: string; members: readonly string[]; set_aside: string | null; applied: boolean }> =>
  withFolder(settings, async () => {
    const at = positionOf(settings);
    if (at === undefined) throw notAMember(settings.dataDir);
    const aside = join(settings.dataDir, `left-${at.cluster}-${at.seq}`);
    const { left, members, applied } = await takeOut(from, settings.nodeId, reason, clock, isDry);
    if (applied) {
      mkdirSync(aside, { recursive: true, mode: 0o700 });
      for (const name of ["coordination.db", "coordination.db-wal", "coordination.db-shm", CLUSTER_TOKEN_FILE])
        if (existsSync(join(settings.dataDir, name))) renameSync(join(settings.dataDir, name), join(aside, name));
    }
    return { left, members, set_aside: aside, applied };
  });

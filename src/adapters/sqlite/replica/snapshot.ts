/**
 * A copy of a replica at one entry of the log, for a machine that has nothing yet or has been away for longer than the log goes back.
 *
 * It is taken beside the writer, which goes on meanwhile. Whoever gets one checks its hash before anything else, then opens it as its
 * own database and follows the log from where the copy stands.
 */
import { createHash } from "node:crypto";
import { closeSync, createReadStream, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { OperatingError } from "../../../kernel/index.ts";
import type { LogPosition } from "../../../router/index.ts";
import { translateFault } from "../faults.ts";
import { openReader } from "../writer.ts";

export interface Snapshot {
  readonly position: LogPosition;
  readonly sha256: string;
  readonly bytes: number;
}

const hashOf = async (path: string): Promise<string> => {
  const digest = createHash("sha256");
  for await (const piece of createReadStream(path)) digest.update(piece as Buffer);
  return digest.digest("hex");
};

const positionIn = (path: string): LogPosition => {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return {
      ...(db
        .prepare("SELECT cluster, generation, seq, term, chain FROM replica_position")
        .get() as unknown as LogPosition),
    };
  } finally {
    db.close();
  }
};

const flush = (path: string): void => {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};

/** Copies the database at `path` as it was last committed. Reads all of it: for a thread of its own. */
export async function takeSnapshot(path: string, into: string): Promise<Snapshot> {
  rmSync(into, { force: true });
  const db = openReader(path);
  try {
    db.prepare("VACUUM INTO ?").run(into);
  } catch (thrown) {
    rmSync(into, { force: true });
    throw translateFault(thrown);
  } finally {
    db.close();
  }
  flush(into);
  return { position: positionIn(into), sha256: await hashOf(into), bytes: statSync(into).size };
}

const damaged = (what: string) =>
  OperatingError.internal("SNAPSHOT_DAMAGED", `the snapshot is not what was announced: ${what}`, {
    hint: "Take another one; this machine keeps what it had.",
  });

/** Makes a snapshot that has arrived the database at `path`; refuses a damaged one, and one that is older than what is there. */
export async function installSnapshot(
  arrived: string,
  { sha256, bytes, position }: Snapshot,
  path: string,
): Promise<void> {
  if (statSync(arrived).size !== bytes) throw damaged(`it has ${statSync(arrived).size} of ${bytes} bytes`);
  if ((await hashOf(arrived)) !== sha256) throw damaged("its hash is another");
  const inside = positionIn(arrived);
  if (inside.seq !== position.seq || inside.chain !== position.chain) throw damaged("it stands at another entry");
  if (existsSync(path)) {
    const here = positionIn(path);
    if (here.cluster !== inside.cluster || here.generation > inside.generation)
      throw OperatingError.conflict(
        "SNAPSHOT_FOREIGN",
        `the snapshot is of ${inside.cluster}, generation ${inside.generation}`,
      );
    if (here.generation === inside.generation && here.seq > inside.seq)
      throw OperatingError.conflict(
        "SNAPSHOT_OLD",
        `the snapshot stands at entry ${inside.seq}; entry ${here.seq} is here`,
      );
  }
  flush(arrived);
  // What the old database still had in its log must not be put into the new one.
  for (const suffix of ["-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  renameSync(arrived, path);
  flush(dirname(path));
}

/** Looks at a backup as whoever will need it: is everything there that it names, and is each byte the one that was written. */

import { createHash } from "node:crypto";
import { isOperatingError } from "../../kernel/index.ts";
import { runSome } from "../transfer/index.ts";
import { COPIED_AT_ONCE } from "./limits.ts";
import { nameOfArtifact, partsOf } from "./manifest.ts";
import { type BackupView, type BackupWorld, backupView, findBackup, openPlace, progressOf } from "./world.ts";

export interface VerifyReport extends BackupView {
  readonly place: string;
  /** Whether bytes were read, or only the listing. */
  readonly read: boolean;
  readonly checked_files: number;
  readonly checked_bytes: number;
  readonly damaged: readonly { readonly sha256: string; readonly why: string }[];
}

export async function verifyBackup(
  world: BackupWorld,
  options: { readonly backup: string | undefined; readonly read: boolean },
): Promise<VerifyReport> {
  const { transport, signal } = world;
  const place = await openPlace(world);
  const found = await findBackup(world, place, options.backup);
  const sizes = new Map(place.listed.map(({ name, bytes }) => [name, bytes]));
  const parts = [...new Map(partsOf(found.manifest!).map((one) => [one.sha256, one])).values()];
  const damaged: { sha256: string; why: string }[] = [];
  const sound = parts.filter((one) => {
    const size = sizes.get(nameOfArtifact(one));
    if (size === one.bytes) return true;
    damaged.push({
      sha256: one.sha256,
      why: size === undefined ? "it is not there" : `it has ${size} bytes, not ${one.bytes}`,
    });
    return false;
  });
  const progress = progressOf(world, "check");
  progress.begin(options.read ? sound : []);
  const readOne = async (one: { readonly sha256: string; readonly bytes: number }): Promise<void> => {
    const hash = createHash("sha256");
    try {
      for await (const chunk of transport.read(one, { start: 0, part: "", signal })) {
        hash.update(chunk);
        progress.moved(chunk.length);
      }
    } catch (thrown) {
      signal.throwIfAborted();
      if (!isOperatingError(thrown, "ARTIFACT_NOT_FOUND") && !isOperatingError(thrown, "ARTIFACT_SIZE")) throw thrown;
      damaged.push({ sha256: one.sha256, why: thrown.message });
      return;
    }
    progress.fileDone();
    if (hash.digest("hex") !== one.sha256) damaged.push({ sha256: one.sha256, why: "its bytes are others" });
  };
  if (options.read)
    await runSome(
      sound.map((one) => () => readOne(one)),
      COPIED_AT_ONCE,
    );
  progress.end();
  return {
    ...backupView(found),
    place: transport.place,
    read: options.read,
    checked_files: parts.length,
    checked_bytes: progress.bytesDone(),
    damaged,
  };
}

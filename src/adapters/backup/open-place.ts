/** The way to a place for backups; one that is new is given its marker first. */
import { readdir } from "node:fs/promises";
import { OperatingError, systemCode } from "../../kernel/index.ts";
import type { BackupPlace, Transport } from "../../sync/index.ts";
import { diskNameOf, folderTransport, markDisk } from "../transports/folder/folder-transport.ts";
import { markBucket, s3Transport } from "../transports/s3/s3-transport.ts";

export const openBackupPlace = (place: BackupPlace): Transport =>
  place.transport === "folder" ? folderTransport(place) : s3Transport(place);

/**
 * Makes a place ours when it is first used. A folder is marked when it is there and empty: one that is missing is a disk that is not
 * mounted, and one with other things in it is somebody else's.
 */
export async function prepareBackupPlace(place: BackupPlace, isFirst: boolean, signal: AbortSignal): Promise<void> {
  if (place.transport === "s3") {
    if (isFirst) await markBucket(place, signal);
    return;
  }
  const { path, disk } = place;
  if ((await diskNameOf(path)) !== undefined || !isFirst) return;
  const names = await readdir(path).catch((thrown: unknown) => {
    throw OperatingError.unavailable(
      "PLACE_NOT_THERE",
      `${path} is no folder that can be read (${systemCode(thrown)})`,
      {
        hint: "Is the disk mounted? Make the folder for backups yourself, once.",
      },
    );
  });
  const others = names.filter((name) => name !== "lost+found" && !name.startsWith("."));
  if (others.length > 0)
    throw OperatingError.conflict("PLACE_TAKEN", `${path} holds other things, such as '${others[0]}'`, {
      hint: "Use an empty folder for backups.",
    });
  await markDisk(path, disk);
}

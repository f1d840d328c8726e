/** Backups as a command sees them: at the place alone, so that it works where nothing runs, and where nothing is left. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { runBackupTask } from "../../adapters/backup/run-on-thread.ts";
import { diskNameOf } from "../../adapters/transports/folder/folder-transport.ts";
import { OperatingError, systemCode } from "../../kernel/index.ts";
import type { BackupReader } from "../../surfaces/backup/command.ts";
import { type BackupPlace, placeNamed, placesOf } from "../../sync/index.ts";
import type { Settings } from "../settings.ts";

const MAX_KEY_BYTES = 4_096;

export function backupReader(cwd: string, settings: () => Settings): BackupReader {
  /** A place of the settings, or a folder that holds backups. */
  const placeOf = async (from: string | undefined): Promise<BackupPlace> => {
    const places = placesOf(settings().backup);
    if (from === undefined || places.some(({ name }) => name === from)) return placeNamed(places, from);
    const path = resolve(cwd, from);
    const disk = await diskNameOf(path);
    if (disk === undefined)
      throw OperatingError.unavailable("PLACE_NOT_THERE", `${path} is no folder with backups`, {
        hint: "Is the disk mounted? A folder with backups has a file .ringrift-disk.",
      });
    return { name: path, transport: "folder", path, disk };
  };
  const secretOf = (keyFile: string | undefined): string | undefined => {
    if (keyFile === undefined) return settings().backup.secret?.reveal();
    try {
      return readFileSync(resolve(cwd, keyFile), "utf8").slice(0, MAX_KEY_BYTES).trim();
    } catch (thrown) {
      throw OperatingError.invalid("USAGE", `--key-file names no file that can be read (${systemCode(thrown)})`);
    }
  };
  return {
    places: () => placesOf(settings().backup).map(({ name }) => name),
    async read(kind, { from, keyFile }, order, options) {
      const at = { place: await placeOf(from), secret: secretOf(keyFile) };
      return (await runBackupTask({ kind, ...at, ...order } as never, options)) as never;
    },
  };
}

/** From settings to places. */
import type { SettingValues } from "../../kernel/settings/index.ts";
import type { backupSettings } from "../settings.ts";
import type { BackupPlace } from "./task.ts";
import { bucketIn } from "./words.ts";

export type BackupSettings = SettingValues<typeof backupSettings>;

/** The disk first: a backup that is near is the one that is restored from. */
export function placesOf(settings: BackupSettings): BackupPlace[] {
  const { folder, disk, s3Url, s3Region, s3AccessKey, s3Secret } = settings;
  const bucket = s3Url === undefined ? undefined : bucketIn(s3Url);
  return [
    ...(folder === undefined ? [] : [{ name: "folder", transport: "folder", path: folder, disk } as const]),
    ...(bucket === undefined || s3AccessKey === undefined || s3Secret === undefined
      ? []
      : [
          {
            name: "s3",
            transport: "s3",
            ...bucket,
            region: s3Region,
            accessKeyId: s3AccessKey,
            secretAccessKey: s3Secret.reveal(),
            disk,
          } as const,
        ]),
  ];
}

/** What is done about backups. */
export const BACKUP_KINDS = ["run", "verify", "prune", "drill"] as const;
export type BackupKind = (typeof BACKUP_KINDS)[number];

/** Endpoint, bucket and prefix of `https://host/bucket/some/prefix`; undefined if it names no bucket. */
export function bucketIn(text: string) {
  const url = new URL(text);
  const [, bucket = "", ...rest] = url.pathname.split("/").map(decodeURIComponent);
  const prefix = rest.filter((part) => part !== "").join("/");
  if (!/^[\w.-]{3,63}$/.test(bucket)) return undefined;
  return { endpoint: url.origin, bucket, prefix: prefix === "" ? "" : `${prefix}/` };
}

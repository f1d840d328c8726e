/** Faults of a disk, whoever meets them: SQLite by its own numbers, everybody else by the codes of the system. */
import { systemCode } from "./durable-files.ts";
import { isOperatingError, messageOf, OperatingError } from "./errors.ts";

export interface DiskFault {
  readonly kind: "unavailable";
  readonly code: "STORE_FULL" | "STORE_READ_ONLY" | "STORE_IO" | "STORE_CANNOT_OPEN";
  readonly says: string;
  readonly hint: string;
}

export const DISK_FULL: DiskFault = {
  kind: "unavailable",
  code: "STORE_FULL",
  says: "the disk is full",
  hint: "Free some space on the disk of the data folder; it then continues by itself.",
};
export const DISK_READ_ONLY: DiskFault = {
  kind: "unavailable",
  code: "STORE_READ_ONLY",
  says: "the data folder is read-only",
  hint: "Make the data folder writable; it then continues by itself.",
};
export const DISK_FAILS: DiskFault = {
  kind: "unavailable",
  code: "STORE_IO",
  says: "the disk failed to read or write",
  hint: "Check the disk (dmesg, smartctl); when it works again, everything continues by itself.",
};
export const DISK_CLOSED: DiskFault = {
  kind: "unavailable",
  code: "STORE_CANNOT_OPEN",
  says: "the data folder cannot be used",
  hint: "Check that it is a folder, that it belongs to you, and that you may write to it. 'ringrift doctor' checks this.",
};

const BY_SYSTEM_CODE: Readonly<Record<string, DiskFault>> = {
  ENOSPC: DISK_FULL,
  EDQUOT: DISK_FULL,
  EROFS: DISK_READ_ONLY,
  EIO: DISK_FAILS,
  EACCES: DISK_CLOSED,
  EPERM: DISK_CLOSED,
  ENOTDIR: DISK_CLOSED,
};

/** Translates what a file operation threw into an error with a code and a next step; others are as told, or pass unchanged. */
export function translateDiskFault(thrown: unknown, otherwise?: DiskFault): unknown {
  const fault = isOperatingError(thrown) ? undefined : (BY_SYSTEM_CODE[systemCode(thrown) ?? ""] ?? otherwise);
  if (fault === undefined) return thrown;
  return new OperatingError(fault.kind, fault.code, `${fault.says} (${messageOf(thrown)})`, {
    cause: thrown,
    hint: fault.hint,
  });
}

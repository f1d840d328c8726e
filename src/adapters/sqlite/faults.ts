import {
  DISK_CLOSED,
  DISK_FAILS,
  DISK_FULL,
  DISK_READ_ONLY,
  type DiskFault,
  isOperatingError,
  messageOf,
  OperatingError,
} from "../../kernel/index.ts";
import type { StoreTrouble } from "../../router/index.ts";

type Known = Pick<DiskFault, "says" | "hint"> &
  (
    | { readonly kind: "unavailable"; readonly code: StoreTrouble }
    | { readonly kind: "internal"; readonly code: "STORE_CORRUPT" }
  );

/** SQLite's primary result codes that a person can do something about. */
const known: Readonly<Record<number, Known>> = {
  5: {
    code: "STORE_LOCKED",
    kind: "unavailable",
    says: "another program holds the database",
    hint: "Close other programs that have coordination.db open.",
  },
  8: DISK_READ_ONLY,
  10: DISK_FAILS,
  11: {
    code: "STORE_CORRUPT",
    kind: "internal",
    says: "the database is damaged",
    hint: "Stop, keep a copy of the data folder, and restore coordination.db from a backup.",
  },
  13: DISK_FULL,
  14: { ...DISK_CLOSED, says: "the database cannot be opened" },
  26: {
    code: "STORE_CORRUPT",
    kind: "internal",
    says: "coordination.db is not a database",
    hint: "Stop, keep a copy of the data folder, and restore coordination.db from a backup.",
  },
};

/** Translates what SQLite threw into an error with a code and a next step; other errors pass unchanged. */
export function translateFault(thrown: unknown): unknown {
  if (isOperatingError(thrown)) return thrown;
  const errcode = (thrown as { errcode?: unknown } | null)?.errcode;
  if (typeof errcode !== "number") return thrown;
  const entry = known[errcode & 0xff];
  if (entry === undefined)
    return OperatingError.internal("STORE_ERROR", messageOf(thrown), { cause: thrown, status: 503 });
  return new OperatingError(entry.kind, entry.code, `${entry.says} (${messageOf(thrown)})`, {
    cause: thrown,
    status: 503,
    hint: entry.hint,
  });
}

const faultCodes: ReadonlySet<string> = new Set(Object.values(known).map(({ code }) => code));

/** Faults of the disk concern every commit; anything else (a broken constraint, a refusal) concerns its own alone. */
export const isStoreFault = (error: unknown): error is OperatingError =>
  isOperatingError(error) && faultCodes.has(error.code);

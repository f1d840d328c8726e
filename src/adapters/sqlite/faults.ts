import { isOperatingError, messageOf, OperatingError } from "../../kernel/index.ts";

interface Known {
  readonly code: string;
  readonly retryable: boolean;
  readonly says: string;
  readonly hint: string;
}

/** SQLite's primary result codes that a person can do something about. */
const known: Readonly<Record<number, Known>> = {
  5: {
    code: "STORE_LOCKED",
    retryable: true,
    says: "another program holds the database",
    hint: "Close other programs that have coordination.db open.",
  },
  8: {
    code: "STORE_READ_ONLY",
    retryable: true,
    says: "the data folder is read-only",
    hint: "Make the data folder writable; publishing resumes by itself.",
  },
  10: {
    code: "STORE_IO",
    retryable: true,
    says: "the disk failed to read or write",
    hint: "Check the disk (dmesg, smartctl); publishing resumes by itself.",
  },
  11: {
    code: "STORE_CORRUPT",
    retryable: false,
    says: "the database is damaged",
    hint: "Stop, keep a copy of the data folder, and restore coordination.db from a backup.",
  },
  13: {
    code: "STORE_FULL",
    retryable: true,
    says: "the disk is full",
    hint: "Free some space; publishing resumes by itself.",
  },
  14: {
    code: "STORE_CANNOT_OPEN",
    retryable: true,
    says: "the database cannot be opened",
    hint: "Check that the data folder exists and may be written.",
  },
  26: {
    code: "STORE_CORRUPT",
    retryable: false,
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
  if (entry === undefined) return new OperatingError("STORE_ERROR", messageOf(thrown), { cause: thrown });
  return new OperatingError(entry.code, `${entry.says} (${messageOf(thrown)})`, {
    cause: thrown,
    retryable: entry.retryable,
    hint: entry.hint,
  });
}

const faultCodes: ReadonlySet<string> = new Set(Object.values(known).map(({ code }) => code));

/** Faults of the disk concern every commit; anything else (a broken constraint, a refusal) concerns its own alone. */
export const isStoreFault = (error: unknown): error is OperatingError =>
  isOperatingError(error) && faultCodes.has(error.code);

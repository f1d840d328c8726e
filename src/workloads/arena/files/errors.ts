import { OperatingError } from "../../../kernel/index.ts";

/** What can be wrong with a file, as stable codes. None of them gets better by trying again. */
export type FileFault =
  | "ARENA_FILE_CORRUPT"
  | "ARENA_FILE_TRUNCATED"
  | "ARENA_FILE_TOO_LARGE"
  | "ARENA_FILE_VERSION"
  | "ARENA_FILE_KIND"
  | "ARENA_FILE_NOT_FOUND";

const HINTS: Readonly<Record<FileFault, string>> = {
  ARENA_FILE_CORRUPT: "Fetch the file again from where it was made; its contents contradict its own description.",
  ARENA_FILE_TRUNCATED: "Fetch the file again; it ends before its contents do.",
  ARENA_FILE_TOO_LARGE: "Split the file, or raise the limit if you trust its origin.",
  ARENA_FILE_VERSION: "Read it with the version of ringrift that wrote it, or write it again with this one.",
  ARENA_FILE_KIND: "Check that the path names the right file for this game.",
  ARENA_FILE_NOT_FOUND: "Check the path.",
};

export const fileFault = (code: FileFault, message: string, cause?: unknown): OperatingError =>
  new OperatingError(code === "ARENA_FILE_NOT_FOUND" ? "not_found" : "internal", code, message, {
    hint: HINTS[code],
    cause,
  });

/** What most faults are: the file contradicts itself. */
export const corrupt = (message: string, cause?: unknown): OperatingError =>
  fileFault("ARENA_FILE_CORRUPT", message, cause);

import { createFileHasher, type FileHasher, OperatingError } from "../../kernel/index.ts";

/** Hashes what programs read and wrote: one for all slots of a worker. */
export const createWorkloadHasher = (): FileHasher =>
  createFileHasher((message) =>
    OperatingError.internal("WORKLOAD_FILE_UNREADABLE", `A file could not be hashed: ${message}.`, {
      retryable: true,
      hint: "Check the disk of this machine.",
    }),
  );

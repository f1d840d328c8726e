import { OperatingError } from "../kernel/index.ts";

export const ARTIFACT_AWAITED = "ARTIFACT_AWAITED";

/** They are somewhere, and not here yet: whoever asks again later finds them, or hears that nobody has them. */
export const awaitedFiles = (sha256s: readonly string[]): OperatingError =>
  OperatingError.unavailable(
    ARTIFACT_AWAITED,
    `${sha256s.length === 1 ? `the file ${sha256s[0]} is` : `${sha256s.length} files are`} not at this coordinator yet`,
    {
      hint: "It fetches them from another coordinator or from a node that has them. 'ringrift cluster members' shows how many it lacks.",
      details: { retryAfterSeconds: 1 },
    },
  );

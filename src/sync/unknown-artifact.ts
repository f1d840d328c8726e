import { OperatingError } from "../kernel/index.ts";

export const unknownArtifact = (sha256: string) =>
  OperatingError.internal("ARTIFACT_UNKNOWN", `the catalog has no artifact ${sha256}`, {
    hint: "Record it in the commit that first speaks of it.",
  });

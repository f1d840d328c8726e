/** What operators may set of artifacts. */
import { seconds, whole } from "../kernel/settings/index.ts";

export const artifactSettings = {
  maxBytes: whole({
    key: "artifacts.most_bytes",
    variable: "RINGRIFT_ARTIFACT_MOST_BYTES",
    min: 1,
    max: 1_000_000_000_000,
    unit: "bytes",
    default: 16 * 1_024 ** 3,
    about: "Size of the largest file that nodes may bring.",
  }),
  graceMs: seconds({
    key: "artifacts.grace",
    variable: "RINGRIFT_ARTIFACT_GRACE",
    min: 60,
    max: 31_536_000,
    default: 600,
    about:
      "How long a file stays after the last one let go of it: champions, the line of training, the window and the batch hold what they need. 'ringrift doctor' says what the rest takes.",
  }),
  strayGraceMs: seconds({
    key: "artifacts.stray_grace",
    variable: "RINGRIFT_ARTIFACT_STRAY_GRACE",
    min: 3_600,
    max: 31_536_000,
    default: 86_400,
    about:
      "How long a file stays that nobody recorded, such as the results of a match, and a part that nobody went on with.",
  }),
};

/** What operators may set of artifacts. */
import { seconds, tagList, whole } from "../kernel/settings/index.ts";

const copiesOf = (what: string, variable: `RINGRIFT_${string}`, copies: number, about: string) =>
  whole({
    key: `artifacts.copies_${what}`,
    variable,
    min: 1,
    max: 20,
    unit: "nodes",
    default: copies,
    about: `Required copies of ${about}, each on another node; copies on rented nodes do not count.`,
  });

export const artifactSettings = {
  maxBytes: whole({
    key: "artifacts.most_bytes",
    variable: "RINGRIFT_ARTIFACT_MOST_BYTES",
    min: 1,
    max: 1_000_000_000_000,
    unit: "bytes",
    default: 16 * 1_024 ** 3,
    about: "Maximum size of a file that nodes may upload.",
  }),
  graceMs: seconds({
    key: "artifacts.grace",
    variable: "RINGRIFT_ARTIFACT_GRACE",
    min: 60,
    max: 31_536_000,
    default: 600,
    about:
      "How long a file stays when nothing needs it any more. Champions, their training history, the window and the current batch keep what they need. 'ringrift doctor' shows how much space the rest takes.",
  }),
  strayGraceMs: seconds({
    key: "artifacts.stray_grace",
    variable: "RINGRIFT_ARTIFACT_STRAY_GRACE",
    min: 3_600,
    max: 31_536_000,
    default: 86_400,
    about: "How long an unrecorded file stays, such as the results of a match or an upload that was never finished.",
  }),
  copies: {
    games: copiesOf("games", "RINGRIFT_COPIES_GAMES", 2, "files of played games"),
    models: copiesOf("models", "RINGRIFT_COPIES_MODELS", 3, "models"),
    samples: copiesOf("samples", "RINGRIFT_COPIES_SAMPLES", 1, "samples of games"),
    rebuildable: copiesOf(
      "rebuildable",
      "RINGRIFT_COPIES_REBUILDABLE",
      1,
      "files that are made again from others: training files, checkpoints and the like",
    ),
    exceptions: tagList({
      key: "artifacts.copies_exceptions",
      variable: "RINGRIFT_COPIES_EXCEPTIONS",
      default: "",
      shown: "none",
      about:
        "Different numbers of copies for some configs, for example `hex8_2p:games:3`, separated by commas; the classes are games, models, samples, rebuildable.",
    }),
  },
};

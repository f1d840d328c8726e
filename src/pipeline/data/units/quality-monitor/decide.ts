import { byPart, type Rejection } from "../../../selfplay/index.ts";
import type { Segment } from "../../../stage/index.ts";
import { addFigures, type Figures } from "../../figures.ts";
import type { Check } from "../../tables.ts";
import { type Accused, accusedIn, type ProducerGames } from "./producers.ts";

/** Why a segment is not used. The books are kept by these words. */
export type RejectReason = "corrupt" | "unreadable" | "rules" | "labels" | "parity" | "producer";

export interface JudgedSegment {
  readonly segment: Segment;
  readonly figures: Figures | null;
  readonly reason: RejectReason | null;
  /** For people. */
  readonly because: string;
}

export interface Judgement {
  /** In the order of parts. */
  readonly segments: readonly JudgedSegment[];
  readonly accused: readonly Accused[];
  /** Producers whose rejected games somebody else has made again, byte for byte: they were what the seeds say. */
  readonly cleared: readonly string[];
}

export interface Case {
  readonly segment: Segment;
  readonly check: Check | undefined;
  /** What is wrong with its files; null if they are sound. */
  readonly damage: string | null;
}

/** What a segment's own files say against it. */
function ownFault({ check, damage }: Case): Pick<JudgedSegment, "reason" | "because"> | null {
  if (damage !== null) return { reason: "corrupt", because: damage };
  if (check === undefined) return null;
  const { figures, unreadable } = check;
  if (figures === null) return { reason: "unreadable", because: unreadable ?? "its files cannot be read" };
  if (figures.illegal_games > 0)
    return { reason: "rules", because: `${figures.illegal_games} of ${figures.games} games break the rules` };
  if (figures.label_errors > 0)
    return { reason: "labels", because: `${figures.label_errors} of ${figures.rows} rows contradict their game` };
  if (figures.parity_failed > 0)
    return {
      reason: "parity",
      because: `${figures.parity_failed} of ${figures.parity_checked} games came out otherwise when played again`,
    };
  return null;
}

/** What each producer made, of the segments that nothing speaks against. */
export function gamesByProducer(
  iteration: number,
  sound: readonly { readonly segment: Segment; readonly figures: Figures | null }[],
): ProducerGames[] {
  const known = sound.flatMap(({ segment, figures }) => (figures === null ? [] : [{ segment, figures }]));
  return [...new Set(known.map(({ segment }) => segment.producer))].map((producer) => {
    const own = known.filter(({ segment }) => segment.producer === producer);
    return {
      producer,
      iteration,
      figures: addFigures(own.map(({ figures }) => figures))!,
      segments: own.map(({ segment }) => ({ part: segment.part, samples: segment.samples_file.sha256 })),
    };
  });
}

const findingText = ({ finding: { test, residual, correctedP } }: Accused): string =>
  `its ${test} differs from the others' by ${residual.toFixed(1)} standard deviations (corrected p ${correctedP.toPrecision(2)})`;

/**
 * Judges a batch: each segment by what its check found, then each producer beside the others. Who is accused by numbers
 * alone has its segments rejected, so that others play them again; when the same bytes come back from somebody else, and
 * nothing is found in them, they follow from the seeds and are good, and the name of the first is cleared. So an accusation
 * by bad luck, or by a check that was wrong itself, costs some games and no more, and never repeats itself for ever.
 */
export function judgeBatch(
  iteration: number,
  cases: readonly Case[],
  earlier: readonly Rejection[],
  history: readonly ProducerGames[],
): Judgement {
  const faults = new Map(cases.map((one) => [one.segment.part, ownFault(one)]));
  const figuresOf = ({ check }: Case) => check?.figures ?? null;
  const reproduced = ({ part, producer, samples_file }: Segment) =>
    earlier.filter(
      (entry) =>
        entry.reason !== "corrupt" &&
        entry.part === part &&
        entry.producer !== producer &&
        entry.samples === samples_file.sha256,
    );
  const sound = cases.filter(({ segment }) => faults.get(segment.part) === null);
  const made = gamesByProducer(
    iteration,
    sound.map((one) => ({ segment: one.segment, figures: figuresOf(one) })),
  );
  const accused = accusedIn(made, history);
  const cleared = new Set(sound.flatMap(({ segment }) => reproduced(segment).map(({ producer }) => producer)));
  const segments = cases.map((one): JudgedSegment => {
    const { segment } = one;
    const figures = figuresOf(one);
    const fault = faults.get(segment.part) ?? null;
    if (fault !== null) return { segment, figures, ...fault };
    const accusation = accused.find(({ producer }) => producer === segment.producer);
    if (accusation === undefined || reproduced(segment).length > 0)
      return { segment, figures, reason: null, because: "" };
    return { segment, figures, reason: "producer", because: findingText(accusation) };
  });
  const guilty = new Set(segments.flatMap(({ segment, reason }) => (reason === null ? [] : [segment.producer])));
  return {
    segments: segments.toSorted((a, b) => byPart(a.segment, b.segment)),
    accused,
    cleared: [...cleared].filter((producer) => !guilty.has(producer)).sort(),
  };
}

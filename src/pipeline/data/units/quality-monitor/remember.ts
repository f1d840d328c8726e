/** What is remembered of producers once a batch is judged, and what is told of the guilty ones. */
import { defined, sumOf } from "../../../../kernel/index.ts";
import { qualities, type Rejection, type Suspect, suspects } from "../../../selfplay/index.ts";
import type { Turn as StageTurn } from "../../../stage/index.ts";
import { afterVerdict, guiltyIn } from "../../suspects.ts";
import type { JudgedSegment, Judgement } from "./decide.ts";
import type { ProducerGames } from "./producers.ts";

export const gamesIn = (judged: readonly JudgedSegment[]): number => sumOf(judged, ({ segment }) => segment.games);

/** Guilty producers are remembered, cleared ones forgotten. */
export function remember(
  turn: StageTurn<"QUALITY_PENALTY_APPLIED">,
  judgement: Judgement,
  history: readonly ProducerGames[],
  earlier: readonly Rejection[],
): void {
  const { row, put, emit, now, log, at, configKey: config_key } = turn;
  const before = row(suspects);
  const after: Record<string, Suspect> = {
    ...afterVerdict(before, { iteration: at.iteration, now, judgement, history, earlier }),
  };
  const games = gamesIn(judgement.segments);
  for (const [producer, reasons] of guiltyIn(judgement, earlier)) {
    const own = judgement.segments.filter(({ segment, reason }) => segment.producer === producer && reason !== null);
    // What was rejected before is told when its maker is found guilty of it, and once.
    const isKnown = before?.[producer]?.last_iteration === at.iteration;
    if (own.length === 0 && isKnown) {
      after[producer] = { ...after[producer]!, ...defined({ rate: before?.[producer]?.rate }) };
      continue;
    }
    const past = isKnown ? [] : earlier.filter((entry) => entry.producer === producer);
    const lost = gamesIn(own) + sumOf(past, (entry) => entry.games);
    const because = own[0]?.because ?? "others' games of the same parts can be read";
    const until = after[producer]!.until_iteration;
    const rate = Math.max(0, 1 - lost / games);
    after[producer] = { ...after[producer]!, rate };
    log.warn("a producer's games are rejected", { config_key, producer, reasons, games: lost });
    emit.QUALITY_PENALTY_APPLIED({
      config_key,
      penalty: Math.min(1, lost / games),
      rate_multiplier: rate,
      reason: `${producer}: ${reasons.join(", ")}: ${because}; it plays nothing before iteration ${until}`,
      ...defined({ quality_score: row(qualities)?.score }),
    });
  }
  if (before !== undefined || Object.keys(after).length > 0) put(suspects, after);
}

export const rejectionOf = ({ segment, reason }: JudgedSegment, attempt: number): Rejection => ({
  attempt,
  part: segment.part,
  work_id: segment.work_id,
  producer: segment.producer,
  games: segment.games,
  reason: reason!,
  samples: segment.samples_file.sha256,
});

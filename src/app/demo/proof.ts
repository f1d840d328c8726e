import { CAUSE, EFFECT } from "./messages.ts";
import type { Stage } from "./stage.ts";

/** What the demo proves in the end, from the journal and from what each process says of itself. */
export interface Proof {
  readonly ok: boolean;
  readonly seconds: number;
  readonly events_per_second: number;
  /** What the publisher was told to be on disk, and what is there. */
  readonly published: { readonly acknowledged: number; readonly in_journal: number };
  readonly data_pipeline: {
    readonly owed: number;
    readonly done: number;
    /** How often it was killed meanwhile. */
    readonly killed: number;
    /** Events that it said because of what it heard. */
    readonly effects: number;
    readonly effects_twice: number;
  };
  readonly scoreboard: {
    readonly owed: number;
    readonly done: number;
    /** Different events that the process itself counted. */
    readonly received: number;
  };
  readonly dead_letters: { readonly appeared: number; readonly recovered: number; readonly left: number };
}

export interface Claims {
  readonly acknowledged: number;
  readonly scoreboardReceived: number;
  readonly elapsedMs: number;
}

export function proofOf(stage: Stage, claims: Claims): Proof {
  const { store } = stage.main.router;
  const one = (sql: string, ...params: (string | number)[]) => store.read<{ n: number }>(sql, ...params)[0]?.n ?? 0;
  const inJournal = one("SELECT count(*) AS n FROM events WHERE event_type = ? AND seq > ?", CAUSE, stage.startSeq);
  const effects = one("SELECT count(*) AS n FROM events WHERE event_type = ? AND seq > ?", EFFECT, stage.startSeq);
  const causes = one(
    "SELECT count(DISTINCT parent_event_id) AS n FROM events WHERE event_type = ? AND seq > ?",
    EFFECT,
    stage.startSeq,
  );
  const pairs = stage.pairs();
  const owedAndDone = (consumer: string) => {
    const states = pairs.get(consumer) ?? {};
    const owed = Object.values(states).reduce((sum, count) => sum + count, 0);
    return { owed, done: states.done ?? 0 };
  };
  const counts = stage.letterCounts();
  const proof = {
    seconds: claims.elapsedMs / 1_000,
    events_per_second: (inJournal + effects) / (claims.elapsedMs / 1_000),
    published: { acknowledged: claims.acknowledged, in_journal: inJournal },
    data_pipeline: {
      ...owedAndDone("data_pipeline"),
      killed: stage.pipeline.kills,
      effects,
      effects_twice: effects - causes,
    },
    scoreboard: { ...owedAndDone("scoreboard"), received: claims.scoreboardReceived },
    dead_letters: {
      appeared: Object.values(counts).reduce((sum, count) => sum + count, 0),
      recovered: counts.recovered,
      left: counts.pending + counts.retrying,
    },
  };
  return { ok: addsUp(proof), ...proof };
}

/** Whether nothing is missing and nothing counted twice. */
export function addsUp({ published, data_pipeline, scoreboard, dead_letters }: Omit<Proof, "ok">): boolean {
  const sent = published.acknowledged;
  return (
    sent > 0 &&
    published.in_journal === sent &&
    data_pipeline.owed === sent &&
    data_pipeline.done === sent &&
    data_pipeline.effects === sent &&
    data_pipeline.effects_twice === 0 &&
    scoreboard.owed === 2 * sent &&
    scoreboard.done === 2 * sent &&
    scoreboard.received === 2 * sent &&
    dead_letters.left === 0
  );
}

import type { HealthView, Unit, UnitHealth, Wiring } from "../../daemons/index.ts";
import type { EventName } from "../../events/index.ts";
import type { Json } from "../../kernel/index.ts";
import type { StateTable } from "../../router/index.ts";
import { type ConfigLook, type ConfigUnitSpec, defineConfigUnit } from "./config-unit.ts";
import { type Iteration, isTurnOf } from "./iteration.ts";
import type { Stage } from "./stages.ts";
import { beginWork, isFor, type StageWork, undertakingOf } from "./work.ts";

/** A look at a config whose turn it is to do a stage. */
export interface Turn<E extends EventName = never> extends ConfigLook<E> {
  readonly at: Iteration;
  /** The name of what this attempt does: its jobs are put out under it, and its events speak of it. */
  readonly jobId: string;
}

/** A turn of the stage that this wiring begins. */
export type TurnOf<W extends Pick<Wiring, "emits">> = Turn<W["emits"][number]>;

type Own = Record<string, Json>;

export interface StageSpec<
  N extends string,
  W extends EventName,
  E extends EventName,
  M extends EventName,
  O extends Own,
> extends Omit<ConfigUnitSpec<N, W, E, M>, "look"> {
  readonly stage: Stage;
  /** The row of the work on it, for each config. Nobody else writes it. */
  readonly work: StateTable<StageWork<O>>;
  /** What an attempt begins with; undefined while it may not begin. */
  begin(turn: Turn<NoInfer<E>>): O | undefined;
  /** The work after one more look at what is there. */
  follow(turn: Turn<NoInfer<E>>, work: StageWork<O>): StageWork<O> | Promise<StageWork<O>>;
  /** Work that has ended, or whose attempt was given up: takes back what it left behind. It is called again and again. */
  leave?(look: ConfigLook<NoInfer<E>>, work: StageWork<O>): void | Promise<void>;
  /** What else it does for a config, whosever turn it is. */
  besides?(look: ConfigLook<NoInfer<E>>): void | Promise<void>;
  /** What people may read about it beside its health. */
  details?(rows: HealthView["rows"]): UnitHealth["details"];
}

/**
 * A unit that does one stage of the loop. It begins when the config's row says that it is the stage's turn and once for each
 * attempt; its work is one row, which it takes a step further at every look until it is done or failed, with what it waits
 * for; it is degraded while the work of a config has failed.
 */
export function defineStage<
  const N extends string,
  const W extends EventName,
  const E extends EventName = never,
  M extends EventName = never,
  O extends Own = Own,
>(spec: StageSpec<N, W, E, M, O>): Unit<N, W | M | "PIPELINE_STAGE_ENTERED", E> {
  const { stage, work: table, begin, follow, leave, besides, details, wakes, state, ...declared } = spec;
  const look = async (look: ConfigLook<E>) => {
    const { at } = look;
    const known = look.row(table);
    const isCurrent = isFor(known, at);
    if (known !== undefined && at !== undefined && (known.state !== "running" || !isCurrent))
      await leave?.(look, known);
    if (isTurnOf(stage, at)) {
      const turn: Turn<E> = { ...look, at, jobId: undertakingOf(look.configKey, at, stage) };
      const own = isCurrent ? undefined : begin(turn);
      const work = isCurrent ? known : own === undefined ? undefined : beginWork(at, look.now, own);
      if (work?.state === "running") look.put(table, await follow(turn, work));
    }
    await besides?.(look);
  };
  return defineConfigUnit({
    health: ({ rows }) => {
      const all = rows.list(table);
      const failed = all.filter(([, work]) => work.state === "failed");
      const message = failed.map(([key, { failure }]) => `${key}: ${failure?.message}`).join("; ");
      const states = all.map(([key, work]) => [key, `${work.iteration} ${work.state}`]);
      return {
        status: failed.length === 0 ? "running" : "degraded",
        message,
        details: details?.(rows) ?? Object.fromEntries(states),
      };
    },
    ...declared,
    state: { tables: { work: table, ...state?.tables } },
    wakes: ["PIPELINE_STAGE_ENTERED", ...wakes],
    look,
  } as ConfigUnitSpec<N, W | "PIPELINE_STAGE_ENTERED", E, M>);
}

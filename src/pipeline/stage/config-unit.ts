import {
  defineDaemon,
  type Emit,
  type ErasedContext,
  onEach,
  type Unit,
  type UnitContext,
  type UnitSpec,
  type Wiring,
} from "../../daemons/index.ts";
import type { BuiltinRows, EventName } from "../../events/index.ts";
import type { Json } from "../../kernel/index.ts";
import type { Cause, StateTable } from "../../router/index.ts";
import { type Iteration, iterations } from "./iteration.ts";
import { type ConfigKey, type ConfigPlan, type ConfigRow, configs } from "./plan.ts";
import { putChanged } from "./rows.ts";

/** What a look at one config works with: the unit's own context, and what is known of the config. */
export interface ConfigLook<E extends EventName = never> extends UnitContext<E> {
  readonly configKey: ConfigKey;
  readonly plan: ConfigPlan;
  readonly paused: ConfigRow["paused"];
  /** Where the config is; undefined before its first round. */
  readonly at: Iteration | undefined;
  /** The config's row of a table. */
  row<T extends Json>(table: StateTable<T>): T | undefined;
  /** Writes the config's row of a table, if it says something new. */
  put<T extends Json>(table: StateTable<T>, row: T): void;
}

/** A look of the unit that this wiring begins. */
export type LookOf<W extends Pick<Wiring, "emits">> = ConfigLook<W["emits"][number]>;

/** Jobs that have come to their end, as a unit hears of it. With `jobs` it is woken by those of that kind alone. */
export const JOB_ENDS = ["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"] as const;

type Work = void | Promise<void>;
type Handler = (event: { payload: object; traceId: string }, context: never) => Work;
type Tables = Readonly<Record<string, StateTable>>;
/** What every unit declares, and what makes it look. */
export interface ConfigUnitSpec<N extends string, W extends EventName, E extends EventName, M extends EventName>
  extends Omit<UnitSpec<N, M, E, never, Tables, undefined, BuiltinRows>, "loop"> {
  /** What may have changed something that it looks at: an event of a config has that one looked at, any other one all. */
  readonly wakes: readonly W[];
  /** The jobs that wake it: those of a kind, or of which this is true. */
  readonly jobs?: string | ((job: { readonly work_type: string; readonly error_code?: string }) => boolean);
  readonly everyMs: number;
  /** One look at one config. The rows are the truth: whatever woke it, and however often, it does the same. */
  look(look: ConfigLook<NoInfer<E>>): Work;
  /** After a tick has looked at every config. */
  afterAll?(context: UnitContext<NoInfer<E>>): Work;
}

/**
 * What is told of a config stays in the trace of its iteration: an event that wakes from elsewhere, or a tick, is no cause
 * that leads back to the games.
 */
function emitIn<E extends EventName>({ emit, rows }: UnitContext<E>, configKey: string, woken?: string): Emit<E> {
  const all = Object.entries(emit as unknown as ErasedContext["emit"]).map(([name, emitOne]) => [
    name,
    (payload: Readonly<Record<string, unknown>>, given?: Cause | null) => {
      const own = rows.get(iterations, configKey)?.cause;
      return emitOne(payload, given !== undefined || own?.traceId === woken ? given : own);
    },
  ]);
  return Object.fromEntries(all) as Emit<E>;
}

const lookOf = <E extends EventName>(
  context: UnitContext<E>,
  configKey: string,
  woken?: string,
): ConfigLook<E> | undefined => {
  const { rows } = context;
  const config = rows.get(configs, configKey);
  if (config === undefined) return undefined;
  return {
    ...context,
    emit: emitIn(context, configKey, woken),
    ...config,
    configKey: configKey as ConfigKey,
    at: rows.get(iterations, configKey),
    row: (table) => rows.get(table, configKey),
    put: (table, row) => void putChanged(rows, table, configKey, row),
  };
};

/**
 * A unit that does one thing for every config: the same look from each event that wakes it and from each tick, so that a lost
 * event costs time and nothing else. It may hear other events besides, by `on`.
 */
export function defineConfigUnit<
  const N extends string,
  const W extends EventName,
  const E extends EventName = never,
  M extends EventName = never,
>(spec: ConfigUnitSpec<N, W, E, M>): Unit<N, W | M, E> {
  const { wakes, jobs, everyMs, look, afterAll, on, ...declared } = spec;
  const lookAt = async (context: UnitContext<E>, configKey: string, woken?: string) => {
    const found = lookOf(context, configKey, woken);
    if (found !== undefined) await look(found);
  };
  const lookAtAll = async (context: UnitContext<E>) => {
    for (const [configKey] of context.rows.list(configs)) await lookAt(context, configKey);
  };
  const wake = async ({ payload, traceId }: { payload: object; traceId: string }, context: UnitContext<E>) => {
    const { config_key, work_type, ...rest } = payload as { config_key?: string; work_type?: string };
    if (jobs !== undefined && work_type !== undefined) {
      const isMine = typeof jobs === "string" ? work_type === jobs : jobs({ work_type, ...rest });
      if (!isMine || config_key === undefined) return;
    }
    await (config_key === undefined ? lookAtAll(context) : lookAt(context, config_key, traceId));
  };
  // What it hears besides comes after the look, where the event wakes it too.
  const more = Object.entries((on ?? {}) as Readonly<Record<string, Handler>>).map(
    ([name, handle]): [string, Handler] => [
      name,
      async (event, context) => {
        if (wakes.some((woken) => woken === name)) await wake(event, context);
        await handle(event, context);
      },
    ],
  );
  return defineDaemon({
    ...declared,
    on: { ...onEach(wakes, wake), ...Object.fromEntries(more) },
    loop: {
      everyMs,
      async tick(context: UnitContext<E>) {
        await lookAtAll(context);
        await afterAll?.(context);
      },
    },
  } as never) as unknown as Unit<N, W | M, E>;
}

import type { Wiring } from "../../../../daemons/index.ts";
import { defined } from "../../../../kernel/index.ts";
import {
  defineConfigUnit,
  everyMs,
  explorationSignals,
  type LookOf,
  type StageServices,
  withKnobs,
} from "../../../stage/index.ts";
import { gatesBefore, judgeGates } from "../../gates.ts";
import { isSteered, knobsOf, putSignals } from "../../knobs.ts";
import { explorations } from "../../tables.ts";

const wiring = {
  name: "exploration_scheduler",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "curriculum",
  alsoKnownAs: ["TemperatureScheduler"],
  dependsOn: ["selfplay_scheduler"],
  emits: ["SCHEDULER_REGISTERED"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

/**
 * Turns the knobs `exploration` (temperature and noise), `search` (the budget of a search) and `positions` (games that begin within earlier
 * ones) of configs whose plan lets it. It reads gates like all that changes what is played; whoever asks for a boost makes it look.
 */
export const explorationScheduler = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { explorationSignals, explorations } },
    wakes: [
      "EXPLORATION_BOOST",
      "EXPLORATION_ADJUSTED",
      "HYPERPARAMETER_UPDATED",
      "CURRICULUM_ADVANCED",
      "PLATEAU_DETECTED",
    ],
    everyMs: everyMs(services, 10_000),
    look: (look) => schedule(services, look),
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: { configs: rows.list(explorations).map(([key]) => key) },
    }),
  });

function schedule({ store }: StageServices, look: Look): void {
  const { rows, row, put, plan, emit, at, configKey: config_key } = look;
  const own = knobsOf(wiring.name);
  if (!own.some((knob) => isSteered(plan, knob))) return;
  putSignals(rows, plan, judgeGates(gatesBefore(store, config_key)), ...own);
  const { temperature } = withKnobs(plan.selfplay, at?.knobs, "exploration");
  const now = typeof temperature === "number" ? temperature : null;
  if (row(explorations) === undefined)
    emit.SCHEDULER_REGISTERED({ config_key, scheduler: "gates", ...defined({ temperature: now ?? undefined }) });
  put(explorations, { scheduler: "gates", temperature: now });
}

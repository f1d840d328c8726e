/** What `/metrics` says of the loop: for each config how strong it is, what it played and learned, and what the gate says. */
import type { ConfigSnapshot, PipelineSnapshot } from "../../pipeline/index.ts";
import type { Define, Reading } from "./figure.ts";

/** Configs, and names within one, come from plans and workloads: so many of them become series. */
const MAX_CONFIGS = 100;
const MAX_NAMES = 64;

const bounded = (values: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(values).slice(0, MAX_NAMES));

const championRating = ({ champion, ladder }: ConfigSnapshot) =>
  champion === null ? undefined : ladder.find(({ player }) => player === champion.model);

const lastVerdict = ({ gates }: ConfigSnapshot) => gates.findLast(({ verdict }) => verdict !== null);

/** The gate under way, or the last one. */
const gateOf = ({ gates }: ConfigSnapshot) => gates.at(-1);

const STATES = ["running", "waiting", "paused", "failed", "complete"] as const;

export function pipelineFigures(gauge: Define, counter: Define, snapshot: () => PipelineSnapshot | undefined): void {
  const each = (read: (config: ConfigSnapshot) => Reading) => () =>
    Object.fromEntries(
      (snapshot()?.configs ?? []).slice(0, MAX_CONFIGS).map((config) => [config.config_key, read(config)]),
    );
  const ofConfig = (name: string, help: string, read: (config: ConfigSnapshot) => Reading, ...labels: string[]) =>
    gauge(name, help, ["config_key", ...labels], each(read));
  const countOf = (name: string, help: string, read: (config: ConfigSnapshot) => Reading, ...labels: string[]) =>
    counter(name, help, ["config_key", ...labels], each(read));

  ofConfig("champion_elo", "Elo of the champion on the ladder of its config.", (config) => championRating(config)?.elo);
  ofConfig("champion_elo_low", "Lower end of its 95 % interval.", (config) => championRating(config)?.low);
  ofConfig("champion_elo_high", "Upper end of its 95 % interval.", (config) => championRating(config)?.high);
  ofConfig("champion_rated_games", "Games that its rating rests on.", (config) => championRating(config)?.games);
  ofConfig(
    "champion_generation",
    "Which champion it is; the untrained one is 0.",
    ({ champion }) => champion?.generation,
  );
  ofConfig("champion_since_timestamp_seconds", "When it was crowned, in Unix seconds.", ({ champion }) =>
    champion === null ? undefined : champion.since / 1_000,
  );

  ofConfig("iteration", "The round of the loop that is under way.", ({ iteration }) => iteration);
  ofConfig(
    "config_state",
    "1 for the state that a config is in.",
    (config) => Object.fromEntries(STATES.map((state) => [state, config.state === state ? 1 : 0])),
    "state",
  );
  ofConfig(
    "config_stage",
    "1 for the stage that a config is at.",
    ({ stages, stage: at }) => Object.fromEntries(stages.map(({ stage }) => [stage, stage === at ? 1 : 0])),
    "stage",
  );
  ofConfig(
    "config_stage_since_timestamp_seconds",
    "Since when it is at that stage, in Unix seconds.",
    (config) => config.stage_since / 1_000,
  );

  countOf("games_produced_total", "Games that were played.", ({ books }) => books.produced);
  ofConfig(
    "games",
    "Games by what became of them.",
    ({ books: { durable, in_flight, rejected } }) => ({
      durable,
      in_flight,
      rejected: Object.values(rejected).reduce((sum, games) => sum + games, 0),
    }),
    "account",
  );
  ofConfig("books_balanced", "1 while produced = durable + in flight + rejected.", ({ books }) =>
    books.balanced ? 1 : 0,
  );
  ofConfig("quality_score", "Quality of the newest games, 0 to 1.", ({ quality }) => quality?.score);

  ofConfig("loss", "What the last training run minimised.", ({ losses }) => losses.at(-1)?.loss ?? undefined);
  ofConfig(
    "training_metric",
    "Every number that the last training run reported, by its name.",
    ({ losses }) => bounded(losses.at(-1)?.metrics ?? {}),
    "name",
  );
  ofConfig(
    "training_progress_metric",
    "Every number that the training run under way said last.",
    ({ training }) => bounded(training?.metrics ?? {}),
    "name",
  );

  ofConfig("gate_llr", "Log-likelihood ratio of the gate under way, or of the last one.", (config) => {
    const gate = gateOf(config);
    return gate?.llr.at(-1);
  });
  ofConfig(
    "gate_bound",
    "At which ratio that gate rejects, and at which it promotes.",
    (config) => {
      const gate = gateOf(config);
      return gate && { lower: gate.lower, upper: gate.upper };
    },
    "bound",
  );
  ofConfig("gate_games", "Games of that gate.", (config) => gateOf(config)?.games);
  ofConfig(
    "gate_elo",
    "Elo of the last candidate that was judged over the champion of then.",
    (config) => lastVerdict(config)?.elo?.estimate,
  );
  ofConfig("gate_elo_low", "Lower end of its interval.", (config) => lastVerdict(config)?.elo?.low);
  ofConfig("gate_elo_high", "Upper end of its interval.", (config) => lastVerdict(config)?.elo?.high);
  ofConfig(
    "gate_verdicts",
    "Verdicts of the gates that are remembered.",
    ({ verdicts }) => ({ ...verdicts }),
    "verdict",
  );
}

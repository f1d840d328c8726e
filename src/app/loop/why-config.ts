import { type Iteration, type LoopSnapshot, STAGES, type UnitWait } from "../../pipeline/index.ts";
import type { Why } from "../../surfaces/index.ts";

type Config = LoopSnapshot["configs"][number];
type Gate = Why["gates"][number];

const show = (value: string | number | null): string => (value === null ? "nothing" : String(value));

/** What a person can do about a wait, by the unit that waits. */
const HINTS: Readonly<Record<string, string>> = {
  pipeline_orchestrator: "'ringrift pipeline' shows its last failures; 'ringrift resume' lets go of one that is held.",
  queue_populator: "'ringrift queue stats' shows how much waits.",
  selfplay_orchestrator: "'ringrift queue list' shows its jobs; 'ringrift nodes list' who could do them.",
  parity_validator: "'ringrift queue list' shows its checks; RINGRIFT_ALLOW_PENDING_GATE lets unchecked games through.",
  quality_monitor_daemon: "'ringrift ledger' shows what was rejected, and why.",
  training_trigger: "It is judged again with every batch of games.",
};

const gateOf = ({ unit, for: what, actual, required, since }: UnitWait): Gate => ({
  gate: `${unit}: ${what}`,
  passed: false,
  actual: show(actual),
  required: show(required),
  since,
  hint: HINTS[unit] ?? null,
});

const doing = ({ stage, stages, iteration }: Config): string => {
  const here = stages.find((each) => each.stage === stage);
  const progress = here?.progress == null ? "" : `, ${Math.round(here.progress * 100)} % of its jobs`;
  return `iteration ${iteration}, ${stage}${progress}`;
};

/** What stands between a config and its next champion: the stages behind it, where it is, and everything that waits. */
function whyConfig(config: Config): Why {
  const done = STAGES.slice(0, STAGES.indexOf(config.stage)).map((stage): Gate => {
    const seconds = config.stages.find((each) => each.stage === stage)?.seconds;
    const actual = seconds == null ? "done" : `done in ${seconds.toFixed(1)} s`;
    return { gate: stage, passed: true, actual, required: "done", since: null, hint: null };
  });
  const waits = (config.waits as readonly UnitWait[]).map(gateOf);
  const isStuck: Iteration["state"][] = ["waiting", "failed", "paused"];
  const here: Gate = {
    gate: config.stage,
    passed: !isStuck.includes(config.state),
    actual: `${config.state}, attempt ${config.attempt}`,
    required: "done before its deadline",
    since: config.stage_since,
    hint: null,
  };
  const [first] = waits;
  const verdict =
    config.state === "complete"
      ? `${config.config_key} is complete after ${config.iteration} iterations`
      : first === undefined
        ? `${config.config_key} is at work: ${doing(config)}`
        : `${config.config_key} waits at ${doing(config)}, for ${first.gate}: ${String(first.actual)}`;
  return {
    subject: config.config_key,
    kind: "config",
    verdict,
    since: first?.since ?? config.stage_since,
    gates: config.state === "complete" ? done : [...done, here, ...waits],
  };
}

/** The answer for a config; undefined for what is none. */
export function whyConfigNamed(subject: string, { configs }: LoopSnapshot): Why | undefined {
  const config = configs.find(({ config_key }) => config_key === subject);
  return config === undefined ? undefined : whyConfig(config);
}

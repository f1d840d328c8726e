import type { Cause } from "../../daemons/index.ts";
import { type ConfigSnapshot, type PipelineSnapshot, STAGES, type UnitWait } from "../../pipeline/index.ts";
import { adviceWords, trendWords } from "../../surfaces/commands/index.ts";
import type { Why } from "../../surfaces/index.ts";
import type { JobView } from "../../work/index.ts";
import { isProgress } from "./config-cause.ts";
import { jobsWords } from "./job-cause.ts";

type Gate = Why["gates"][number];

const show = (value: string | number | null): string => (value === null ? "nothing" : String(value));

/** What a person can do about a wait, by the unit that waits. */
const HINTS: Readonly<Record<string, string>> = {
  pipeline_orchestrator:
    "'ringrift pipeline' shows its last failures. 'ringrift resume' continues a paused config, 'ringrift retry' tries a failed stage again.",
  queue_populator: "'ringrift queue stats' shows how much waits.",
  selfplay_orchestrator: "'ringrift queue list' shows its jobs; 'ringrift nodes list' who could do them.",
  parity_validator: "'ringrift queue list' shows its checks; RINGRIFT_ALLOW_PENDING_GATE lets unchecked games through.",
  quality_monitor_daemon: "'ringrift ledger' shows what was rejected, and why.",
  training_trigger: "It is judged again with every batch of games.",
};

const doing = ({ stage, stages, iteration }: ConfigSnapshot): string => {
  const here = stages.find((each) => each.stage === stage);
  const progress = here?.progress == null ? "" : `, ${Math.round(here.progress * 100)} % of its jobs`;
  return `iteration ${iteration}, ${stage}${progress}`;
};

/** The root as a gate, where no unit of the stage says it itself. */
function rootGate(cause: Cause | null, jobs: readonly JobView[]): Gate[] {
  if (cause === null || ["waits", "paused", "stage_failing", "stage_given_up"].includes(cause.code)) return [];
  const { code, because, subject, actual, required, since, level, advice, what } = cause;
  const isMissing = code === "no_worker";
  return [
    {
      gate: isMissing ? "work_queue: a worker" : `${because.at(-1)?.kind ?? "process"}: ${subject}`,
      passed: false,
      actual: isMissing ? jobsWords(jobs) : (actual ?? what),
      required: required ?? "well",
      since,
      hint: adviceWords(advice),
      in_progress: level === "note",
      advice,
    },
  ];
}

function verdictOf(config: ConfigSnapshot, cause: Cause | null): string {
  const { config_key: key, state, iteration } = config;
  if (state === "complete") return `${key} is complete after ${iteration} iterations`;
  if (cause === null) return `${key} is at work: ${doing(config)}`;
  const [how, what] = [cause.level === "note" ? "is at" : "stands at", cause.what];
  return `${key} ${how} ${doing(config)}: ${what}`;
}

/** What steers it: each knob that is turned, and each measure that stands still or is far off. */
function steeringGates({ steering }: ConfigSnapshot): Gate[] {
  if (steering === undefined) return [];
  const knobs = steering.knobs
    .filter(({ value, held }) => value !== 1 || held !== null)
    .map(({ knob, value, signal, held }) => {
      const why = held === null ? (signal?.reason ?? "") : `held by ${held.by}: ${held.reason}`;
      return { gate: `knob: ${knob}`, actual: `x ${Number(value.toPrecision(3))}; ${why}` };
    });
  const trends = steering.trends
    .filter(({ plateau_since, anomaly }) => plateau_since !== null || anomaly !== null)
    .map((trend) => ({ gate: `trend: ${trend.metric}`, actual: trendWords(trend) }));
  return [...knobs, ...trends].map((each) => ({ ...each, passed: true, required: "any", since: null, hint: null }));
}

/** What stands between a config and its next champion: the root first, the stages behind it, where it is, and all that waits. */
function reportOn(config: ConfigSnapshot, jobs: readonly JobView[], now: number): Why {
  const { config_key: subject, state, cause = null } = config;
  const done = STAGES.slice(0, STAGES.indexOf(config.stage)).map((stage): Gate => {
    const seconds = config.stages.find((each) => each.stage === stage)?.seconds;
    const actual = seconds == null ? "done" : `done in ${seconds.toFixed(1)} s`;
    return { gate: stage, passed: true, actual, required: "done", since: null, hint: null };
  });
  const waits = (config.waits as readonly UnitWait[]).map(
    (wait): Gate => ({
      gate: `${wait.unit}: ${wait.for}`,
      passed: false,
      actual: show(wait.actual),
      required: show(wait.required),
      since: wait.since,
      hint: HINTS[wait.unit] ?? null,
      in_progress: state === "running" && isProgress(wait, jobs, now),
      ...(cause?.code === "paused" || cause?.code === "stage_failing" ? { advice: cause.advice } : {}),
    }),
  );
  const here: Gate = {
    gate: config.stage,
    passed: state === "running" && (cause === null || cause.level === "note"),
    actual: `${state}, attempt ${config.attempt}`,
    required: "done before its deadline",
    since: config.stage_since,
    hint: null,
  };
  const { stability } = config;
  const steady: Gate[] =
    stability === undefined
      ? []
      : [
          {
            gate: "steady gains",
            passed: true,
            actual: `${stability.level}, volatility ${stability.volatility.toFixed(2)} over ${stability.gates} gates`,
            required: `any; the next verdict weighs ${stability.weight.toFixed(2)}`,
            since: null,
            hint: null,
          },
        ];
  const steered = steeringGates(config);
  return {
    subject,
    kind: "config",
    verdict: verdictOf(config, cause),
    since: cause?.since ?? config.stage_since,
    cause,
    gates: state === "complete" ? done : [...rootGate(cause, jobs), ...done, here, ...steady, ...steered, ...waits],
  };
}

/** The answer for a config; undefined for what is none. */
export function whyConfig(
  subject: string,
  { configs, at }: PipelineSnapshot,
  jobsOf: (configKey: string) => readonly JobView[],
): Why | undefined {
  const config = configs.find(({ config_key }) => config_key === subject);
  return config === undefined ? undefined : reportOn(config, jobsOf(subject), at);
}

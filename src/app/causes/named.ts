/** Names before ids: what people read calls a node as they do. */
import type { Cause } from "../../daemons/index.ts";
import type { ConfigSnapshot, ConfigStanding } from "../../pipeline/index.ts";
import type { Why } from "../../surfaces/index.ts";

type Named = (text: string) => string;

const value = <T>(named: Named, given: T): T => (typeof given === "string" ? (named(given) as T) : given);

/** A cause by name, in whatever it says and in what is to be typed. */
export const namedCause = (cause: Cause, named: Named): Cause => ({
  ...cause,
  what: named(cause.what),
  actual: value(named, cause.actual),
  required: value(named, cause.required),
  advice: cause.advice && { ...cause.advice, subject: typed(named, cause.advice.subject) },
  because: cause.because.map((step) => ({ ...step, subject: named(step.subject), what: named(step.what) })),
});

/** A name that several share cannot be typed: then it stays an id. */
const typed = (named: Named, subject: string): string => {
  const name = named(subject);
  return name.includes(" ") ? subject : name;
};

/** Where a config stands, with its waits and failures by name; nothing else of it. */
export const namedStanding = ({ waits, failures, ...config }: ConfigStanding, named: Named): ConfigStanding => ({
  ...config,
  waits: waits.map((wait) => ({
    ...wait,
    for: named(wait.for),
    actual: value(named, wait.actual),
    required: value(named, wait.required),
  })),
  failures: failures.map((failure) => ({ ...failure, message: named(failure.message) })),
});

export const namedSuspects = (suspects: ConfigSnapshot["suspects"], named: Named): ConfigSnapshot["suspects"] =>
  suspects.map((suspect) => ({ ...suspect, label: named(suspect.producer), reason: named(suspect.reason) }));

export const namedWhy = (why: Why, named: Named): Why => ({
  ...why,
  verdict: named(why.verdict),
  cause: why.cause && namedCause(why.cause, named),
  gates: why.gates.map((gate) => ({
    ...gate,
    actual: value(named, gate.actual),
    required: value(named, gate.required),
    hint: value(named, gate.hint),
  })),
});

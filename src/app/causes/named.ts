/** Names before ids: what people read calls a node as they do. */
import type { ConfigSnapshot } from "../../pipeline/index.ts";
import type { Why } from "../../surfaces/index.ts";

type Named = (text: string) => string;

const value = <T>(named: Named, given: T): T => (typeof given === "string" ? (named(given) as T) : given);

/** A config with its waits, failures and suspects by name. */
export const namedConfig = (config: ConfigSnapshot, named: Named): ConfigSnapshot => ({
  ...config,
  waits: config.waits.map((wait) => ({
    ...wait,
    for: named(wait.for),
    actual: value(named, wait.actual),
    required: value(named, wait.required),
  })),
  failures: config.failures.map((failure) => ({ ...failure, message: named(failure.message) })),
  suspects: config.suspects.map((suspect) => ({
    ...suspect,
    label: named(suspect.producer),
    reason: named(suspect.reason),
  })),
});

export const namedWhy = (why: Why, named: Named): Why => ({
  ...why,
  verdict: named(why.verdict),
  gates: why.gates.map((gate) => ({
    ...gate,
    actual: value(named, gate.actual),
    required: value(named, gate.required),
    hint: value(named, gate.hint),
  })),
});

/**
 * The health of the system as one number from 0 to 100: 40 % nodes online, 25 % components, 20 % errors, 15 % repairs that
 * worked. Nothing counts as good for want of news: who is expected and did not report in time is bad.
 */
import type { RecoveryCounts } from "./health-rows.ts";

export interface HealthFacts {
  readonly nodes: {
    readonly known: number;
    /** Those that are late included: most of them come back. */
    readonly online: number;
    readonly missing: readonly string[];
    readonly late: readonly string[];
  };
  readonly components: {
    readonly known: number;
    /** Those whose failure stops the work. */
    readonly badCritical: readonly string[];
    readonly badOther: readonly string[];
  };
  /** Errors of the last five minutes; a critical one counts twice. */
  readonly errors: number;
  readonly recoveries: RecoveryCounts;
}

export interface HealthPart {
  readonly name: "nodes" | "components" | "errors" | "recoveries";
  readonly weight: number;
  /** 0 to 100. */
  readonly score: number;
  readonly message: string;
}

export interface HealthScore {
  readonly score: number;
  readonly parts: readonly HealthPart[];
}

/** So many errors in five minutes leave nothing of the errors' part. */
export const ERROR_BURST = 10;
const PER_CRITICAL = 20;
const PER_OTHER = 5;
const SHOWN = 5;

const named = (names: readonly string[]): string =>
  names.slice(0, SHOWN).join(", ") + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "");

const bounded = (score: number): number => Math.max(0, Math.min(100, score));

const nodesPart = ({ known, online, missing, late }: HealthFacts["nodes"]): HealthPart => ({
  name: "nodes",
  weight: 0.4,
  score: known === 0 ? 0 : bounded((100 * online) / known),
  message:
    known === 0
      ? "no node has reported"
      : [
          `${online - late.length} of ${known} nodes are online`,
          ...(missing.length === 0 ? [] : [`missing: ${named(missing)}`]),
          ...(late.length === 0 ? [] : [`late, not missing yet: ${named(late)}`]),
        ].join("; "),
});

const componentsPart = ({ known, badCritical, badOther }: HealthFacts["components"]): HealthPart => {
  const bad = [...badCritical, ...badOther];
  return {
    name: "components",
    weight: 0.25,
    score: known === 0 ? 0 : bounded(100 - PER_CRITICAL * badCritical.length - PER_OTHER * badOther.length),
    message:
      known === 0
        ? "no component has reported"
        : bad.length === 0
          ? `all of ${known} components do their work`
          : `${bad.length} of ${known} components do not do their work: ${named(bad)}`,
  };
};

const errorsPart = (errors: number): HealthPart => ({
  name: "errors",
  weight: 0.2,
  score: bounded(100 * (1 - errors / ERROR_BURST)),
  message: `${errors === 0 ? "no errors" : errors === 1 ? "1 error" : `${errors} errors`} in five minutes`,
});

const recoveriesPart = ({ succeeded, failed }: HealthFacts["recoveries"]): HealthPart => {
  const all = succeeded + failed;
  return {
    name: "recoveries",
    weight: 0.15,
    score: all === 0 ? 100 : (100 * succeeded) / all,
    message: all === 0 ? "no repair was needed" : `${succeeded} of ${all} repairs worked`,
  };
};

export function scoreOf(facts: HealthFacts): HealthScore {
  const parts = [
    nodesPart(facts.nodes),
    componentsPart(facts.components),
    errorsPart(facts.errors),
    recoveriesPart(facts.recoveries),
  ];
  return { score: Math.round(parts.reduce((sum, { weight, score }) => sum + weight * score, 0)), parts };
}

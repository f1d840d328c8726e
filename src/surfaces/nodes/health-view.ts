import { repairWords } from "../../cluster/recovery/rungs.ts";
import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, sectionLines } from "../cli/table.ts";
import { duration, momentAgo, plural, printable } from "../cli/text.ts";
import type { NodeHealthShown } from "./wire.ts";

const conditionColor = painter({ healthy: "green", degraded: "yellow", unhealthy: "red", evicted: "red" }, "dim");
const verdictColor = painter({ pass: "green", warn: "yellow", fail: "red" }, "dim");

const mayWords = ({ allowed, max_jobs, reason }: NodeHealthShown["may"][number]): string => {
  if (!allowed) return `no: ${printable(reason ?? "")}`;
  return max_jobs === null ? "yes" : `${plural(max_jobs, "job")} at a time: ${printable(reason ?? "")}`;
};

const breakerWords = ({ breaker, openings }: NodeHealthShown["checks"][number]): string => {
  if (breaker === "closed") return "";
  const what = breaker === "open" ? "breaker open" : "breaker half open: one try decides";
  return openings > 1 ? `${what} (${openings} times lately)` : what;
};

/** How a node does, check by check. */
export function nodeHealthLines(node: NodeHealthShown, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const facts: Parameters<typeof factLines>[0] = [
    ["health", `${conditionColor(paint, node.condition)(node.condition)}, since ${momentAgo(node.since, now)}`],
    ["reason", node.reason === null ? null : printable(node.reason)],
    [
      "repair",
      node.repair == null ? null : `${repairWords[node.repair.rung]}, since ${momentAgo(node.repair.since, now)}`,
    ],
    ["seen as", node.state],
    ...node.may.map((use): [string, string] => [`may get ${use.use === "model" ? "a model" : use.use}`, mayWords(use)]),
    ["on trial", node.on_trial ? "it has one job to show that it is well again" : null],
  ];
  const checks = node.checks.map((check) => [
    `  ${check.check}`,
    verdictColor(paint, check.verdict)(check.verdict),
    printable(check.what),
    printable(check.actual),
    paint.dim(duration(Math.max(0, now - check.since))),
    paint.yellow(breakerWords(check)),
  ]);
  return [
    `${paint.bold(printable(node.label))} ${paint.dim(node.node_id)}`,
    ...factLines(facts, shell),
    ...sectionLines("checks", checks, shell),
  ];
}

/** What stands between a daemon and its work, from its row: one gate after the other, in the order in which they are asked. */
import type { DaemonRow } from "./status-report.ts";
import type { WhyReport } from "./why.command.ts";

type Gate = WhyReport["gates"][number];

const sinceOf = (row: DaemonRow, type: string): number | null =>
  row.conditions.find((each) => each.type === type)?.last_transition_at ?? null;

const isUp = ({ state }: DaemonRow) => state === "running" || state === "degraded";

function gatesOf(row: DaemonRow, nowSeconds: number): Gate[] {
  const { name, paused } = row;
  const waits = paused?.startsWith("waits for ") ?? false;
  const root = /^waits for '([^']+)'/.exec(paused ?? "")?.[1];
  const left = row.restart_at === null ? 0 : Math.max(0, row.restart_at - nowSeconds);
  return [
    {
      gate: "somebody wants it",
      passed: row.wanted,
      actual: row.wanted ? "wanted" : "not wanted",
      required: "wanted",
      since: sinceOf(row, "Ready"),
      hint: `'ringrift daemons start ${name}'`,
    },
    {
      gate: "nobody holds it",
      passed: paused === null || waits,
      actual: paused === null || waits ? "no hold" : paused,
      required: "no hold",
      since: sinceOf(row, "Ready"),
      hint: `'ringrift daemons resume ${name}' once the reason is gone`,
    },
    {
      gate: "what it depends on is ready",
      passed: !waits,
      actual: waits
        ? paused
        : row.depends_on.length === 0
          ? "it depends on nothing"
          : `${row.depends_on.join(", ")} ready`,
      required: "all ready",
      since: sinceOf(row, "DependenciesReady"),
      hint: root === undefined ? null : `'ringrift why ${root}'`,
    },
    {
      gate: "it is not given up",
      passed: row.permanently_failed === null,
      actual: row.permanently_failed ?? `${row.restarts} restarts in the last hour`,
      required: `at most ${row.max_restarts} restarts in the last hour`,
      since: sinceOf(row, "PermanentlyFailed"),
      hint: `mend the cause, then 'ringrift daemons reset ${name}'`,
    },
    {
      gate: "its wait before a restart is over",
      passed: row.state !== "restarting",
      actual:
        row.state === "restarting" ? `${left.toFixed(1)} s left, after: ${row.last_error ?? "a failure"}` : "no wait",
      required: "no wait",
      since: sinceOf(row, "Ready"),
      hint: "it starts by itself then",
    },
    {
      gate: "it is ready",
      passed: isUp(row),
      actual: row.state,
      required: "running",
      since: sinceOf(row, "Ready"),
      hint: `'ringrift daemons show ${name}' tells what was done with it`,
    },
    {
      gate: "it is healthy",
      passed: row.state === "running",
      actual: row.health.message === "" ? row.health.status : row.health.message,
      required: "running",
      since: sinceOf(row, "Healthy"),
      hint: `'ringrift logs --unit ${name} --level warn'`,
    },
  ];
}

/** The gates up to the first that does not open: what lies behind it cannot be said yet. */
export function whyDaemon(row: DaemonRow, nowSeconds: number): WhyReport {
  const gates = gatesOf(row, nowSeconds);
  const closed = gates.findIndex(({ passed }) => !passed);
  const verdict = closed === -1 ? "it runs" : isUp(row) ? "it runs, but is not well" : "it does not run";
  return {
    subject: row.name,
    kind: "daemon",
    verdict,
    since: closed === -1 ? row.started_at : gates[closed]!.since,
    gates: closed === -1 ? gates : gates.slice(0, closed + 1),
  };
}

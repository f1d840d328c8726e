import { rungWords } from "../../cluster/recovery/rungs.ts";
import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { ago, duration, percent, plural, printable, wrapText } from "../cli/text.ts";
import type { RecoveryActs, RecoveryPlanShown, RepairAnswer } from "./wire.ts";

const stateColor = painter({ worked: "green", failed: "red", acting: "yellow" }, "dim");

const fleetLine = ({
  nodes,
  unready,
  suspended,
  enabled,
  acts_last_hour,
  acts_per_hour,
}: RecoveryPlanShown): string => {
  const share = nodes === 0 ? "" : ` (${percent(unready / nodes)})`;
  const budget = `${acts_last_hour} of ${acts_per_hour} repairs in the last hour`;
  const mode = suspended
    ? "; suspended: so many are not ready that the network or the coordinator is the problem"
    : enabled
      ? ""
      : "; repair is switched off (recovery.enabled)";
  return `${unready} of ${plural(nodes, "node")} not ready${share}; ${budget}${mode}`;
};

/** What would be done now. */
export function planLines(plan: RecoveryPlanShown, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  if (plan.repairs.length === 0) return ["no node needs repair", paint.dim(fleetLine(plan))];
  const rows = plan.repairs.map((repair) => [
    paint.bold(printable(repair.label)),
    paint.yellow(repair.condition),
    repair.rung,
    duration(Math.max(0, now - repair.rung_since)),
    repair.next === null ? "wait" : paint.bold(repair.next),
    printable(repair.waits ?? (repair.next === null ? "" : rungWords[repair.next])),
  ]);
  const why = plan.repairs.flatMap(({ label, reason, skipped }) =>
    wrapText(`${printable(label)}: ${printable([reason, ...skipped].join("; "))}`, shell.width).map(paint.dim),
  );
  const head = ["NODE", "HEALTH", "STEP", "SINCE", "NEXT", ""];
  return [...tableLines([head, ...rows], shell), "", ...why, fleetLine(plan)];
}

/** What was done, newest first. */
export function historyLines({ acts }: RecoveryActs, shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  if (acts.length === 0) return ["no node was repaired yet"];
  const rows = acts.map((act) => [
    ago(act.begun_at, now),
    paint.bold(printable(act.label)),
    act.rung,
    stateColor(paint, act.state)(act.state),
    printable(act.asked_by),
    printable(act.reason),
    paint.dim(printable(act.outcome ?? "")),
  ]);
  return tableLines([["WHEN", "NODE", "STEP", "STATE", "BY", "REASON", "OUTCOME"], ...rows], shell);
}

export function wishLine({ label, rung, refused, applied }: RepairAnswer): string {
  const what = `${printable(label)}: ${rungWords[rung]}`;
  if (refused !== null)
    return `${what}: not now, because ${printable(refused)}; nothing was changed: this was a dry run`;
  return applied
    ? `${what}: asked for; 'ringrift recovery history' shows it`
    : `${what}; nothing was changed: this was a dry run`;
}

import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, right, sectionLines, tableLines } from "../cli/table.ts";
import { ago, duration, number, plural, printable } from "../cli/text.ts";
import type { FleetCost, FleetMachine, FleetPlan, FleetStatus } from "./wire.ts";

type Look = Pick<Shell, "paint" | "clock" | "width">;

export const usd = (amount: number): string => `${amount.toFixed(amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2)} USD`;

const stateColor = painter({ active: "green", failed: "red", draining: "yellow", returning: "yellow" }, "dim");

const sizeOf = ({ cpus, gpus, gpu_name }: Pick<FleetMachine, "cpus" | "gpus" | "gpu_name">): string =>
  gpus === 0 ? `${cpus} cpu` : `${cpus} cpu, ${gpus} ${printable(gpu_name ?? "gpu")}`;

const moneyFacts = ({
  budget_usd_hour,
  budget_usd_day,
  rate_usd_hour,
  spent_today_usd,
}: Pick<FleetStatus, "budget_usd_hour" | "budget_usd_day" | "rate_usd_hour" | "spent_today_usd">) =>
  [
    ["an hour", `${usd(rate_usd_hour)} of ${usd(budget_usd_hour)}`],
    ["today", `${usd(spent_today_usd)} of ${usd(budget_usd_day)} (UTC)`],
  ] as const;

const NO_BUDGET = "no budget is set: nothing that costs money is rented (fleet.budget_per_hour, fleet.budget_per_day)";

/** Why a machine is as it is, in a few words. */
const about = (machine: FleetMachine, now: number): string => {
  if (machine.error !== null) return printable(machine.error);
  if (machine.return_reason !== null) return printable(machine.return_reason);
  if (machine.state === "active")
    return machine.idle_since === null ? "works" : `idle for ${duration(Math.max(0, now - machine.idle_since))}`;
  return machine.seen_state === null ? "" : `its provider says ${machine.seen_state}`;
};

export function machineLines(machines: readonly FleetMachine[], look: Look): string[] {
  const { paint, clock } = look;
  const now = clock.now();
  const rows = machines.map((machine) => [
    paint.bold(printable(machine.label)),
    printable(machine.provider),
    stateColor(paint, machine.state)(machine.state),
    ago(machine.state_since, now),
    sizeOf(machine),
    right(machine.price_usd_hour.toFixed(3)),
    right(usd(machine.cost_usd)),
    paint.dim(printable(machine.node_id ?? "")),
    about(machine, now),
  ]);
  return tableLines(
    [["MACHINE", "PROVIDER", "STATE", "SINCE", "HAS", right("USD/H"), right("COST"), "NODE", ""], ...rows],
    look,
  );
}

export function statusLines(status: FleetStatus, look: Look): string[] {
  const { machines, providers, min, max, refused } = status;
  const open = machines.filter(({ ended_at }) => ended_at === null);
  const now = look.clock.now();
  const hasBudget = status.budget_usd_hour > 0 && status.budget_usd_day > 0;
  const places = providers.map(({ provider, listed_at, trouble }) => [
    `  ${printable(provider)}`,
    trouble === null
      ? listed_at === null
        ? "not asked yet"
        : `asked ${ago(listed_at, now)}`
      : look.paint.red(printable(trouble)),
  ]);
  return [
    ...factLines(
      [
        ["machines", `${number(open.length)}, at least ${min}, at most ${max}`],
        ...(hasBudget ? moneyFacts(status) : [["budget", NO_BUDGET] as const]),
        ["not rented", refused],
        ["label", status.fleet === null ? null : `rr-${status.fleet}-...`],
      ],
      look,
    ),
    ...(providers.length === 0
      ? ["no provider is set up; docs/45-fleet.md tells how"]
      : sectionLines("providers", places, look)),
    ...(machines.length === 0 ? [] : ["", ...machineLines(machines, look)]),
  ];
}

export function planLines(plan: FleetPlan, look: Look): string[] {
  const { takes, offers, trouble } = plan;
  const row = (offer: FleetPlan["offers"][number]) => [
    printable(offer.provider),
    printable(offer.offer_id),
    printable(offer.region ?? ""),
    sizeOf(offer),
    right(offer.price_usd_hour.toFixed(3)),
    offer.refusal == null ? look.paint.green("may be rented") : look.paint.yellow(printable(offer.refusal)),
  ];
  const head = ["PROVIDER", "OFFER", "REGION", "HAS", right("USD/H"), ""];
  const rented = takes.filter(({ refusal }) => refusal == null).length;
  return [
    ...factLines([...moneyFacts(plan)], look),
    "",
    takes.length === 0 ? "nothing that fits is offered" : `would rent ${plural(rented, "machine")}:`,
    ...(takes.length === 0 ? [] : tableLines([head, ...takes.map(row)], look)),
    "",
    ...(offers.length === 0 ? [] : ["offered, cheapest first:", ...tableLines([head, ...offers.map(row)], look)]),
    ...trouble.map(({ provider, message }) => look.paint.red(`${printable(provider)}: ${printable(message)}`)),
  ];
}

export function costLines(cost: FleetCost, look: Look): string[] {
  const { days, providers, machines } = cost;
  // A day of the budget is one of UTC, whatever the time of the reader is.
  const spent = days.map(({ day, usd: sum }) => [`  ${new Date(day).toISOString().slice(0, 10)}`, right(usd(sum))]);
  const by = providers.map(({ provider, machines: count, usd: sum }) => [
    `  ${printable(provider)}`,
    right(plural(count, "machine")),
    right(usd(sum)),
  ]);
  const each = machines.map((machine) => [
    `  ${printable(machine.label)}`,
    machine.state,
    right(usd(machine.usd)),
    right(machine.games_last_day === null ? "" : plural(machine.games_last_day, "game")),
    right(machine.usd_per_1000_games === null ? "" : `${usd(machine.usd_per_1000_games)} for 1,000`),
  ]);
  return [
    ...factLines([...moneyFacts(cost)], look),
    ...sectionLines("days (UTC)", spent, look),
    ...sectionLines("providers", by, look),
    ...sectionLines("machines, games of the last day", each, look),
  ];
}

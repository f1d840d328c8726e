import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../../daemons/index.ts";
import type { PayloadFor } from "../../../../events/index.ts";
import { isOperatingError, messageOf, type OperatingError } from "../../../../kernel/index.ts";
import { dayStart, judgeSpending } from "../../budget.ts";
import { nextStep, type Step } from "../../decide.ts";
import { machineLimits, provisionerLimits } from "../../limits.ts";
import type { MachineRow } from "../../machine.ts";
import { changeMachine, machinesSince, openMachines } from "../../machine-rows.ts";
import type { MachineOffer } from "../../provider.port.ts";
import type { FleetServices } from "../../services.ts";
import { budgetsTold, fleetPlans } from "../../state.ts";
import { endSurplus } from "../../terminate.ts";
import { createMachine } from "./create.ts";
import { decideGrowth } from "./decide.ts";

const wiring = {
  name: "provisioner",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["AVAILABILITY_PROVISIONER", "AVAILABILITY_CAPACITY_PLANNER", "P2P_AUTO_DEPLOY"],
  alsoKnownAs: ["Provisioner", "CapacityPlanner", "AutoScaler", "P2PAutoDeployer"],
  dependsOn: ["multi_provider", "resource_coordinator"],
  emits: ["NODE_PROVISIONED", "NODE_PROVISION_FAILED", "BUDGET_ALERT", "BUDGET_EXCEEDED"],
} as const satisfies Wiring;

type Context = ContextOf<typeof wiring>;
type Provisioned = PayloadFor<"NODE_PROVISIONED">;
const FLEET = "fleet" as PayloadFor<"BUDGET_ALERT">["scope"];
const BACKLOG = "backlog";
const DECISION = "decision";
const ACCELERATORS = "accelerators";
const MAX_BILLED = 10_000;

const offerOf = (row: MachineRow): Partial<MachineOffer> => JSON.parse(row.offer) as Partial<MachineOffer>;

/**
 * Rents machines, and nothing else does. A row is written and its money counted first; then its provider is asked, once; then it is
 * waited for until it is a node. It stops by itself when the money of the hour or the day is used up.
 */
export const provisionerDaemon = (services: FleetServices, limits = provisionerLimits) => {
  const { store, settings, inventory, nodesByLabel } = services;

  const tellFailed = ({ emit }: Context, row: MachineRow, thrown: unknown) => {
    const { gpu_name } = offerOf(row);
    emit.NODE_PROVISION_FAILED({
      provider: row.provider as Provisioned["provider"],
      error: (messageOf(thrown) || "it failed").slice(0, 500),
      retryable: isOperatingError(thrown) ? thrown.retryable : true,
      ...(gpu_name ? { gpu_name } : {}),
      ...(row.machine_id === null ? {} : { instance_id: row.machine_id }),
    });
  };

  const tellProvisioned = ({ emit }: Context, row: MachineRow) => {
    const { gpu_name, gpus } = offerOf(row);
    emit.NODE_PROVISIONED({
      node_id: row.node_id as Provisioned["node_id"],
      provider: row.provider as Provisioned["provider"],
      instance_id: row.machine_id ?? row.label,
      cost_per_hour_usd: row.price_usd_hour,
      ...(gpu_name ? { gpu_name } : {}),
      ...(gpus === undefined ? {} : { gpus }),
      ...(row.address === null ? {} : { address: row.address }),
    });
  };

  /** Told once for each day; whatever is refused for want of money is one more reason. */
  const tellMoney = ({ rows, emit, now }: Context, refusal: OperatingError | undefined) => {
    const { usdPerDay, usdPerHour } = settings.budget;
    if (usdPerDay <= 0) return;
    const day = dayStart(now);
    const billed = machinesSince(store, now - machineLimits.billedBackMs, MAX_BILLED);
    const { spentUsd, rateUsdHour, isClose, mustGo } = judgeSpending(billed, settings.budget, now);
    const told = rows.get(budgetsTold, String(day)) ?? { alert: false, exceeded: false };
    const isOver = mustGo.length > 0 || refusal?.code === "BUDGET_DAY";
    const spent = { scope: FLEET, period: "day" as const, spent_usd: spentUsd, limit_usd: usdPerDay };
    if (isClose && !told.alert) emit.BUDGET_ALERT(spent);
    if (isOver && !told.exceeded) emit.BUDGET_EXCEEDED(spent);
    if (refusal?.code === "BUDGET_HOUR")
      emit.BUDGET_ALERT({ scope: FLEET, period: "hour", spent_usd: rateUsdHour, limit_usd: usdPerHour });
    const news = { alert: told.alert || isClose, exceeded: told.exceeded || isOver };
    if (JSON.stringify(news) === JSON.stringify(told)) return;
    rows.put(budgetsTold, String(day), news);
    for (const [key] of rows.list(budgetsTold)) if (Number(key) < day) rows.delete(budgetsTold, key);
  };

  /** Wants more machines where there are too few. */
  const grow = async (context: Context): Promise<OperatingError | undefined> => {
    const { rows, now, signal, log } = context;
    const since = rows.get(fleetPlans, BACKLOG)?.since ?? null;
    const missingGpus = Number(rows.get(fleetPlans, ACCELERATORS)?.reason ?? 0);
    const growth = decideGrowth(openMachines(store), { ...services.demand(), missingGpus }, settings, since, now);
    if (growth.backlogSince !== since)
      if (growth.backlogSince === null) rows.delete(fleetPlans, BACKLOG);
      else rows.put(fleetPlans, BACKLOG, { since: growth.backlogSince, reason: growth.reason, refused: null });
    if (growth.count === 0) return undefined;
    const offers = await services.choose(growth.count, { minGpus: growth.minGpus }, signal);
    const { rows: made, refusal } = await services.intend(offers, "provisioner", growth.reason);
    const refused = refusal?.message ?? (offers.length === 0 ? "nothing that fits is offered" : null);
    const before = rows.get(fleetPlans, DECISION);
    if (before?.reason !== growth.reason || before.refused !== refused)
      rows.put(fleetPlans, DECISION, { since: now, reason: growth.reason, refused });
    if (made.length > 0) log.info(`${made.length} machines are wanted`, { reason: growth.reason });
    return refusal;
  };

  const apply = (context: Context, row: MachineRow, { changes, told }: Step) => {
    if (changes === undefined) return;
    context.rows.apply(changeMachine({ label: row.label, from: row.state, changes }));
    const now = { ...row, ...changes };
    if (told === "provisioned") tellProvisioned(context, now);
    if (told === "failed") tellFailed(context, now, new Error(now.error ?? "it failed"));
  };

  const settle = async (context: Context) => {
    const { signal, now } = context;
    const nodes = nodesByLabel();
    let creates = 0;
    for (const row of openMachines(store)) {
      if (row.state !== "intended" && row.state !== "requested" && row.state !== "starting") continue;
      const step = nextStep(services.view(row, nodes));
      if (step.surplus !== undefined && step.surplus.length > 0) await endSurplus(services, row, step.surplus, signal);
      apply(context, row, step);
      if (step.act !== "create" || creates >= limits.createsAtOnce) continue;
      creates += 1;
      const failed = await createMachine(services, row, signal);
      if (failed === undefined) continue;
      const { thrown, from } = failed;
      const error = messageOf(thrown).slice(0, 500);
      const changes = { state: "failed" as const, state_since: now, ended_at: now, error };
      context.rows.apply(changeMachine({ label: row.label, from, changes }));
      tellFailed(context, row, thrown);
    }
  };

  const look = async (context: Context) => {
    if (inventory.names().length === 0 && openMachines(store).length === 0) return;
    tellMoney(context, await grow(context));
    await settle(context);
  };
  /** Somebody is missing, so that what waits has waited long enough. */
  const hasten = (_: unknown, { rows, now }: Context) => {
    const backlog = rows.get(fleetPlans, BACKLOG);
    const since = now - settings.growAfterMs;
    if (backlog !== undefined && backlog.since > since) rows.put(fleetPlans, BACKLOG, { ...backlog, since });
  };
  const lacks = ({ rows, now }: Context, gpus: number) => {
    if (gpus > 0) rows.put(fleetPlans, ACCELERATORS, { since: now, reason: String(gpus), refused: null });
    else if (rows.get(fleetPlans, ACCELERATORS) !== undefined) rows.delete(fleetPlans, ACCELERATORS);
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { budgetsTold, fleetPlans } },
    on: {
      ...onEach(["TRAINING_SLOT_UNAVAILABLE", "P2P_NODES_DEAD", "RECOVERY_FAILED"], hasten),
      // One that is gone costs nothing more: how the money stands is told from its row.
      ...onEach(["NODE_RETIRED", "NODE_TERMINATED"], (_, context: Context) => tellMoney(context, undefined)),
      CAPACITY_LOW: ({ payload: { gpus, required_gpus } }, context) => lacks(context, required_gpus - gpus),
      CAPACITY_RESTORED: (_, context) => lacks(context, 0),
    },
    loop: { everyMs: limits.everyMs, tick: look },
    health: ({ rows, now }) => {
      const open = openMachines(store);
      const refused = rows.get(fleetPlans, DECISION)?.refused ?? null;
      const late = open.filter(({ state, state_since }) => state === "requested" && now - state_since > 600_000);
      const details = { machines: open.length, unsure: late.length, refused };
      return late.length === 0
        ? { status: "running", message: "", details }
        : {
            status: "degraded",
            message: `whether ${late[0]!.provider} made ${late[0]!.label} is not known for ${Math.round((now - late[0]!.state_since) / 60_000)} min`,
            details,
          };
    },
  });
};

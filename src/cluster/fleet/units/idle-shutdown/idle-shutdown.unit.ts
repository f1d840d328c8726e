import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../../daemons/index.ts";
import type { PayloadFor } from "../../../../events/index.ts";
import { messageOf } from "../../../../kernel/index.ts";
import { judgeSpending } from "../../budget.ts";
import { type FleetNode, nextStep } from "../../decide.ts";
import { idleLimits, machineLimits } from "../../limits.ts";
import type { MachineChanges, MachineRow } from "../../machine.ts";
import { changeMachine, machinesSince, openMachines } from "../../machine-rows.ts";
import type { Burden, FleetServices } from "../../services.ts";
import { endSurplus, terminateMachine } from "../../terminate.ts";
import { decideReturns, type IdleFacts, whyNotYet } from "./decide.ts";

const wiring = {
  name: "idle_shutdown",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["LAMBDA_IDLE", "VAST_IDLE"],
  alsoKnownAs: ["IdleShutdownDaemon", "IdleShutdown", "UnifiedIdleShutdownDaemon"],
  dependsOn: ["multi_provider"],
  emits: ["NODE_TERMINATED"],
} as const satisfies Wiring;

interface Cache {
  /** When a node was last heard to take work. */
  readonly busyAt: Map<string, number>;
  /** Machines that cannot go yet, and why. */
  waits: readonly string[];
  /** The day's money is used up, or was, as somebody told: machines are looked at for it. */
  isShort: boolean;
}
type Context = ContextOf<typeof wiring, Cache>;
type Terminated = PayloadFor<"NODE_TERMINATED">;

const MAX_BILLED = 10_000;
const MAX_HEARD = 10_000;

/**
 * Returns machines that have nothing to do, the dearest first, and those for which there is no money left. A machine is drained, sends
 * home what lies there alone, and is ended at its provider until its provider shows it no more.
 */
export const idleShutdown = (services: FleetServices, limits = idleLimits) => {
  const { store, settings, nodesByLabel, log } = services;

  const burdenOf = async (row: MachineRow): Promise<Burden | undefined> => {
    try {
      return row.node_id === null ? undefined : await services.burden(row.node_id);
    } catch (thrown) {
      log.warn(`what ${row.label} holds could not be asked`, { error: messageOf(thrown) });
      return undefined;
    }
  };

  const change = ({ rows }: Context, row: MachineRow, changes: MachineChanges) =>
    rows.apply(changeMachine({ label: row.label, from: row.state, changes }));

  const sendAway = (context: Context, row: MachineRow, reason: string, by: string) => {
    const { now } = context;
    context.log.info(`${row.label} goes: ${reason}`, { provider: row.provider, price_usd_hour: row.price_usd_hour });
    const base = { state_since: now, return_reason: reason, return_by: by };
    if (row.state === "active") change(context, row, { ...base, state: "draining" });
    else if (row.state === "intended") change(context, row, { ...base, state: "failed", ended_at: now, error: reason });
    else change(context, row, { ...base, state: "returning", forced: 1 });
  };

  /** Machines that must go so that the day's money lasts. */
  const saveMoney = (context: Context, rows: readonly MachineRow[]): Set<string> => {
    const { now } = context;
    const billed = machinesSince(store, now - machineLimits.billedBackMs, MAX_BILLED);
    const { mustGo } = judgeSpending(billed, settings.budget, now);
    const going = new Set<string>();
    for (const { label } of mustGo) {
      const row = rows.find((one) => one.label === label);
      // Whether one was made that has only been asked for is seen first.
      if (row === undefined || row.state === "requested" || row.state === "returning") continue;
      if (row.state === "draining") {
        if (row.return_by !== "budget") change(context, row, { return_by: "budget", state_since: now });
      } else sendAway(context, row, "the money of the day is used up", "budget");
      going.add(label);
    }
    return going;
  };

  const shrink = async (context: Context, rows: readonly MachineRow[], nodes: ReadonlyMap<string, FleetNode>) => {
    const { now, cache } = context;
    const facts: IdleFacts[] = [];
    for (const row of rows)
      if (row.state === "active")
        facts.push({
          row,
          node: nodes.get(row.label),
          burden: await burdenOf(row),
          busyAt: cache.busyAt.get(row.node_id ?? "") ?? 0,
        });
    const { idle, goes } = decideReturns(
      facts,
      openMachines(store),
      { ...settings, foreseen: services.demand().foreseen },
      now,
    );
    const leaves = new Set(goes.map(({ row }) => row.label));
    for (const { row, since } of idle) if (!leaves.has(row.label)) change(context, row, { idle_since: since });
    for (const { row, reason } of goes) sendAway(context, row, reason, "idle_shutdown");
  };

  /** A drained one goes once nothing is there any more that somebody needs. */
  const evacuate = async (context: Context, row: MachineRow, node: FleetNode | undefined) => {
    const { now } = context;
    const reason = row.return_reason ?? "it is returned";
    if (node !== undefined && !node.draining && (node.state === "online" || node.state === "suspect"))
      await services.drain(node.node_id, reason);
    const why = whyNotYet({ row, node, burden: await burdenOf(row) }, limits, now);
    if (why === undefined) change(context, row, { state: "returning", state_since: now });
    return why === undefined ? [] : [`${row.label}: ${why}`];
  };

  const tell = ({ emit, now }: Context, row: MachineRow) => {
    if (row.node_id === null) return;
    emit.NODE_TERMINATED({
      node_id: row.node_id as Terminated["node_id"],
      provider: row.provider as Terminated["provider"],
      reason: row.return_reason ?? "it is gone",
      cost_per_hour_usd: row.price_usd_hour,
      ...(row.machine_id === null ? {} : { instance_id: row.machine_id }),
      ...(row.idle_since === null ? {} : { idle_seconds: Math.max(0, (now - row.idle_since) / 1_000) }),
    });
  };

  const settle = async (context: Context, row: MachineRow, nodes: ReadonlyMap<string, FleetNode>): Promise<boolean> => {
    const { signal } = context;
    const { changes, act, told, surplus = [] } = nextStep(services.view(row, nodes));
    if (surplus.length > 0) await endSurplus(services, row, surplus, signal);
    if (changes !== undefined) change(context, row, changes);
    if (told === "terminated") tell(context, { ...row, ...changes });
    if (act === "terminate") await terminateMachine(services, row, signal);
    return changes?.state !== undefined;
  };

  const look = async (context: Context) => {
    const { cache, afterCommit } = context;
    const nodes = nodesByLabel();
    const moved = new Set<string>();
    const waits: string[] = [];
    const before = openMachines(store);
    if (before.length === 0) return;
    for (const row of before)
      if (row.state === "active" || row.state === "draining" || row.state === "returning")
        if (await settle(context, row, nodes)) moved.add(row.label);
    const rows = before.filter(({ label }) => !moved.has(label));
    const going = saveMoney(context, rows);
    const rest = rows.filter(({ label }) => !going.has(label));
    await shrink(context, rest, nodes);
    for (const row of rest)
      if (row.state === "draining") waits.push(...(await evacuate(context, row, nodes.get(row.label))));
    const nodeIds = new Set(before.map(({ node_id }) => node_id));
    afterCommit(() => {
      Object.assign(cache, { waits, isShort: going.size > 0 });
      for (const nodeId of cache.busyAt.keys()) if (!nodeIds.has(nodeId)) cache.busyAt.delete(nodeId);
    });
  };

  /** A node that takes something is not idle, also when it is done with it before the next look. */
  const heard = ({ payload }: { payload: { node_id?: string | undefined } }, { cache, now, afterCommit }: Context) =>
    afterCommit(() => {
      if (payload.node_id === undefined || cache.busyAt.size >= MAX_HEARD) return;
      cache.busyAt.set(payload.node_id, now);
    });

  return defineDaemon({
    ...wiring,
    state: { cache: (): Cache => ({ busyAt: new Map(), waits: [], isShort: false }) },
    on: {
      ...onEach(["WORK_CLAIMED", "WORK_STARTED", "TASK_SPAWNED", "TRAINING_STARTED", "SELFPLAY_COMPLETE"], heard),
      NODE_PROVISIONED: heard,
      BUDGET_EXCEEDED(_, { cache, afterCommit }) {
        afterCommit(() => {
          cache.isShort = true;
        });
      },
    },
    loop: { everyMs: limits.everyMs, tick: look },
    health: ({ cache: { waits, isShort } }) => {
      const open = openMachines(store);
      const going = open.filter(({ state }) => state === "draining" || state === "returning");
      const stuck = going.find(({ terminate_tries }) => terminate_tries >= 3);
      const details = { machines: open.length, going: going.length, waits: [...waits], short_of_money: isShort };
      return stuck === undefined
        ? { status: "running", message: waits[0] ?? "", details }
        : { status: "degraded", message: `${stuck.label} cannot be returned: ${stuck.error ?? "no answer"}`, details };
    },
  });
};

import type { DaemonManager } from "../../daemons/index.ts";
import { handle, type Route } from "../http/route.ts";
import { daemonOrders, getDaemon, listDaemonActions, listDaemons, pauseDaemon } from "./wire.ts";

/** The row of a daemon by its name in any spelling. */
const rowOf = (daemons: DaemonManager, spelling: string) => {
  const name = daemons.nameOf(spelling);
  return daemons.report().find((row) => row.name === name)!;
};

/** How long an answer waits for a disk in trouble. */
const FLUSH_MS = 5_000;

/** What came of it. Whoever is told so may rely on it after a crash, too, or is told that the disk has not taken it. */
const outcome = async (daemons: DaemonManager, name: string, ok: boolean, said: string) => {
  const isKept = await daemons.flush(FLUSH_MS);
  const row = rowOf(daemons, name);
  const message = ok ? said : whyNot(daemons, row.name);
  const note = isKept ? "" : "; the disk has not taken that yet";
  return { name: row.name, state: row.state, ok, message: `${message}${note}` };
};

/** Why a daemon does not run, also where nobody wants it to. */
const whyNot = (daemons: DaemonManager, name: string): string => {
  const status = daemons.getStatus();
  const { permanentFailure, paused, holds, lastError, state, dependsOn } = status[name]!;
  if (permanentFailure !== null) return permanentFailure.reason;
  if (paused !== null) return paused;
  if (holds.length > 0) return holds.map(({ reason }) => reason).join("; ");
  const missing = dependsOn.filter((on) => !daemons.isRunning(on));
  if (missing.length > 0) return `it depends on ${missing.join(", ")}, which does not run`;
  return lastError ?? `it is ${state}`;
};

interface Decision {
  readonly daemons: DaemonManager;
  readonly name: string;
  readonly actor: string;
}

/** How each order is carried out: whether it is so now, and what to say then. */
const orders: Readonly<
  Record<keyof typeof daemonOrders, { run: (decision: Decision) => boolean | Promise<boolean>; done: string }>
> = {
  start: { run: ({ daemons, name, actor }) => daemons.start(name, { actor }), done: "started" },
  stop: { run: ({ daemons, name, actor }) => daemons.stop(name, { actor }), done: "stopped" },
  restart: {
    async run({ daemons, name, actor }) {
      // One that was given up is not even stopped: it would no longer be wanted, and its reset would not start it.
      if (daemons.isPermanentlyFailed(name)) return daemons.start(name, { actor });
      if (!(await daemons.stop(name, { actor }))) return false;
      return daemons.start(name, { actor, waitForDeps: true });
    },
    done: "restarted",
  },
  reset: {
    run: ({ daemons, name, actor }) => daemons.clearPermanentlyFailed(name, { actor }),
    done: "its restarts count from zero again",
  },
  resume: { run: ({ daemons, name, actor }) => daemons.resume(name, { actor }).length === 0, done: "resumed" },
};

export const daemonRoutes: readonly Route[] = [
  handle(listDaemons, ({ ports }) => ({ daemons: ports.daemons.report() })),
  handle(getDaemon, ({ ports, params: { name } }) => rowOf(ports.daemons, name)),
  handle(listDaemonActions, ({ ports: { daemons }, query: { daemon } }) => {
    const only = daemon === undefined ? undefined : daemons.nameOf(daemon);
    return { actions: daemons.actions().filter((action) => only === undefined || action.daemon === only) };
  }),
  ...(Object.keys(orders) as (keyof typeof orders)[]).map((verb) =>
    handle(daemonOrders[verb], async ({ ports: { daemons }, params: { name }, caller: { actor } }) => {
      const { run, done } = orders[verb];
      return outcome(daemons, name, await run({ daemons, name, actor }), done);
    }),
  ),
  handle(pauseDaemon, ({ ports: { daemons }, params: { name }, body: { reason }, caller: { actor } }) => {
    daemons.pause(name, reason, { actor });
    return outcome(daemons, name, true, "paused");
  }),
];

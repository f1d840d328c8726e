import { z } from "zod";
import { type DaemonManager, resolveDaemon } from "../../../daemons/index.ts";
import { type Route, route } from "../route.ts";
import * as schema from "../schemas.ts";

const tag = "daemons";
const params = z.strictObject({ name: schema.name });
const actions = z.array(
  z.looseObject({ at: z.number(), daemon: z.string(), action: z.string(), reason: z.string(), actor: z.string() }),
);

/** The row of a daemon by its name in any spelling. */
const rowOf = (daemons: DaemonManager, spelling: string): Record<string, unknown> => {
  const rows = daemons.report();
  const { name } = resolveDaemon(spelling, new Set(rows.map((row) => String(row.name))));
  return rows.find((row) => row.name === name)!;
};

/** How long an answer waits for a disk in trouble. */
const FLUSH_MS = 5_000;

/** What came of it. Whoever is told so may rely on it after a crash, too, or is told that the disk has not taken it. */
const outcome = async (daemons: DaemonManager, name: string, ok: boolean, said: string) => {
  const isKept = await daemons.flush(FLUSH_MS);
  const row = rowOf(daemons, name);
  const message = ok ? said : whyNot(daemons, String(row.name));
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

/** What one may do to a daemon: whether it is so now, and what to say then. */
const verbs: Readonly<
  Record<string, { summary: string; run: (decision: Decision) => boolean | Promise<boolean>; said: string }>
> = {
  start: {
    summary: "Starts a daemon.",
    run: ({ daemons, name, actor }) => daemons.start(name, { actor }),
    said: "started",
  },
  stop: {
    summary: "Ends a daemon, after those that depend on it.",
    run: ({ daemons, name, actor }) => daemons.stop(name, { actor }),
    said: "stopped",
  },
  restart: {
    summary: "Ends a daemon and starts it again.",
    async run({ daemons, name, actor }) {
      // One that was given up is not even stopped: it would no longer be wanted, and its reset would not start it.
      if (daemons.isPermanentlyFailed(name)) return daemons.start(name, { actor });
      if (!(await daemons.stop(name, { actor }))) return false;
      return daemons.start(name, { actor, waitForDeps: true });
    },
    said: "restarted",
  },
  reset: {
    summary: "Gives a daemon that was given up its restarts back.",
    run: ({ daemons, name, actor }) => daemons.clearPermanentlyFailed(name, { actor }),
    said: "its restarts count from zero again",
  },
  resume: {
    summary: "Lifts the pause of an operator; what else holds the daemon goes on holding it.",
    run: ({ daemons, name, actor }) => daemons.resume(name, { actor }).length === 0,
    said: "resumed",
  },
};

const answers = { 200: { about: "What it is now; ok says whether it was done.", schema: schema.daemonOutcome } };

export const daemonRoutes: readonly Route[] = [
  route({
    id: "listDaemons",
    method: "GET",
    path: "/v1/daemons",
    tag,
    summary: "All daemons under supervision.",
    scope: "read",
    limit: "read",
    answers: { 200: { about: "One row for each.", schema: z.object({ daemons: z.array(schema.daemonRow) }) } },
    handle: ({ ports }) => ({ daemons: ports.daemons.report() }),
  }),
  route({
    id: "getDaemon",
    method: "GET",
    path: "/v1/daemons/{name}",
    tag,
    summary: "One daemon.",
    scope: "read",
    limit: "read",
    params,
    answers: { 200: { about: "Its row.", schema: schema.daemonRow } },
    handle: ({ ports, params: { name } }) => rowOf(ports.daemons, name),
  }),
  route({
    id: "listDaemonActions",
    method: "GET",
    path: "/v1/daemon-actions",
    tag,
    summary: "What was done to daemons and what led to it, oldest first.",
    scope: "read",
    limit: "read",
    answers: { 200: { about: "The last thousand.", schema: z.object({ actions }) } },
    handle: ({ ports }) => ({ actions: ports.daemons.actions().map((row) => ({ ...row, at: row.at / 1_000 })) }),
  }),
  ...Object.entries(verbs).map(([verb, { summary, run, said }]) =>
    route({
      id: `${verb}Daemon`,
      method: "POST",
      path: `/v1/daemons/{name}/${verb}`,
      tag,
      summary,
      scope: "operator",
      limit: "write",
      params,
      body: schema.emptyBody,
      answers,
      async handle({ ports: { daemons }, params: { name }, caller: { actor } }) {
        return outcome(daemons, name, await run({ daemons, name, actor }), said);
      },
    }),
  ),
  route({
    id: "pauseDaemon",
    method: "POST",
    path: "/v1/daemons/{name}/pause",
    tag,
    summary: "Keeps a daemon from running until it is resumed.",
    scope: "operator",
    limit: "write",
    params,
    body: schema.reasonBody,
    answers,
    handle({ ports: { daemons }, params: { name }, body: { reason }, caller: { actor } }) {
      daemons.pause(name, reason, { actor });
      return outcome(daemons, name, true, "paused");
    },
  }),
];

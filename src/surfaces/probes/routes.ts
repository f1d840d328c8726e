import type { ControlPorts } from "../http/ports.ts";
import { handle, type Route } from "../http/route.ts";
import { livez, readyz, startupz } from "./wire.ts";

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

const verdict = (checks: readonly Check[]): Response => {
  const ok = checks.every((check) => check.ok);
  return Response.json({ status: ok ? "ok" : "failing", checks }, { status: ok ? 200 : 503 });
};

const check = (name: string, ok: boolean, otherwise: string): Check => ({ name, ok, message: ok ? "" : otherwise });

const started = (ports: ControlPorts): Check =>
  check("started", ports.phase() !== "starting", "units and daemons are still being started");

function readiness(ports: ControlPorts): Check[] {
  const { subscriptions, unsubscribed } = ports.readiness();
  const missing = subscriptions.flatMap(({ event, missing }) => missing.map((consumer) => `${event} for ${consumer}`));
  const late = Object.values(ports.daemons.getStatus())
    .filter(({ wanted, state }) => wanted && state !== "running" && state !== "degraded")
    .map(({ name, state }) => `${name} (${state})`);
  const { fault } = ports.store;
  return [
    started(ports),
    check("not_stopping", ports.phase() !== "stopping", "the process is stopping"),
    check("units", unsubscribed.length === 0, `not subscribed: ${unsubscribed.join(", ")}`),
    check("critical_subscriptions", missing.length === 0, `missing: ${missing.join(", ")}`),
    check("daemons", ports.daemons.readinessProbe(), `not ready: ${late.join(", ")}`),
    check("store", fault === null, fault === null ? "" : `${fault.code}: ${fault.message}`),
  ];
}

/** Answered in every phase, to everybody. Whoever reads one of these has seen the main loop answer. */
export const probeRoutes: readonly Route[] = [
  handle(livez, ({ ports }) =>
    verdict([
      check("main_loop", true, ""),
      check("critical_daemons", ports.daemons.livenessProbe(), "a critical daemon is given up or found dead"),
    ]),
  ),
  handle(readyz, ({ ports }) => verdict(readiness(ports))),
  handle(startupz, ({ ports }) => verdict([started(ports)])),
];

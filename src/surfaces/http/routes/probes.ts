import { type Call, Reply, type Route, route } from "../route.ts";
import { probeAnswer } from "../schemas.ts";

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

const verdict = (checks: readonly Check[]): Reply => {
  const ok = checks.every((check) => check.ok);
  return new Reply(ok ? 200 : 503, { status: ok ? "ok" : "failing", checks });
};

const check = (name: string, ok: boolean, otherwise: string): Check => ({ name, ok, message: ok ? "" : otherwise });

const started = ({ ports }: Call): Check =>
  check("started", ports.phase() !== "starting", "units and daemons are still being started");

function readiness(call: Call): Check[] {
  const { ports } = call;
  const { subscriptions, unsubscribed } = ports.readiness();
  const missing = subscriptions.flatMap(({ event, missing }) => missing.map((consumer) => `${event} for ${consumer}`));
  const late = Object.values(ports.daemons.getStatus())
    .filter(({ wanted, state }) => wanted && state !== "running" && state !== "degraded")
    .map(({ name, state }) => `${name} (${state})`);
  const { fault } = ports.store;
  return [
    started(call),
    check("not_stopping", ports.phase() !== "stopping", "the process stops"),
    check("units", unsubscribed.length === 0, `not subscribed: ${unsubscribed.join(", ")}`),
    check("critical_subscriptions", missing.length === 0, `missing: ${missing.join(", ")}`),
    check("daemons", ports.daemons.readinessProbe(), `not ready: ${late.join(", ")}`),
    check("store", fault === null, fault === null ? "" : `${fault.code}: ${fault.message}`),
  ];
}

const probe = (id: string, path: string, summary: string, checks: (call: Call) => Check[]): Route =>
  route({
    id,
    method: "GET",
    path,
    tag: "probes",
    summary,
    scope: "probe",
    limit: "probe",
    answers: {
      200: { about: "All checks hold.", schema: probeAnswer },
      503: { about: "A check does not hold.", schema: probeAnswer },
    },
    handle: (call) => verdict(checks(call as Call)),
  });

/** Answered in every phase, to everybody. Whoever reads one of these has seen the main loop answer. */
export const probeRoutes: readonly Route[] = [
  probe("livez", "/livez", "Whether this process is worth keeping.", ({ ports }) => [
    check("main_loop", true, ""),
    check("critical_daemons", ports.daemons.livenessProbe(), "a critical daemon is given up or found dead"),
  ]),
  probe("readyz", "/readyz", "Whether it does its work now.", readiness),
  probe("startupz", "/startupz", "Whether its start has ended.", (call) => [started(call)]),
];

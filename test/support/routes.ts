/** Requests made up from the table of routes, for tests that walk all of them. */
import type { z } from "zod";
import { allRoutes, type Route } from "../../src/surfaces/index.ts";
import { runSurface } from "./surface.ts";

/** The routes that a coordination really offers, by its own document. */
export async function mountedRoutes(): Promise<readonly Route[]> {
  const surface = await runSurface();
  const { paths } = (await surface.ask("socket", "/openapi.json")).json as { paths: Record<string, object> };
  await surface.end();
  return allRoutes.filter(({ method, path }) => Object.hasOwn(paths[path] ?? {}, method.toLowerCase()));
}

/** The path of a route with something in each of its places. */
export const pathOf = (route: Route, values: Readonly<Record<string, string>> = {}): string =>
  route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? "nobody"));

/** Something that a large state has, for routes that show one thing. */
const SUBJECTS: Readonly<Record<string, string>> = {
  getWork: "w11",
  getNode: "node1",
  getEvent: "0000000000000000000000000000000b",
  getTrace: "0000000000000000000000000000000b",
  getLineage: "w11",
  why: "w11",
};
const QUERY_VALUES = ["nobody", "completed", "9000", "selfplay"];

/** A route over a large state as it is, and once with each thing that one may ask it for; most fit nothing. */
export function urlsOf(route: Route): string[] {
  const subject = SUBJECTS[route.id] ?? "nobody";
  const path = pathOf(route, { id: subject, subject });
  const asked = Object.entries(route.query.shape).flatMap(([key, schema]) => {
    const value = QUERY_VALUES.find((each) => (schema as z.ZodType).safeParse(each).success);
    return value === undefined ? [] : [`${path}?${key}=${value}`];
  });
  return [path, ...asked];
}

/** A body that the route's own schema takes. */
export const bodyOf = (route: Route): unknown => {
  if (route.body === null) return undefined;
  const ref = { work_id: "w1", node_id: "walker", fence: 1 };
  const wanted: Record<string, unknown> = {
    publishEvents: {
      specversion: "1.0",
      id: crypto.randomUUID(),
      type: "NEW_GAMES_AVAILABLE",
      source: "walker",
      data: { config_key: "hex8_2p", new_games: 1, total_games: 1 },
    },
    createToken: { label: "walker", scope: "read" },
    ackSession: { seqs: [1] },
    nackSession: { seq: 1, error: "no" },
    cleanUpDeadLetters: { older_than_hours: 1_000_000 },
    retryDeadLetters: { dry_run: true },
    discardDeadLetters: { dry_run: true },
    pauseDaemon: { reason: "walking" },
    claimWork: { node_id: "walker", most: 1, offer: { cpu: 0 } },
    startWork: { leases: [{ ref }] },
    beatWork: { beats: [{ ref }] },
    completeWork: { completions: [{ ref, evidence: {} }] },
    failWork: { failures: [{ ref, failure: { class: "retryable", error: "walking" } }] },
    releaseWork: { releases: [{ ref, reason: "walking" }] },
    addWork: { jobs: [{ work_type: "selfplay" }] },
    cancelWork: { reason: "walking" },
    joinNode: {
      public_key: Buffer.alloc(32, 7).toString("base64"),
      label: "walker",
      version: "0.1.0",
      protocol: 1,
      capabilities: { cpu: 1 },
    },
    beatNode: {
      node_id: "walker",
      incarnation: 1,
      version: "0.1.0",
      load: { running: 0, free: { cpu: 1 } },
      spool: { waiting: 0 },
    },
    acquireLock: { name: "walk", holder: "walker", ttl_seconds: 1 },
    renewLock: { name: "walk", fence: 1 },
    releaseLock: { name: "walk", fence: 1 },
    breakLock: { name: "walk", reason: "walking", dry_run: true },
    leaveNode: { node_id: "walker", reason: "walking" },
    reportNodeSettings: { node_id: "walker", incarnation: 1, settings: [] },
  };
  return wanted[route.id] ?? {};
};

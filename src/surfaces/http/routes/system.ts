import { z } from "zod";
import { OperatingError } from "../../../kernel/index.ts";
import { openApiDocument } from "../openapi.ts";
import { Reply, type Route, route } from "../route.ts";
import * as schema from "../schemas.ts";
import { unitsOnTheWire } from "../status.ts";

const tag = "system";

export const systemRoutes: readonly Route[] = [
  route({
    id: "getStatus",
    method: "GET",
    path: "/status",
    tag,
    summary: "The state of the process.",
    scope: "read",
    limit: "read",
    answers: {
      200: { about: "Router, journal, subscriptions, dead letters, units, daemons.", schema: schema.document },
    },
    handle: ({ ports }) => ports.status(),
  }),
  route({
    id: "getMetrics",
    method: "GET",
    path: "/metrics",
    tag,
    summary: "Figures for Prometheus.",
    scope: "read",
    limit: "read",
    answers: { 200: { about: "The text format.", schema: z.string(), type: "text/plain" } },
    handle: async ({ ports }) => new Reply(200, await ports.metrics.render(), ports.metrics.contentType),
  }),
  route({
    id: "getOpenApi",
    method: "GET",
    path: "/openapi.json",
    tag,
    summary: "This surface as an OpenAPI 3.1 document.",
    scope: "read",
    limit: "heavy",
    answers: { 200: { about: "The routes that are mounted here.", schema: schema.document } },
    handle: ({ ports, routes }) => openApiDocument(routes, ports.version),
  }),
  route({
    id: "getHealth",
    method: "GET",
    path: "/health",
    tag,
    summary: "How well the system does, with the reasons.",
    scope: "read",
    limit: "read",
    answers: { 200: { about: "The judgement.", schema: schema.healthAnswer } },
    needs: ["health"],
    handle: ({ ports }) => ports.health!(),
  }),
  route({
    id: "getAudit",
    method: "GET",
    path: "/v1/audit",
    tag,
    summary: "The wiring, judged from the declarations and from what was seen here.",
    scope: "read",
    limit: "heavy",
    answers: { 200: { about: "Findings and totals.", schema: schema.document } },
    handle: ({ ports }) => ports.audit(),
  }),
  route({
    id: "listUnits",
    method: "GET",
    path: "/v1/units",
    tag,
    summary: "The units of this process and how each does.",
    scope: "read",
    limit: "read",
    answers: { 200: { about: "One row for each.", schema: z.object({ units: z.array(schema.unitRow) }) } },
    handle: ({ ports }) => ({ units: unitsOnTheWire(ports.units()) }),
  }),
  route({
    id: "why",
    method: "GET",
    path: "/v1/why/{subject}",
    tag,
    summary: "What stands between a subject and its work: every gate with its actual and its required value.",
    scope: "read",
    limit: "read",
    params: z.strictObject({ subject: schema.name }),
    answers: { 200: { about: "The gates, in the order they are asked.", schema: schema.whyAnswer } },
    needs: ["why"],
    handle({ ports, params: { subject } }) {
      const found = ports.why!(subject);
      if (found === undefined)
        throw new OperatingError("SUBJECT_NOT_FOUND", `nobody knows '${subject}'`, {
          hint: "A subject is the name of a daemon or unit, a job or a node.",
        });
      return found;
    },
  }),
  route({
    id: "getBootstrap",
    method: "GET",
    path: "/v1/bootstrap",
    tag,
    summary: "What the start did, step by step.",
    scope: "read",
    limit: "read",
    answers: { 200: { about: "Coordinators and daemons, started or not, and why.", schema: schema.document } },
    needs: ["bootstrapStatus"],
    handle: ({ ports }) => ports.bootstrapStatus!(),
  }),
  route({
    id: "shutDown",
    method: "POST",
    path: "/v1/shutdown",
    tag,
    summary: "Ends the process in good order.",
    scope: "operator",
    limit: "write",
    body: schema.optionalReasonBody,
    answers: { 202: { about: "It begins to stop.", schema: z.object({ status: z.literal("stopping") }) } },
    handle({ ports, body, caller }) {
      ports.shutdown(body.reason ?? "asked for through the API", caller.actor);
      return { status: "stopping" };
    },
  }),
];

import { z } from "zod";
import { OperatingError } from "../../../kernel/index.ts";
import { type Route, route } from "../route.ts";
import * as schema from "../schemas.ts";

const tag = "alerts";
const params = z.strictObject({ id: schema.name });
const one = { 200: { about: "The alert as it is now.", schema: schema.alertRow } };

export const alertRoutes: readonly Route[] = [
  route({
    id: "listAlerts",
    method: "GET",
    path: "/v1/alerts",
    tag,
    summary: "Alerts, newest first.",
    scope: "read",
    limit: "read",
    query: schema.alertQuery,
    answers: { 200: { about: "Those that fit.", schema: z.object({ alerts: z.array(schema.alertRow) }) } },
    needs: ["alerts"],
    handle: ({ ports, query }) => ({ alerts: ports.alerts!.list(query) }),
  }),
  route({
    id: "getAlert",
    method: "GET",
    path: "/v1/alerts/{id}",
    tag,
    summary: "One alert.",
    scope: "read",
    limit: "read",
    params,
    answers: one,
    needs: ["alerts"],
    handle({ ports, params: { id } }) {
      const found = ports.alerts!.get(id);
      if (found === undefined) throw new OperatingError("ALERT_NOT_FOUND", `there is no alert ${id}`);
      return found;
    },
  }),
  ...(["acknowledge", "close"] as const).map((verb) =>
    route({
      id: `${verb}Alert`,
      method: "POST",
      path: `/v1/alerts/{id}/${verb}`,
      tag,
      summary: verb === "close" ? "Closes an alert." : "Says that somebody deals with an alert.",
      scope: "operator",
      limit: "write",
      params,
      body: schema.noteBody,
      answers: one,
      needs: ["alerts"],
      handle: ({ ports, params: { id }, body: { note }, caller: { actor } }) =>
        ports.alerts![verb](id, { actor, ...(note === undefined ? {} : { note }) }),
    }),
  ),
];

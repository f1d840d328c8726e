import { handle, type Route } from "../http/route.ts";
import { getBootstrap, getMetrics, getOpenApi, getSettings, listUnits, shutDown } from "./wire.ts";

export const systemRoutes: readonly Route[] = [
  handle(
    getMetrics,
    async ({ ports: { metrics } }) =>
      new Response(await metrics.render(), { headers: { "content-type": metrics.contentType } }),
  ),
  handle(getOpenApi, ({ openApi }) => openApi()),
  handle(listUnits, ({ ports }) => ({ units: ports.units() })),
  handle(getSettings, ({ ports: { settings } }) => settings),
  handle(getBootstrap, ({ ports }) => ports.bootstrapStatus()),
  handle(shutDown, ({ ports, body, caller }) => {
    ports.shutdown(body.reason ?? "asked for through the API", caller.actor);
    return { status: "stopping" as const };
  }),
];

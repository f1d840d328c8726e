import { handle, type Route } from "../http/route.ts";
import { overviewOf, statusOf } from "./report.ts";
import { getOverview, getStatus } from "./wire.ts";

export const statusRoutes: readonly Route[] = [
  handle(getStatus, ({ ports }) => ({ ...statusOf(ports), causes: ports.causes() })),
  handle(getOverview, ({ ports }) => ({ ...overviewOf(ports), causes: ports.causes() })),
];

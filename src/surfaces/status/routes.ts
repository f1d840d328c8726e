import { handle, type Route } from "../http/route.ts";
import { statusOf } from "./report.ts";
import { getStatus } from "./wire.ts";

export const statusRoutes: readonly Route[] = [
  handle(getStatus, ({ ports }) => ({ ...statusOf(ports), causes: ports.causes() })),
];

import { handle, type Route } from "../http/route.ts";
import { getAudit } from "./wire.ts";

export const auditRoutes: readonly Route[] = [handle(getAudit, ({ ports }) => ports.audit())];

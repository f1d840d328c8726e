import type { AuditReport } from "../../daemons/index.ts";
import { documentOf } from "../http/fields.ts";
import { defineRoute } from "../http/wire.ts";

export const getAudit = defineRoute("getAudit", "GET /v1/audit", {
  tag: "system",
  summary: "The audit of the wiring, from the declarations and from what this process saw.",
  limit: "heavy",
  about: "Findings and totals.",
  answer: () => documentOf<AuditReport>(),
});

import { liveRegistry } from "../../src/app/registry.ts";
import { auditBaseline, auditWiring, printAudit } from "../../src/daemons/index.ts";
import { builtinRows } from "../../src/events/index.ts";
import { routerOver } from "../../test/support/router.ts";
import { page } from "./markdown.ts";

/** The audit of the live declarations, as `ringrift audit` prints it where nothing has run yet. */
export const printAuditPage = (): string =>
  page(
    "# Wiring audit",
    "Printed from the declarations of all units. `ringrift audit` prints the same of a running system, with what it has seen.",
    `\`\`\`text\n${printAudit(auditWiring(liveRegistry(routerOver(builtinRows)), { baseline: auditBaseline })).trimEnd()}\n\`\`\``,
  );

import { declaredRegistry } from "../../src/app/registry.ts";
import { auditWiring, printAudit, recordWiring } from "../../src/daemons/index.ts";
import { page } from "./markdown.ts";

/** The audit of the live declarations, as `ringrift audit` prints it where nothing has run yet. */
export const printAuditPage = (): string =>
  page(
    "# Wiring audit",
    "Printed from the declarations of all units. `ringrift audit` prints the same of a running system, with what it has seen.",
    `\`\`\`text\n${printAudit(auditWiring(declaredRegistry())).trimEnd()}\n\`\`\``,
  );

/** Who emits and hears what, where it runs and why: a change of the wiring shows as a change of this file. */
export const printWiring = (): string => `${JSON.stringify(recordWiring(declaredRegistry()), null, 2)}\n`;

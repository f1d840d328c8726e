import { type AuditReport, auditWiring, type RuntimeFacts } from "../../daemons/index.ts";
import { defined } from "../../kernel/index.ts";
import { readRecordedWiring } from "../recorded-wiring.ts";
import { declaredRegistry } from "../registry.ts";

/** Declarations are in the code: to judge them nothing has to run. */
export const auditDeclarations = (facts: RuntimeFacts | undefined): AuditReport =>
  auditWiring(declaredRegistry(), defined({ recorded: readRecordedWiring(), facts }));

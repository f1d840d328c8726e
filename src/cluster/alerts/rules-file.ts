/** Absence rules of the user, from a JSON file: read whole or not at all, and every problem is told. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import type { Catalog } from "../../events/index.ts";
import { didYouMean, lazy, messageOf, OperatingError } from "../../kernel/index.ts";
import type { AbsenceRule } from "./absence.ts";
import { ALERT_SEVERITIES } from "./alert.ts";

const MAX_RULES = 100;
const name = z.string().regex(/^[\w.-]{1,80}$/, "must be 1 to 80 letters, digits, _ . -");
const field = z.string().regex(/^\w{1,60}$/, "must be the name of a field");
const absence = lazy(() =>
  z.strictObject({
    name,
    event: z.string().min(1).max(100),
    by: z.array(field).max(4).default([]),
    within_seconds: z.number().min(10).max(31_536_000),
    severity: z.enum(ALERT_SEVERITIES).default("error"),
    title: z.string().min(1).max(200).optional(),
    from: z.enum(["first_seen", "start"]).default("first_seen"),
  }),
);
const file = lazy(() => z.strictObject({ absence: z.array(absence()).max(MAX_RULES).default([]) }));

const invalid = (path: string, problem: string, cause?: unknown) =>
  OperatingError.invalid("INVALID_ALERT_RULES", `${path}: ${problem}`, {
    cause,
    hint: 'A rule is {"name", "event", "within_seconds"} and may have "by", "severity", "title" and "from".',
  });

export function parseAlertRules(text: string, path: string, catalog: Pick<Catalog, "names" | "row">): AbsenceRule[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (thrown) {
    throw invalid(path, messageOf(thrown), thrown);
  }
  const parsed = file().safeParse(json);
  if (!parsed.success) throw invalid(path, z.prettifyError(parsed.error).replaceAll(/\s*\n\s*/g, " "));
  const rules = parsed.data.absence;
  const twice = rules.find((rule, i) => rules.findIndex((other) => other.name === rule.name) !== i);
  if (twice !== undefined) throw invalid(path, `two rules are called '${twice.name}'`);
  return rules.map(({ within_seconds, title, ...rule }) => {
    const row = catalog.row(catalog.names.resolve(rule.event)?.name ?? rule.event);
    if (row === undefined)
      throw invalid(path, `the rule '${rule.name}' has an unknown event: ${catalog.names.unknown(rule.event).message}`);
    const fields = Object.keys(row.payload.shape);
    const unknown = rule.by.find((each) => !fields.includes(each));
    if (unknown !== undefined)
      throw invalid(
        path,
        `the rule '${rule.name}' names a field '${unknown}' that ${row.name} does not have.${didYouMean(unknown, fields)}`,
      );
    if (rule.from === "start" && rule.by.length > 0)
      throw invalid(
        path,
        `the rule '${rule.name}' counts from the start and so cannot have 'by': nobody knows whom to await`,
      );
    return {
      ...rule,
      name: `user.${rule.name}`,
      event: row.name,
      withinMs: within_seconds * 1_000,
      title: title ?? `No ${row.name} for too long`,
      endedBy: [],
    };
  });
}

const MAX_BYTES = 262_144;

export function readAlertRules(path: string, catalog: Pick<Catalog, "names" | "row">): AbsenceRule[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (thrown) {
    throw invalid(path, `it cannot be read: ${messageOf(thrown)}`, thrown);
  }
  if (text.length > MAX_BYTES) throw invalid(path, `it has more than ${MAX_BYTES} characters`);
  return parseAlertRules(text, path, catalog);
}

import type { Pattern } from "../legacy.ts";
import type { AuditedUnit, AuditReport, AuditTotals } from "./audit.ts";
import type { Finding, FindingKind, Severity } from "./finding.ts";

const AUDIT_COLUMNS = 100;

/** What the words of the registry mean, and what they mean here. */
const PATTERN_MEANING: Readonly<Record<Pattern, string>> = {
  WIRE: "subscribed when the runtime starts",
  GET: "subscribed when the runtime starts; the Python system deferred it to start()",
  IMPORT: "subscribed when the runtime starts; the Python system left it to the DaemonManager",
  SKIP: "a name kept for its readers; nothing is wired",
  DELEGATE: "a name that another unit answers for; nothing of its own is wired",
};

/** Breaks words into lines of the given width, later lines indented. A word longer than the line is cut. */
export function wrap(text: string, indent = "", width = AUDIT_COLUMNS): string[] {
  const room = width - indent.length;
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((long) => long.match(new RegExp(`.{1,${room}}`, "gu")) ?? [])) {
    if (line !== "" && line.length + 1 + word.length > room) {
      lines.push(indent + line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, indent + line];
}

/** Columns as wide as their widest cell; the last one is wrapped into what is left. Nothing where there is no row. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  const left = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 2);
  const line = (cells: readonly string[]) => {
    const start = `  ${cells
      .slice(0, -1)
      .map((cell, i) => cell.padEnd(widths[i]! + 2))
      .join("")}`;
    const [first = "", ...more] = wrap(cells.at(-1)!, "", Math.max(20, AUDIT_COLUMNS - left));
    return [`${start}${first}`.trimEnd(), ...more.map((rest) => `${" ".repeat(left)}${rest}`)];
  };
  const rule = widths.map((width, i) =>
    "-".repeat(i === widths.length - 1 ? Math.min(width, AUDIT_COLUMNS - left) : width),
  );
  return [head, rule, ...rows].flatMap(line);
}

const heading = (title: string) => ["", title, "=".repeat(title.length), ""];
const orNone = (lines: string[], none: string) => (lines.length === 0 ? [`  ${none}`] : lines);
const capital = (severity: Severity) => severity[0]!.toUpperCase() + severity.slice(1);
const status = ({ ok, pattern }: AuditedUnit) => (!ok ? "FAULTY" : pattern === "SKIP" ? "skipped" : "OK");
const many = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;

const METRICS: Readonly<Record<keyof AuditTotals, string>> = {
  units: "Units in the registry",
  units_with_subscriptions: "Units with subscriptions",
  units_skipped_or_delegated: "Units of pattern SKIP or DELEGATE",
  units_without_subscriptions: "Units without subscriptions (loop only)",
  parts: "Parts that emit without being units",
  subscriptions: "Subscriptions",
  emissions: "Declared emissions",
  events: "Events in the catalog",
  events_crossing: "Events that cross processes",
  events_staying: "Events that stay in their process",
  orphans: "Orphan events (emitted, nobody hears)",
  dead_subscriptions: "Dead subscriptions (heard, nobody emits)",
  well_connected: "Well-connected events",
  write_only: "Write-only consumers (what they write nobody reads)",
  stale_excuses: "Stale excuses",
  open: "Open rows (no emitter, no consumer yet)",
  open_coordinators: "Open coordinators (no unit yet)",
  provisional: "Provisional rows",
};

const summary = ({ totals }: AuditReport): string[] =>
  table(
    ["Metric", "Count"],
    Object.entries(METRICS).map(([key, metric]) => [
      metric,
      String(totals[key as keyof AuditTotals] ?? "not looked at"),
    ]),
  );

const layers = (report: AuditReport): string[] =>
  report.layers.flatMap(({ layer, units }, i) => [
    ...(i === 0 ? [] : [""]),
    `Layer ${layer}`,
    ...table(
      ["Unit", "Kind", "Placement", "Pattern", "Hears", "Emits", "Status"],
      units.map((unit) => [
        unit.name,
        unit.kind,
        unit.placement,
        unit.pattern ?? "-",
        unit.delegates_to === null ? String(unit.hears.length) : "->",
        String(unit.emits.length),
        unit.delegates_to === null ? status(unit) : `-> ${unit.delegates_to}`,
      ]),
    ),
  ]);

const details = (report: AuditReport): string[] =>
  report.layers
    .flatMap(({ units }) => units)
    .filter(({ hears, emits }) => hears.length + emits.length > 0)
    .flatMap((unit, i) => [
      ...(i === 0 ? [] : [""]),
      ...wrap(unit.also_known_as.length === 0 ? unit.name : `${unit.name} (${unit.also_known_as.join(", ")})`),
      ...(unit.hears.length === 0 ? [] : wrap(`hears ${unit.hears.join(", ")}`, "  ")),
      ...(unit.emits.length === 0 ? [] : wrap(`emits ${unit.emits.join(", ")}`, "  ")),
    ]);

const ofKind = (report: AuditReport, kind: FindingKind): string[] =>
  table(
    ["Event", "Severity", "What"],
    report.findings
      .filter((finding) => finding.kind === kind)
      .map(({ event, severity, message, excuse }) =>
        excuse === null
          ? [event ?? "-", capital(severity), message]
          : [event ?? "-", "excused", `${message} Excused: ${excuse}.`],
      ),
  );

const advice = ({ event, units, message, action }: Finding): string[] => {
  const [first, ...more] = wrap(`${event ?? units.join(", ")}: ${message} ${action}`, "    ");
  return [`  - ${first!.trimStart()}`, ...more];
};

function recommendations({ findings }: AuditReport): string[] {
  const open = findings.filter(({ excuse, kind }) => excuse === null && kind !== "never_seen");
  const group = (title: string, severities: readonly Severity[]) => {
    const some = open.filter(({ severity }) => severities.includes(severity));
    return some.length === 0 ? [] : [title, ...some.flatMap(advice)];
  };
  return orNone(
    [
      ...group("Immediate actions (critical and high)", ["critical", "high"]),
      ...group("Medium priority", ["medium"]),
      ...group("Low priority", ["low"]),
    ],
    "None.",
  );
}

function delegated({ layers: all, delegations }: AuditReport): string[] {
  const units = all
    .flatMap((layer) => layer.units)
    .filter(({ pattern }) => pattern === "SKIP" || pattern === "DELEGATE");
  const rows = [
    ...units.map((unit) => [unit.name, unit.delegates_to ?? "-", PATTERN_MEANING[unit.pattern!]]),
    ...delegations.map(({ event, to, why }) => [event, to, why]),
  ];
  return table(["Name", "Answered by", "Why"], rows);
}

function observed(report: AuditReport): string[] {
  if (!report.observed) return ["  Not looked at: only the declarations were judged."];
  const never = report.findings.filter(({ kind }) => kind === "never_seen").map(({ event }) => event!);
  return never.length === 0
    ? ["  Every declared event was seen."]
    : [`  ${many(never.length, "declared event")} not seen so far:`, ...wrap(never.join(", "), "  ")];
}

/** The report as text, in the order of the coordinator subscription audit that operators know. */
export function printAudit(report: AuditReport): string {
  const openRows = Object.entries(report.open).map(([category, n]) => `${category} ${n}`);
  const lines = [
    "Event subscription audit",
    ...heading("Summary"),
    ...summary(report),
    "",
    ...wrap(`Overall status: ${report.status}. ${report.verdict}`),
    ...(openRows.length === 0 ? [] : ["", ...wrap(`Open rows by category: ${openRows.join(", ")}.`)]),
    ...heading("1. Units by layer"),
    ...layers(report),
    ...(report.parts.length === 0 ? [] : ["", "Parts"]),
    ...report.parts.flatMap(({ name, emits }) => wrap(`${name} emits ${emits.join(", ") || "nothing"}`, "  ")),
    ...(report.ingress.length === 0 ? [] : ["", ...wrap(`From outside: ${report.ingress.join(", ")}.`)]),
    ...heading("2. Subscriptions by unit"),
    ...orNone(details(report), "None."),
    ...heading("3. Events that stay in their process"),
    ...orNone(wrap(report.staying.map(({ event }) => event).join(", "), "  "), "None: every event crosses."),
    ...orNone(ofKind(report, "unbridged"), "No unit misses one of them."),
    ...heading("4. Orphan events (emitted, but nobody hears them)"),
    ...orNone(ofKind(report, "orphan"), "None."),
    ...heading("5. Dead subscriptions (heard, but nobody emits them)"),
    ...orNone(ofKind(report, "dead_subscription"), "None."),
    ...heading("6. Recommendations"),
    ...recommendations(report),
    ...heading("7. Delegated wiring"),
    ...orNone(delegated(report), "None."),
    ...heading("8. At run time"),
    ...observed(report),
    ...heading("Appendix: patterns"),
    ...table(["Pattern", "Meaning"], Object.entries(PATTERN_MEANING)),
  ];
  return `${lines.join("\n")}\n`;
}

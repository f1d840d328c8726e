import { painter } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, right, sectionLines, tableLines } from "../cli/table.ts";
import { ago, duration, momentAgo, number, plural, printable } from "../cli/text.ts";
import { bytes } from "../status/view.ts";
import type { Artifact, ArtifactDetails, CopiesReport, Orphan } from "./wire.ts";

const short = (sha256: string): string => sha256.slice(0, 12);
const stateColor = painter({ durable: "green", in_flight: "yellow", rejected: "dim", freed: "dim" }, "red");

/** How many copies there are of how many there must be, and what that means. */
function safety({ copies, required, safe, at_risk, freed_at }: Artifact): string {
  if (freed_at !== null) return "given up";
  if (at_risk) return "AT RISK: on nodes that may vanish";
  return `${copies} of ${required}${safe ? "" : ", too few"}`;
}

export function artifactLines(artifacts: readonly Artifact[], shell: Shell): string[] {
  const { paint, clock } = shell;
  const rows = artifacts.map((one) => [
    paint.yellow(short(one.sha256)),
    printable(one.kind),
    printable(one.config_key ?? ""),
    stateColor(paint, one.state)(one.state),
    (one.safe || one.freed_at !== null ? paint.dim : paint.red)(safety(one)),
    right(bytes(one.bytes)),
    ago(one.created_at, clock.now()),
    printable(one.nodes.join(", ")),
  ]);
  return tableLines([["ARTIFACT", "KIND", "CONFIG", "STATE", "COPIES", right("SIZE"), "MADE", "ON"], ...rows], shell);
}

const orphanColor = painter({ registered: "green", waiting: "yellow", told: "dim" }, "red");

export function orphanLines(orphans: readonly Orphan[], shell: Shell): string[] {
  const { paint, clock } = shell;
  const rows = orphans.map((one) => [
    paint.yellow(short(one.sha256)),
    printable(one.node_id),
    printable(one.config_key ?? ""),
    right(number(one.games)),
    one.rule,
    orphanColor(paint, one.state)(one.state),
    ago(one.since, clock.now()),
    printable(`${one.place}: ${one.why}`),
  ]);
  return tableLines([["FILE", "NODE", "CONFIG", right("GAMES"), "RULE", "STATE", "FOUND", ""], ...rows], shell);
}

export function artifactDetails(one: ArtifactDetails, shell: Shell): string[] {
  const { paint, clock } = shell;
  const at = (ms: number) => momentAgo(ms, clock.now());
  const facts = [
    ["kind", one.kind],
    ["config", one.config_key],
    ["state", `${one.state}${one.reason === null ? "" : `: ${one.reason}`}`],
    ["copies", safety(one) + (one.factor > one.required ? `; the settings ask for ${one.factor}` : "")],
    ["size", bytes(one.bytes)],
    ["games", one.games === 0 ? "" : number(one.games)],
    ["made", `${at(one.created_at)} by ${one.producer}${one.work_id === null ? "" : `, job ${one.work_id}`}`],
    ["needed by", one.pins.join(", ")],
    ["made from", one.parents.length === 0 ? "" : plural(one.parents.length, "file")],
    ["given up", one.freed_at === null ? "" : at(one.freed_at)],
  ] as const;
  const held = one.holders.map((copy) => [
    `  ${printable(copy.name)}`,
    copy.counts ? paint.green("counts") : paint.yellow(printable(copy.why ?? "")),
    paint.dim(`hashed ${at(copy.verified_at)} by ${printable(copy.verified_by)}`),
  ]);
  return [paint.bold(one.sha256), ...factLines(facts, shell), ...sectionLines("lies on", held, shell)];
}

const sums = ({ files, bytes: size }: CopiesReport["lines"][number]["safe"]): string =>
  files === 0 ? "" : `${number(files)} (${bytes(size)})`;

/** What holds of all files in one sentence. */
function copiesVerdict({ lines, places }: CopiesReport): string {
  const total = (pick: "short" | "at_risk") => lines.reduce((files, line) => files + line[pick].files, 0);
  const [few, risk] = [total("short"), total("at_risk")];
  if (risk > 0)
    return `${plural(risk, "file")} ${risk === 1 ? "is" : "are"} only on nodes that are rented or being drained`;
  if (few > 0) return `${plural(few, "file")} ${few === 1 ? "has" : "have"} fewer copies than required`;
  const wished = lines.some(({ factor, required }) => factor > required);
  const all = "every file has as many copies as required";
  return wished ? `${all}; the settings ask for more than ${plural(places, "node")} can hold` : all;
}

export function copiesLines(report: CopiesReport, shell: Shell): string[] {
  const { paint, clock } = shell;
  const rows = report.lines.map((line) => [
    printable(line.kind),
    printable(line.config_key ?? ""),
    right(`${line.required} of ${line.factor}`),
    right(sums(line.safe)),
    right(line.short.files === 0 ? "" : paint.yellow(sums(line.short))),
    right(line.at_risk.files === 0 ? "" : paint.red(sums(line.at_risk))),
  ]);
  const nodes = report.nodes.map((node) => [
    printable(node.name),
    node.there ? (node.confirmed ? "" : paint.yellow("has not confirmed its copies yet")) : paint.red("offline"),
    paint.yellow(node.rented ? "rented: does not count" : node.leaving ? "drained: does not count" : ""),
    right(number(node.copies)),
    right(bytes(node.bytes)),
    right(node.free_bytes === null ? "" : bytes(node.free_bytes)),
    node.waiting === null || node.waiting.files === 0
      ? ""
      : `${plural(node.waiting.files, "file")} (${bytes(node.waiting.bytes)}), the oldest for ${duration(Math.max(0, clock.now() - (node.waiting.oldest_at ?? clock.now())))}`,
  ]);
  return [
    copiesVerdict(report),
    "",
    ...tableLines(
      [["KIND", "CONFIG", right("COPIES"), right("SAFE"), right("TOO FEW"), right("AT RISK")], ...rows],
      shell,
    ),
    "",
    ...tableLines(
      [["NODE", "", "", right("COPIES"), right("SIZE"), right("FREE"), "NOT BROUGHT YET"], ...nodes],
      shell,
    ),
  ];
}

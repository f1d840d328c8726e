import { type Paint, right, type Shell, tableLines } from "../../../../surfaces/commands/index.ts";
import type { Incident } from "./chaos.ts";

/** A line of the live view. */
export const chaosLine = (line: string, paint: Paint): string =>
  line.startsWith("caught") ? paint.green(line) : line.startsWith("chaos") ? paint.yellow(line) : paint.red(line);

const outcomeOf = ({ state, outcome }: Incident): string =>
  outcome ?? (state === "open" ? "the run ended before it was caught" : "");

/** What was done and what came of it, act by act. */
export function chaosTable(incidents: readonly Incident[], { paint, width }: Pick<Shell, "paint" | "width">): string[] {
  const caught = incidents.filter(({ state }) => state === "caught").length;
  const color = { caught: paint.green, "not caught": paint.red, open: paint.yellow };
  const rows = incidents.map((incident) => [
    right(String(incident.number + 1)),
    color[incident.state](incident.state),
    incident.what,
    outcomeOf(incident),
  ]);
  return [
    `chaos: ${incidents.length} acts, ${caught} caught`,
    ...(rows.length === 0 ? [] : tableLines([["#", "STATE", "ACT", "OUTCOME"], ...rows], { width })),
  ];
}

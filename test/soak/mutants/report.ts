/** What Stryker found, kept in files: the newest word on every mutant of the code as it is now. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../tools/parts/root.ts";
import equivalents from "./equivalents.json" with { type: "json" };
import { filesOf, type MutatedRoom } from "./rooms.ts";

export const KEPT = join(ROOT, ".soak", "mutants");

interface Place {
  readonly line: number;
  readonly column: number;
}
interface Mutant {
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly status: string;
  readonly statusReason?: string;
  readonly location: { readonly start: Place; readonly end: Place };
}

/** A change that no test noticed. */
export interface Survivor {
  readonly file: string;
  readonly line: number;
  readonly mutator: string;
  readonly was: string;
  readonly became: string;
  /** Which of the places in the file where this text stands, from one: lines move, this does not. */
  readonly nth: number;
  /** No test comes by there at all. */
  readonly untested: boolean;
}
type Equivalent = Omit<Survivor, "line" | "untested"> & { readonly reason: string };
const EQUIVALENTS: readonly Equivalent[] = equivalents;

const sameness = ({ file, mutator, was, became, nth }: Omit<Equivalent, "reason">): string =>
  [file, mutator, was, became, nth].join("\0");

/** Those that are about a text that their file does not have any more. */
export const outdated = (): Equivalent[] =>
  EQUIVALENTS.filter(({ file, was, nth }) => {
    const path = join(ROOT, file);
    return !existsSync(path) || placesOf(readFileSync(path, "utf8"), was).length < nth;
  });

function placesOf(source: string, text: string): number[] {
  const places: number[] = [];
  for (let at = source.indexOf(text); at !== -1 && text !== ""; at = source.indexOf(text, at + 1)) places.push(at);
  return places;
}

/** Where a place is in the text; lines and columns count from one. */
const offsetOf = (lines: readonly string[], { line, column }: Place): number =>
  lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;

function survivorOf(file: string, source: string, mutant: Mutant): Survivor {
  const { start, end } = mutant.location;
  const lines = source.split("\n");
  const from = offsetOf(lines, start);
  const was = source.slice(from, offsetOf(lines, end));
  return {
    file,
    line: start.line,
    mutator: mutant.mutatorName,
    was,
    became: mutant.replacement ?? "",
    nth: placesOf(source, was).filter((at) => at <= from).length,
    untested: mutant.status === "NoCoverage",
  };
}

const FOUND = new Set(["Killed", "Timeout"]);
const MISSED = new Set(["Survived", "NoCoverage"]);

/** Of every report that is kept, what it says of this file as it is now; the newest counts. */
function mutantsOf(file: string): { readonly source: string; readonly mutants: readonly Mutant[] } {
  const source = readFileSync(join(ROOT, file), "utf8");
  const byPlace = new Map<string, Mutant>();
  const reports = globSync("*.report.json", { cwd: KEPT }).map((name) => join(KEPT, name));
  for (const path of reports.sort((a, b) => statSync(a).mtimeMs - statSync(b).mtimeMs)) {
    const { files } = JSON.parse(readFileSync(path, "utf8")) as {
      files: Record<string, { source: string; mutants: Mutant[] }>;
    };
    const said = files[file];
    if (said?.source !== source) continue;
    for (const mutant of said.mutants)
      byPlace.set(JSON.stringify([mutant.mutatorName, mutant.location, mutant.replacement]), mutant);
  }
  return { source, mutants: [...byPlace.values()] };
}

export function judge(room: MutatedRoom, part: string) {
  const files = filesOf(room, part).map((file) => ({ file, ...mutantsOf(file) }));
  const all = files.flatMap(({ file, source, mutants }) => mutants.map((mutant) => ({ file, source, mutant })));
  const killed = all.filter(({ mutant }) => FOUND.has(mutant.status)).length;
  const left = all
    .filter(({ mutant }) => MISSED.has(mutant.status))
    .map(({ file, source, mutant }) => survivorOf(file, source, mutant));
  const known = new Set(EQUIVALENTS.map(sameness));
  const survivors = left.filter((survivor) => !known.has(sameness(survivor)));
  const untested = survivors.filter((survivor) => survivor.untested).length;
  const score = killed + survivors.length === 0 ? 1 : killed / (killed + survivors.length);
  return {
    room: room.name,
    files: files.length,
    /** Files of which at least one mutant was tried. */
    tried: files.filter(({ mutants }) => mutants.length > 0).length,
    mutants: killed + left.length,
    killed,
    survived: survivors.length - untested,
    untested,
    equivalent: left.length - survivors.length,
    /** Left out: they are about what happens while a module is loaded. */
    atLoad: all.filter(({ mutant }) => mutant.statusReason?.startsWith("Static")).length,
    score: Math.floor(score * 1_000) / 1_000,
    least: room.least,
    survivors,
  };
}

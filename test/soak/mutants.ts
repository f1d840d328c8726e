/**
 * Breaks the code on purpose, one small change at a time (Stryker), and counts the changes that the tests of the room notice.
 * A seed chooses which lines are broken, what was found is kept in `.soak/mutants/`, so a run that was cut off goes on where
 * it was, and one after a change tries only what may have changed. The table tells of everything that is kept of the code as it is
 * now. A change that cannot be noticed because it means the same stands in `mutants/equivalents.json`, with its reason; changes that
 * Stryker does not know stand in `mutants/planted.json`.
 *
 * `npm run soak -- mutants --set room=sync --set lines=400`, `--set file=sync/sweep`, `--set try=planted`, `--set try=nothing`
 */
import { mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { seededRandom } from "../../src/kernel/index.ts";
import { fits, noticed, PLANTED } from "./mutants/planted.ts";
import { judge, KEPT, outdated } from "./mutants/report.ts";
import { filesOf, ROOMS } from "./mutants/rooms.ts";
import { draw, stryker } from "./mutants/stryker.ts";

export interface MutantOptions {
  readonly seed?: number;
  /** Only this room; all unless said. */
  readonly room?: string;
  /** Only files whose path contains this, every line of them. */
  readonly file?: string;
  /** Only tests whose path contains this; all of the room unless said. */
  readonly tests?: string;
  /** Lines of each room that may be broken. */
  readonly lines?: number;
  /** How many runs of tests go side by side. */
  readonly workers?: number;
  /** Also what happens while a module is loaded, such as the values of constants; it takes long. */
  readonly atLoad?: boolean;
  /** Only Stryker's mutants, only the planted ones, or nothing: then the table tells what is known. */
  readonly try?: "stryker" | "planted" | "nothing";
}
export const tiny: MutantOptions = {
  room: "work",
  file: "work/queue/fair-share",
  tests: "work/queue/fair-share",
  lines: 12,
  try: "stryker",
};

export async function run(options: MutantOptions = {}) {
  const { seed = 1, room, file = "", tests = "", workers = availableParallelism(), atLoad = false } = options;
  const lines = options.lines ?? (file === "" ? 300 : Number.POSITIVE_INFINITY);
  const chosen = ROOMS.filter((each) => (room === undefined || each.name === room) && filesOf(each, file).length > 0);
  if (chosen.length === 0) throw new Error(`no room fits; there are: ${ROOMS.map(({ name }) => name).join(", ")}`);
  const outworn = [...outdated(), ...PLANTED.filter((planted) => !fits(planted))];
  if (outworn.length > 0)
    throw new Error(
      `the code does not say this any more: ${outworn.map(({ file, was }) => `${file}: ${was}`).join("; ")}`,
    );
  mkdirSync(KEPT, { recursive: true });
  if (options.try === undefined || options.try === "stryker")
    for (const each of chosen) {
      const mutate = draw(filesOf(each, file), lines, seededRandom(seed));
      await stryker(each, { mutate, workers, file, tests, atLoad });
    }
  const planted = [];
  if ((options.try === undefined && file === "") || options.try === "planted")
    for (const each of PLANTED) planted.push({ holds: each.holds, noticed: (await noticed(each, workers)) ?? null });
  const rooms = chosen.map((each) => judge(each, file));
  const ok = rooms.every(({ score, least }) => score >= least) && planted.every((each) => each.noticed !== null);
  return { ok, seed, rooms, planted };
}

const HEAD = [
  "room",
  "files",
  "mutants",
  "killed",
  "survived",
  "untested",
  "equivalent",
  "at load",
  "share",
  "goal",
  "",
];
const inColumns = (cells: readonly (string | number)[]): string =>
  cells.map((cell, column) => (column === 0 ? String(cell).padEnd(15) : String(cell).padStart(11))).join("");

export const print = ({ rooms, planted }: Awaited<ReturnType<typeof run>>): string =>
  [
    inColumns(HEAD),
    ...rooms.map(({ room, files, tried, mutants, killed, survived, untested, equivalent, atLoad, score, least }) =>
      inColumns([
        room,
        `${tried}/${files}`,
        mutants,
        killed,
        survived,
        untested,
        equivalent,
        atLoad,
        `${(100 * score).toFixed(1)} %`,
        `${100 * least} %`,
        score >= least ? "holds" : "missed",
      ]),
    ),
    ...(planted.length === 0
      ? []
      : [`planted: ${planted.filter((each) => each.noticed !== null).length} of ${planted.length} noticed`]),
    ...planted.filter((each) => each.noticed === null).map(({ holds }) => `  nobody noticed: ${holds}`),
    ...rooms.flatMap(({ survivors }) =>
      survivors.map(
        (it) =>
          `  ${it.file}:${it.line} ${it.untested ? "untested, " : ""}${it.mutator}, place ${it.nth}: ${short(it.was)} -> ${short(it.became)}`,
      ),
    ),
  ].join("\n");

const short = (text: string): string => JSON.stringify(text.length > 70 ? `${text.slice(0, 67)}...` : text);

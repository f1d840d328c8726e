/** The first words of a run: what it will use, and where to look while it goes on. */
import { duration, plural, printable, wrapText } from "../../../surfaces/commands/index.ts";

export interface RunStart {
  readonly version: string;
  readonly configs: readonly string[];
  readonly workers: number;
  readonly processors: number;
  readonly dataDir: string;
  /** Whether something was begun in the folder before. */
  readonly goesOn: boolean;
  readonly port: number;
  readonly forMs: number | undefined;
  readonly report: string | undefined;
}

const EDGE = "  ";

export function startLines(start: RunStart, width: number): string[] {
  const [first = ""] = start.configs;
  const port = start.port === 0 ? "any free port" : `port ${start.port}`;
  const end =
    start.forMs === undefined ? "Ctrl-C ends it; the next start goes on." : `It ends after ${duration(start.forMs)}.`;
  const work =
    start.workers === 0
      ? "no processor of this machine: machines that join do the work"
      : `${start.workers} of ${plural(start.processors, "processor")}`;
  const sentences = [
    `It uses ${work} (--workers), ${port} (--port), and the folder ${printable(start.dataDir)} (--data-dir).`,
    start.goesOn ? "The folder was used before: what was begun goes on." : "The folder is new.",
    ...(start.workers === 0
      ? ["'ringrift token create <label> --join' prints the line to run on another machine."]
      : []),
    `Look from another terminal: 'ringrift status', 'ringrift why ${printable(first)}', 'ringrift elo ${printable(first)}'.`,
    `${end}${start.report === undefined ? "" : ` The report: ${printable(start.report)}`}`,
  ];
  return [
    `RingRift ${start.version} trains ${start.configs.map(printable).join(", ")}${start.workers === 0 ? "" : " on this machine"}.`,
    ...sentences.flatMap((sentence) => wrapText(sentence, width - EDGE.length - 1).map((line) => `${EDGE}${line}`)),
    "",
  ];
}

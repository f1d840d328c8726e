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
  /** Where its page is; of a port that is not known yet it means nothing. */
  readonly page: string;
  readonly forMs: number | undefined;
  readonly report: string | undefined;
  /** How the command is typed here: `npx ringrift` where npm started it. */
  readonly command: string;
}

const EDGE = "  ";

export function startLines(start: RunStart, width: number): string[] {
  const [first = ""] = start.configs;
  const port = start.port === 0 ? "any free port" : `port ${start.port}`;
  const end =
    start.forMs === undefined
      ? "Ctrl-C stops it; the next start continues."
      : `It stops after ${duration(start.forMs)}.`;
  const work =
    start.workers === 0
      ? "no processor of this machine, because machines that join do the work"
      : `${start.workers} of ${plural(start.processors, "processor")}`;
  const sentences = [
    `It uses ${work} (--workers), ${port} (--port), and the folder ${printable(start.dataDir)} (--data-dir).`,
    start.goesOn ? "The folder was used before: the run continues." : "The folder is new.",
    ...(start.workers === 0
      ? [`'${start.command} token create <label> --join' prints the command to run on another machine.`]
      : []),
    start.port === 0
      ? `'${start.command} open' prints the address of its page.`
      : `Look at it in a browser: ${start.page} ('${start.command} open' lets you change things there).`,
    `In another terminal try: '${start.command} status', '${start.command} why ${printable(first)}', '${start.command} elo ${printable(first)}'.`,
    `${end}${start.report === undefined ? "" : ` The report: ${printable(start.report)}`}`,
  ];
  return [
    `RingRift ${start.version} trains ${start.configs.map(printable).join(", ")}${start.workers === 0 ? "" : " on this machine"}.`,
    ...sentences.flatMap((sentence) => wrapText(sentence, width - EDGE.length - 1).map((line) => `${EDGE}${line}`)),
    "",
  ];
}

import { OperatingError } from "../../kernel/index.ts";
import type { Journals, JournalView, LiveJournal } from "../cli/journal-view.port.ts";
import type { MainProcess, MainProcesses } from "../cli/main-process.ts";
import type { LiveJournalOptions } from "./live-journal.ts";

/** `openFolder` reads a data folder on which nothing runs; it gives undefined when there is no journal in it. */
export function createJournals(
  processes: MainProcesses,
  openFolder: (dataDir: string) => Promise<JournalView | undefined>,
  options: LiveJournalOptions,
): Journals {
  const live = async (main: MainProcess): Promise<LiveJournal> =>
    (await import("./live-journal.ts")).openLiveJournal(main, options);
  const viewIfAny = async (): Promise<JournalView | undefined> => {
    const main = await processes.find();
    return main === undefined ? openFolder(processes.dataDir) : live(main);
  };
  return {
    viewIfAny,
    live: async () => live(await processes.need()),
    async view() {
      const found = await viewIfAny();
      if (found !== undefined) return found;
      const folder = processes.dataDir;
      throw OperatingError.unavailable("NOT_RUNNING", `nothing is running on ${folder}, and it has no journal`, {
        hint: "Start it with 'ringrift up', or choose another folder with --data-dir or RINGRIFT_DATA_DIR.",
      });
    },
  };
}

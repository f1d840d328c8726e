import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import { findEndpoint, requireEndpoint } from "../client/endpoint.ts";
import type { JournalView, LiveJournal } from "./journal-view.port.ts";
import { type LiveJournalOptions, openLiveJournal } from "./live-journal.ts";

export interface JournalsOptions extends Omit<LiveJournalOptions, "dataDir"> {
  /** The data folder, once the command line is read. */
  readonly dataDir: () => string;
  /** Reads a data folder on which nothing runs; undefined when it holds no journal. */
  readonly openFolder: (dataDir: string) => JournalView | undefined;
}

/** How commands reach a journal. */
export interface Journals {
  readonly dataDir: string;
  /** For looking: the running process, else the data folder. */
  view(): Promise<JournalView>;
  /** For changing: the running process, else an error that says what to do. */
  live(): Promise<LiveJournal>;
  /** The same as `view`, and undefined where there is nothing at all. */
  viewIfAny(): Promise<JournalView | undefined>;
}

export function createJournals({ dataDir, openFolder, ...rest }: JournalsOptions): Journals {
  const connect = async (folder: string): Promise<LiveJournal> => {
    const journal = openLiveJournal(requireEndpoint(folder), { ...rest, dataDir: folder });
    try {
      await journal.probe();
      return journal;
    } catch (thrown) {
      journal.close();
      throw thrown;
    }
  };
  const viewIfAny = async (): Promise<JournalView | undefined> => {
    const folder = dataDir();
    if (findEndpoint(folder) !== undefined)
      try {
        return await connect(folder);
      } catch (thrown) {
        // A process that was killed leaves its address behind, and its number may belong to another program by now.
        if (!isOperatingError(thrown, "UNREACHABLE") && !isOperatingError(thrown, "NOT_RUNNING")) throw thrown;
      }
    return openFolder(folder);
  };
  return {
    get dataDir() {
      return dataDir();
    },
    viewIfAny,
    live: () => connect(dataDir()),
    async view() {
      const found = await viewIfAny();
      if (found !== undefined) return found;
      throw new OperatingError("NOT_RUNNING", `nothing runs on ${dataDir()}, and there is no journal in it`, {
        retryable: true,
        hint: "'ringrift up' starts the main process; --data-dir or RINGRIFT_DATA_DIR chooses the folder.",
      });
    },
  };
}

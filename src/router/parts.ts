import type { Catalog } from "../events/index.ts";
import type { Clock, Ids, Log, Random, TimeLimits } from "../kernel/index.ts";
import type { AppendResult } from "./journal/append.ts";
import type { Prepared } from "./prepare.ts";
import type { RouterSettings } from "./settings.ts";
import type { Store } from "./store.port.ts";

/** What all parts of one router share. */
export interface RouterParts {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  readonly settings: RouterSettings;
  readonly timeLimits: TimeLimits;
}

/** An event that is in the journal now, or was found to repeat one that is. */
export interface Appended {
  readonly prepared: Prepared;
  readonly result: AppendResult;
}

/** And what follows a commit, whoever made it. */
export interface CommitHooks extends RouterParts {
  /** The write set, the emissions and the ack are on disk. */
  readonly onCommitted: (emitted: readonly Appended[]) => void;
  /** Emissions that are not durable go out once the handler has succeeded. */
  readonly publishPassing: (prepared: Prepared) => void;
}

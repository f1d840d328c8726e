/** What commands can see and do. The running process answers, or, for looking alone, what it left in its folder. */
import type { AuditReport, RuntimeFacts } from "../../daemons/index.ts";
import type {
  AnyEvent,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterStatus,
  HistoryFilter,
  PairState,
} from "../../router/index.ts";
import type { PublishedReceipt } from "../http/fields.ts";

export interface DeliveryNote {
  readonly consumer: string;
  readonly state: PairState;
}

/** An event, and how it stands with each consumer that is owed it. */
export interface EventNote {
  readonly event: AnyEvent;
  readonly deliveries: readonly DeliveryNote[];
}

export interface TraceNote {
  readonly trace_id: string;
  readonly events: readonly EventNote[];
}

export interface DeadLetterSummary {
  readonly counts: Readonly<Record<DeadLetterStatus, number>>;
  /** Pending letters with one cause together, most first. */
  readonly groups: readonly DeadLetterGroup[];
}

/** Judges the declarations of this code, with what was seen of them at run time where that is known. */
export type Judge = (facts: RuntimeFacts | undefined) => Promise<AuditReport>;

/** Whoever opens one lets go of it: `using view = await shell.journals.view()`. */
export interface JournalView extends Disposable {
  /** Whether a running process answers, or its data folder is read. */
  readonly from: "process" | "folder";
  /** The newest events that fit, oldest first. */
  history(filter: HistoryFilter): Promise<AnyEvent[]>;
  /** Throws EVENT_NOT_FOUND. */
  event(eventId: string): Promise<EventNote>;
  /** All events of the trace that this one belongs to. Throws EVENT_NOT_FOUND. */
  trace(eventId: string): Promise<TraceNote>;
  deadLetters(filter: DeadLetterFilter, limit: number): Promise<readonly DeadLetter[]>;
  deadLetterSummary(): Promise<DeadLetterSummary>;
  /** The running process's own audit; of a folder, `judge` over what it shows. */
  audit(judge: Judge): Promise<AuditReport>;
}

export interface DeadLetterSelection {
  readonly filter: Omit<DeadLetterFilter, "status">;
  readonly maxEvents: number;
  readonly dryRun: boolean;
  readonly actor: string;
}

/** What a running process can do beyond that. */
export interface LiveJournal extends JournalView {
  publish(eventType: string, payload: Readonly<Record<string, unknown>>, source: string): Promise<PublishedReceipt>;
  /**
   * What happens from now on, over restarts of the main process and without gaps in what is journaled; `sinceSeconds`
   * begins earlier. Ends with the signal.
   */
  follow(options: FollowOptions): AsyncGenerator<Followed>;
  retryDeadLetters(selection: DeadLetterSelection): Promise<readonly DeadLetter[]>;
  discardDeadLetters(selection: DeadLetterSelection): Promise<readonly DeadLetter[]>;
  /** Forgets what was resolved longer ago than this; says how many. */
  cleanUpDeadLetters(olderThanHours: number): Promise<number>;
  /** When the process started, in Unix seconds. */
  readonly startedAt: number;
}

export interface FollowOptions {
  readonly eventTypes: readonly string[];
  readonly sinceSeconds?: number | undefined;
  readonly signal: AbortSignal;
}

export type Followed =
  | { readonly event: AnyEvent }
  /** So many were left out because we read too slowly. */
  | { readonly missed: number }
  /** The stream is open, the main process went away, or it is back. */
  | { readonly connection: "open" | "lost" | "back" };

/** How commands reach a journal. */
export interface Journals {
  /** For looking: the running process, else the data folder. */
  view(): Promise<JournalView>;
  /** For changing: the running process, else an error that says what to do. */
  live(): Promise<LiveJournal>;
  /** The same as `view`, and undefined where there is nothing at all. */
  viewIfAny(): Promise<JournalView | undefined>;
}

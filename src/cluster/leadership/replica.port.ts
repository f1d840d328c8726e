/** What leadership needs of the database that it leads or follows with. */
import type { OperatingError } from "../../kernel/index.ts";
import type { EntryKind, LogPosition, Operation, StoredEntry } from "../../router/index.ts";

/** A leadership as it was won. */
export interface Term {
  readonly cluster: string;
  readonly generation: number;
  readonly term: number;
  /** The process that leads, and its node. */
  readonly boot: string;
  readonly node: string;
}

/** What the writer of a term asks, and tells, of its lease. */
export interface Lease {
  /** Until when this process may believe that it leads, on the clock that never goes back. */
  readonly trustedUntil: () => number;
  /** An entry that was first sent then is in the log: the lease counts from there. */
  readonly onAccepted: (sentAt: number) => void;
}

/** Steps of the schema, as an entry carries them. */
export interface SchemaSteps {
  readonly steps: readonly {
    readonly module: string;
    readonly id: number;
    readonly name: string;
    readonly sql: string;
  }[];
}

/** Writes as the leader of one term, until that term is over. */
export interface TermWriter {
  apply(
    commits: readonly (readonly Operation[])[],
  ): Promise<
    ({ readonly ok: true; readonly results: readonly unknown[] } | { readonly ok: false; readonly error: unknown })[]
  >;
  /** Appends an entry that changes no row. */
  append(kind: Exclude<EntryKind, "changes" | "term" | "migrate">, body?: Uint8Array): Promise<void>;
  /** Appends steps of the schema, and takes them here; data is changed by ordinary commits after it. */
  migrate(steps: SchemaSteps): Promise<void>;
  /** Resolves with the reason when the term is over; nothing is written in it any more. */
  readonly ended: Promise<OperatingError>;
  /** Ends the term from here; resolves when nothing of it is under way any more, so that the database is free for others. */
  end(why: string): Promise<void>;
}

/**
 * `lost`: the log goes on otherwise, and `last` is where some server says that it ends. `unknown`: it may have been won, and nobody leads
 * until the silence is over again.
 */
export type Claimed =
  | { readonly claim: "won"; readonly sentAt: number }
  | { readonly claim: "lost"; readonly last: number | undefined; readonly by?: string | undefined }
  | { readonly claim: "unknown" };

export interface ReplicaPort {
  position(): LogPosition;
  replay(entries: readonly StoredEntry[]): void;
  /**
   * Appends the entry of a new term behind everything that is here; `about` is what it says of who leads. Nothing is replayed meanwhile.
   */
  claim(term: Term, about?: Uint8Array): Promise<Claimed>;
  open(term: Term, lease: Lease): TermWriter;
  /** Why this replica must not lead, such as a schema that its program does not know yet; undefined when it may. */
  unfit?(): string | undefined;
}

import type { Alert } from "../../cluster/index.ts";
import type { Json } from "../../kernel/index.ts";

/** What a report says beyond the loop itself. */
export interface ReportAbout {
  readonly started_at: number;
  readonly ended_at: number;
  /** Why it ended, in words: "its time was up", "Ctrl-C". */
  readonly ended_by: string;
  /** The folder, where commands have to name it. */
  readonly data_dir?: string | undefined;
  /** What was typed. */
  readonly command: string;
  /** Of the program and of what it stands on, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** The plan of each config, by config_key. */
  readonly plans: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  /** Games that count as they were from time to time, by config_key, oldest first. */
  readonly games: Readonly<Record<string, readonly { readonly at: number; readonly games: number }[]>>;
  readonly alerts: readonly Pick<Alert, "severity" | "status" | "title" | "message" | "opened_at" | "closed_at">[];
  /** What happened to the system beside the loop, as in a worker that was killed, and what came of it. */
  readonly incidents: readonly {
    readonly at: number;
    readonly config_key: string | null;
    readonly what: string;
    readonly outcome: string | null;
  }[];
}

export interface Report {
  readonly text: string;
  readonly html: string;
}

import { defineTable } from "../../router/index.ts";

/** One job that is done again because files of it are lost. Times are milliseconds since the epoch. */
export type Rebuild = {
  /** SHA-256 of the files that are wanted of it. */
  readonly files: readonly string[];
  /** What they are, for people: `model 3fa9c1d2`. */
  readonly what: string;
  readonly state: "waiting" | "running" | "checking" | "done" | "lost";
  /** The job that makes them, while there is one. */
  readonly job: string | null;
  /** How often these files were lost, and how often they were tried to be made this time. */
  readonly times: number;
  readonly tries: number;
  /** Nodes that made other bytes of it. */
  readonly shunned: readonly string[];
  /** What it waits for, how it ended, or why it is given up. */
  readonly why: string;
  readonly since: number;
  readonly ended_at: number | null;
};

/** A job of a stage that failed because an input of it could not be fetched. */
export type AwaitedJob = {
  /** `given_up` when no rebuild will help it. */
  readonly state: "awaited" | "given_up";
  readonly why: string;
  readonly retries: number;
};

/** All of a config: rebuilds by the job that made the files first, and waiting jobs by their id. */
export type RebuildRow = {
  readonly rebuilds: { readonly [origin: string]: Rebuild };
  readonly awaited: { readonly [workId: string]: AwaitedJob };
};
/** By config_key. Written by `auto_export_daemon`. */
export const rebuildRows = defineTable<RebuildRow>("pipeline_rebuilds");

export const NO_REBUILDS: RebuildRow = { rebuilds: {}, awaited: {} };

/** The code of a failure that nothing but the lost file itself can mend. */
export const INPUT_LOST = "INPUT_LOST";
/** The worker's word for an input that it could not fetch. */
export const NO_INPUT = "no_input";

export const isOpenRebuild = ({ state }: Rebuild): boolean => state !== "done" && state !== "lost";

/** Files that nobody can make again. */
export const lostFiles = (row: RebuildRow | undefined): ReadonlySet<string> =>
  new Set(
    Object.values(row?.rebuilds ?? {})
      .filter(({ state }) => state === "lost")
      .flatMap(({ files }) => files),
  );

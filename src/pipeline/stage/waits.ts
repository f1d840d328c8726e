import type { OperatingError } from "../../kernel/index.ts";

/** Why something does not go on: what is there, and what would have to be. */
export type Wait = {
  /** A code; surfaces show it in words. */
  readonly for: string;
  /** What the code is about, where it does not say it all. */
  readonly about?: { readonly [name: string]: string | number };
  readonly actual: string | number | null;
  readonly required: string | number | null;
  /** Milliseconds since the epoch. */
  readonly since: number;
};

/** A wait as it is found now. */
export type Waiting = Omit<Wait, "since">;

/** What it waits for now; for what it waited for already, since then. */
export const waitsSince = (before: readonly Wait[], now: number, next: readonly Waiting[]): Wait[] =>
  next.map((wait) => ({ ...wait, since: before.find((known) => known.for === wait.for)?.since ?? now }));

const QUEUE = "queue";

/** The wait that a refusal of the queue is. */
export const refusedWait = ({ code, message }: OperatingError): Waiting => ({
  for: QUEUE,
  actual: `${code}: ${message}`,
  required: "takes the jobs",
});

export const isRefusal = (wait: Wait): boolean => wait.for === QUEUE;

/** The wait of what people hold. */
export const pausedWait = ({ by, reason }: { readonly by: string; readonly reason: string }): Waiting => ({
  for: "pause",
  actual: `${by}: ${reason}`,
  required: "resumed",
});

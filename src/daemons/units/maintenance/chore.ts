/** What is done from time to time to keep the house clean; rooms above bring their own. */
export interface Chore {
  readonly name: string;
  readonly everyMs: number;
  /** Resolves to what is worth a line in the log; rejects if it could not be done. */
  run(signal: AbortSignal): Promise<Readonly<Record<string, unknown>> | undefined>;
}

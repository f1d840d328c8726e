import type { Clock } from "../../../kernel/index.ts";
import type { EndpointFile } from "../../../surfaces/index.ts";

/** `warn` works for now and wants a look; `fail` does not work, or is not safe. */
export type FindingStatus = "ok" | "warn" | "fail";

export interface Finding {
  readonly check: string;
  readonly status: FindingStatus;
  readonly message: string;
  /** What to do; null where nothing is to be done. */
  readonly hint: string | null;
}

/** What the checks look at. */
export interface Patient {
  readonly dataDir: string;
  /** The nearest folder that exists: the data folder, or one above it. */
  readonly place: string;
  readonly exists: boolean;
  /** The main process that answers, if one runs. */
  readonly running: EndpointFile | undefined;
  readonly port: number;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type Check = (patient: Patient) => readonly Finding[] | Promise<readonly Finding[]>;

export const ok = (check: string, message: string): Finding => ({ check, status: "ok", message, hint: null });
export const warn = (check: string, message: string, hint: string): Finding => ({
  check,
  status: "warn",
  message,
  hint,
});
export const fail = (check: string, message: string, hint: string): Finding => ({
  check,
  status: "fail",
  message,
  hint,
});

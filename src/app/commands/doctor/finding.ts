import type { Clock } from "../../../kernel/index.ts";
import type { EndpointFile } from "../../../surfaces/index.ts";

export interface Finding {
  readonly check: string;
  /** `warn` works for now and wants a look; `fail` does not work, or is not safe. */
  readonly status: "ok" | "warn" | "fail";
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
  readonly host: string;
  readonly secure: boolean;
  readonly clock: Clock;
}

type Findings = Finding | readonly Finding[];
export type Check = (patient: Patient) => Findings | Promise<Findings>;

export const ok = (check: string, message: string): Finding => ({ check, status: "ok", message, hint: null });
const finding =
  (status: Finding["status"]) =>
  (check: string, message: string, hint: string): Finding => ({ check, status, message, hint });
export const warn = finding("warn");
export const fail = finding("fail");

/** By how much there is of something. */
export const graded = (
  check: string,
  value: number,
  least: { readonly fail: number; readonly warn: number },
  message: string,
  hint: string,
): Finding => {
  if (value < least.fail) return fail(check, message, hint);
  return value < least.warn ? warn(check, message, hint) : ok(check, message);
};

import { OperatingError } from "./errors.ts";

/** Asked right before something is done that no database can take back; throws where it must not be done now. */
export type Guard = (what: string) => void;

/** The code of what a guard throws: nothing was done. */
export const LEAD_UNSURE = "LEAD_UNSURE";

/** Lets pass what this process may do, as long as it can be sure that it is the one to do it. */
export const guardWith =
  (isSure: () => boolean): Guard =>
  (what) => {
    if (isSure()) return;
    throw OperatingError.unavailable(
      LEAD_UNSURE,
      `this coordinator cannot be sure that it still leads: ${what} waits`,
      {
        hint: "It goes on by itself when the shared log answers again, or another coordinator does it.",
        details: { retryAfterSeconds: 1 },
      },
    );
  };

type Acts<T> = {
  readonly [K in keyof T as T[K] extends ((...given: never) => unknown) | undefined ? K : never]?: string;
};

/** The same port, with a question before each act that is named; without a guard it is the port itself. */
export function guarded<T extends object>(guard: Guard | undefined, port: T, acts: Acts<T>): T {
  if (guard === undefined) return port;
  return new Proxy(port, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      const what = (acts as Readonly<Record<PropertyKey, string | undefined>>)[key];
      if (what === undefined || typeof value !== "function") return value;
      return async (...given: unknown[]) => {
        guard(what);
        return value.apply(target, given);
      };
    },
  });
}

/** How values on the command line are read; each says what it expected when it is given something else. */
import { didYouMean, OperatingError } from "../../kernel/index.ts";

const wrong = (option: string, text: string, expected: string) =>
  OperatingError.invalid("INVALID_OPTION", `${option} is ${expected}, not '${text}'`);

const numberLike =
  (shape: RegExp, kind: string) =>
  (option: string, min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!shape.test(text) || value < min || value > max) throw wrong(option, text, `${kind} from ${min} to ${max}`);
    return value;
  };

export const wholeNumber = numberLike(/^\d+$/, "a whole number");
export const decimal = numberLike(/^\d+(\.\d+)?$/, "a number");

export const oneOf =
  <const T extends string>(option: string, values: readonly T[]) =>
  (text: string): T => {
    const found = values.find((value) => value === text.toLowerCase());
    if (found === undefined)
      throw OperatingError.invalid("INVALID_OPTION", `${option}: there is no '${text}'.${didYouMean(text, values)}`, {
        hint: `There are ${values.join(", ")}.`,
      });
    return found;
  };

const SENTENCE_CHARACTERS = 500;

/** Why somebody does something, in words. */
export const sentence =
  (option: string) =>
  (text: string): string => {
    if (text.trim() === "" || text.length > SENTENCE_CHARACTERS)
      throw OperatingError.invalid(
        "INVALID_OPTION",
        `${option} is a text of at most ${SENTENCE_CHARACTERS} characters`,
      );
    return text;
  };

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const inMs = (text: string): number | undefined => {
  const read = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)$/.exec(text.trim());
  return read === null ? undefined : Number(read[1]) * UNITS[read[2]!]!;
};

/** A length of time: 20s, 5m, 2h, 1d. */
export const lengthOfTime =
  (option: string, max?: string) =>
  (text: string): number => {
    const ms = inMs(text);
    const isTooLong = ms !== undefined && max !== undefined && ms > inMs(max)!;
    if (ms === undefined || isTooLong)
      throw wrong(option, text, `a length of time such as 20s, 5m or 2h${max === undefined ? "" : `, at most ${max}`}`);
    return ms;
  };

/** A point in time, in Unix seconds: so long ago (10m), a date and time (2026-01-31T12:00), or Unix seconds. */
export const pointInTime =
  (option: string, nowMs: () => number) =>
  (text: string): number => {
    const before = inMs(text);
    if (before !== undefined) return (nowMs() - before) / 1_000;
    if (/^\d{9,11}(\.\d+)?$/.test(text)) return Number(text);
    const at = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$/.test(text) ? Date.parse(text.replace(" ", "T")) : Number.NaN;
    if (Number.isNaN(at)) throw wrong(option, text, "10m (ago), 2026-01-31T12:00 or Unix seconds");
    return at / 1_000;
  };

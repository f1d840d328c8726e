/** Numbers of a report that both its forms show. */
import type { Json } from "../../kernel/index.ts";
import type { ConfigSnapshot, GateView } from "../../pipeline/index.ts";
import { number, plural } from "../cli/text.ts";
import { strengthsOf } from "../pipeline/strength.ts";
import { championRating, eloWords, signed } from "../pipeline/words.ts";
import { knobsWords } from "../steering/words.ts";

const two = (value: number) => String(value).padStart(2, "0");

/** The same on every machine: reports travel. */
export function utc(at: number): string {
  const time = new Date(at);
  return `${time.getUTCFullYear()}-${two(time.getUTCMonth() + 1)}-${two(time.getUTCDate())} ${clockTime(at)} UTC`;
}

export function clockTime(at: number): string {
  const time = new Date(at);
  return `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}:${two(time.getUTCSeconds())}`;
}

/** Hours, minutes and seconds: a run is compared by its length, so it is told to the second. */
export function span(ms: number): string {
  const whole = Math.max(0, Math.round(ms / 1_000));
  const [h, m, s] = [Math.floor(whole / 3_600), Math.floor((whole % 3_600) / 60), whole % 60];
  if (h > 0) return `${h} h ${two(m)} min`;
  return m > 0 ? `${m} min ${two(s)} s` : `${s} s`;
}

/** The few numbers that a reader looks for first. */
export function headlines(
  config: ConfigSnapshot,
): { readonly name: string; readonly value: string; readonly note: string }[] {
  const { verdicts, champion } = config;
  const judged = verdicts.promote + verdicts.reject + verdicts.inconclusive;
  return [
    {
      name: "Champion",
      value: champion === null ? "none" : `generation ${champion.generation}`,
      note: champion === null ? "nothing was trained" : `from iteration ${champion.iteration}`,
    },
    { name: "Elo", ...eloHeadline(config) },
    { name: "Promotions", value: number(verdicts.promote), note: `of ${number(judged)} gates` },
    {
      name: "False promotions",
      value: config.expected_false_promotions.toFixed(1),
      note: "expected among them",
    },
    { name: "Games", value: number(config.games), note: `${number(config.rows)} rows` },
    ...steeringHeadlines(config),
  ];
}

/** By the ladder; of a champion that is too new for it, by its gates. */
function eloHeadline(config: ConfigSnapshot): { readonly value: string; readonly note: string } {
  const rating = championRating(config);
  const first = config.ladder.find(({ player }) => player === config.champions[0]?.model);
  if (rating !== undefined) {
    const isGain = first !== undefined && first !== rating;
    return { value: eloWords(rating), note: isGain ? `${signed(rating.elo - first.elo)} over ${first.name}` : "" };
  }
  const guess = strengthsOf(config).findLast(({ model }) => model === config.champion?.model);
  if (guess === undefined) return { value: "not rated", note: "" };
  return { value: `≈ ${signed(guess.elo)}`, note: "by its gates; not rated yet" };
}

/** `+4.9 Elo an iteration, give or take 3.1`, and since when it stands still where it does. */
function slopeWords({ slope, points, plateau_since }: Trend): string {
  if (slope === null) return `${plural(points, "round")} measured, too few to say`;
  const still = plateau_since === null ? "" : `; too little to count since iteration ${plateau_since}`;
  const give = ((slope.high - slope.low) / 2).toFixed(1);
  return `${slope.estimate < 0 ? "" : "+"}${slope.estimate.toFixed(1)} Elo an iteration, give or take ${give}${still}`;
}

/** What steers it, and whether it still gains; nothing where no knob is turned and nothing is measured. */
function steeringHeadlines({ steering }: ConfigSnapshot) {
  const knobs = steering === undefined ? undefined : knobsWords(steering);
  const elo = steering?.trends.find(({ metric }) => metric === "elo");
  return [
    ...(knobs === undefined ? [] : [{ name: "Steering", value: "at work", note: knobs }]),
    ...(elo === undefined
      ? []
      : [{ name: "Trend", value: elo.slope === null ? "too early" : elo.trend, note: slopeWords(elo) }]),
  ];
}

type Trend = NonNullable<ConfigSnapshot["steering"]>["trends"][number];

export const boundsWords = ({ elo0, elo1 }: GateView): string => `[${elo0}, ${elo1}]`;

/** A plan as lines: `gate.alpha` and its value. */
export function planRows(plan: Readonly<Record<string, Json>>, before = ""): (readonly [string, string])[] {
  return Object.entries(plan).flatMap(([name, value]): (readonly [string, string])[] => {
    const key = `${before}${name}`;
    if (value !== null && typeof value === "object" && !Array.isArray(value))
      return planRows(value as Readonly<Record<string, Json>>, `${key}.`);
    return [[key, Array.isArray(value) ? value.join(", ") : String(value)]];
  });
}

/** How one thing led to another, as a drawing: time goes to the right, each unit has a line, each event is a dot that hangs on its cause. */
import { duration, plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Tone } from "./parts.tsx";

export interface DrawnEvent {
  readonly id: string;
  readonly type: string;
  readonly by: string;
  readonly at: number;
  readonly cause: string | null;
  readonly isHere: boolean;
  readonly tone: Tone | undefined;
}

const LANE_PX = 20;
const NAMES_PX = 176;
const WIDTH = 1_120;
const TOP_PX = 22;

const TICKS = 5;

/** A pause takes no more than this share of the drawing: what happens before and after it is what one wants to see. */
const MAX_PAUSE = 0.06;

/** Where each moment stands, from 0 to 1. */
function placesOf(times: readonly number[]): readonly number[] {
  const all = Math.max(1, times.at(-1)! - times[0]!);
  let sum = 0;
  const sums = times.map((at, i) => {
    sum += i === 0 ? 0 : Math.min(at - times[i - 1]!, MAX_PAUSE * all);
    return sum;
  });
  return sums.map((each) => each / Math.max(1, sum));
}

export function CauseDrawing({ events }: { events: readonly DrawnEvent[] }) {
  if (events.length < 2) return null;
  const sorted = events.toSorted((a, b) => a.at - b.at);
  const lanes = [...new Set(sorted.map(({ by }) => by))];
  const [from, to] = [sorted[0]!.at, sorted.at(-1)!.at];
  const places = placesOf(sorted.map(({ at }) => at));
  const x = (place: number) => NAMES_PX + 8 + place * (WIDTH - NAMES_PX - 24);
  const dots = new Map(
    sorted.map((event, i) => [
      event.id,
      { ...event, x: x(places[i]!), y: TOP_PX + (lanes.indexOf(event.by) + 0.5) * LANE_PX },
    ]),
  );
  const height = TOP_PX + lanes.length * LANE_PX + 6;
  const label = `${plural(events.length, "event")} of ${plural(lanes.length, "unit")} over ${duration(to - from)}; pauses are drawn shorter`;
  return (
    <div class="graph causes-drawn" tabIndex={0} role="region" aria-label={label}>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="group" aria-label={label}>
        {lanes.map((lane, i) => (
          <g key={lane} class="lane">
            <line x1={NAMES_PX} x2={WIDTH} y1={TOP_PX + (i + 0.5) * LANE_PX} y2={TOP_PX + (i + 0.5) * LANE_PX} />
            <text x={NAMES_PX - 8} y={TOP_PX + (i + 0.5) * LANE_PX} dy="0.34em" text-anchor="end">
              {printable(lane).slice(0, 28)}
            </text>
          </g>
        ))}
        {Array.from({ length: TICKS }, (_, i) => {
          // Where time is not even, the first event from there on says which it is.
          const first = places.findIndex((place) => place >= i / (TICKS - 1) - 1e-9);
          return (
            <text key={i} class="sub" x={x(places[first]!)} y="12" text-anchor={i === TICKS - 1 ? "end" : "middle"}>
              +{duration(sorted[first]!.at - from)}
            </text>
          );
        })}
        {[...dots.values()].map(({ id, cause, x: x2, y: y2 }) => {
          const before = cause === null ? undefined : dots.get(cause);
          if (before === undefined) return null;
          const middle = (before.x + x2) / 2;
          return (
            <path
              key={id}
              class="edge"
              d={`M${before.x} ${before.y}C${middle} ${before.y} ${middle} ${y2} ${x2} ${y2}`}
            />
          );
        })}
        {[...dots.values()].map(({ id, type, by, at, x: cx, y: cy, isHere, tone }) => (
          // The list below has the same links for whoever goes by key.
          <a
            key={id}
            href={`/journal/${encodeURIComponent(id)}`}
            tabIndex={-1}
            aria-label={`${printable(type)} by ${printable(by)}`}
          >
            <title>{`${printable(type)} by ${printable(by)}, +${duration(at - from)}`}</title>
            <circle class={`dot ${isHere ? "here" : (tone ?? "")}`} cx={cx} cy={cy} r={isHere ? 5.5 : 3.4} />
          </a>
        ))}
      </svg>
    </div>
  );
}

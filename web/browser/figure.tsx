/** Figures as SVG, with their numbers beside them: whoever cannot see a line reads the table. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { number } from "../../src/surfaces/cli/text.ts";
import { roundRange, type Scale, scale, ticks } from "../../src/surfaces/report/scale.ts";

/** Until it is measured, and no narrower. */
const WIDTH = 640;
const MIN_WIDTH = 260;
/** Room for each line of the grid. */
const LINE_PX = 36;
const EDGE = { left: 52, right: 16, top: 12, bottom: 26 };

export interface Frame {
  readonly x: Scale;
  readonly y: Scale;
  readonly width: number;
  readonly height: number;
  readonly edge: typeof EDGE;
}

interface FigureProps {
  readonly title: string;
  readonly caption?: ComponentChildren;
  readonly x: {
    readonly from: number;
    readonly to: number;
    readonly label: string;
    readonly words?: (value: number) => string;
  };
  readonly y: {
    readonly values: readonly number[];
    readonly label: string;
    readonly words?: (value: number) => string;
  };
  readonly height?: number;
  /** Room at the right for names. */
  readonly right?: number;
  readonly draw: (frame: Frame) => ComponentChildren;
  readonly table: { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };
}

const plain = (value: number): string => number(Number(value.toPrecision(6)));

/** As wide as its room: what is written in a figure has one size on every screen. */
function useWidth() {
  const room = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(WIDTH);
  useLayoutEffect(() => {
    const measure = () => {
      const svg = room.current?.querySelector("svg");
      if (svg) setWidth(Math.max(MIN_WIDTH, Math.round(svg.getBoundingClientRect().width)));
    };
    measure();
    const watch = new ResizeObserver(measure);
    if (room.current) watch.observe(room.current);
    return () => watch.disconnect();
  }, []);
  return { room, width };
}

export function Figure({ title, caption, x, y, height = 220, right = EDGE.right, draw, table }: FigureProps) {
  const { room, width } = useWidth();
  const edge = { ...EDGE, right };
  const lines = Math.max(3, Math.round(height / LINE_PX));
  const [low, high] = roundRange(y.values, lines);
  const frame: Frame = {
    x: scale(x.from, x.to, edge.left, width - edge.right),
    y: scale(low, high, height - edge.bottom, edge.top),
    width,
    height,
    edge,
  };
  return (
    <figure class="figure" ref={room}>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={title}>
        <title>{title}</title>
        {ticks(low, high, lines).map((value) => (
          <g key={value} class="tick">
            <line x1={edge.left} x2={width - edge.right} y1={frame.y(value)} y2={frame.y(value)} />
            <text x={edge.left - 6} y={frame.y(value)} dy="0.32em" text-anchor="end">
              {(y.words ?? plain)(value)}
            </text>
          </g>
        ))}
        {ticks(x.from, x.to, width < 420 ? 5 : 8, x.words === undefined).map((value) => (
          <text key={value} class="tick-x" x={frame.x(value)} y={height - 9} text-anchor="middle">
            {(x.words ?? plain)(value)}
          </text>
        ))}
        {draw(frame)}
      </svg>
      <figcaption>
        <span>
          {caption} <span class="dim">{`${y.label} by ${x.label}`}</span>
        </span>
        <Numbers {...table} label={title} />
      </figcaption>
    </figure>
  );
}

/** The same as numbers. */
const Numbers = ({ head, rows, label }: FigureProps["table"] & { label: string }) => (
  <details class="numbers">
    <summary>Numbers</summary>
    <div class="numbers-scroll" tabIndex={0} role="region" aria-label={`${label}, as numbers`}>
      <table>
        <thead>
          <tr>
            {head.map((word) => (
              <th key={word} scope="col">
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.join(" ")}>
              {row.map((cell, i) => (
                <td key={head[i]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </details>
);

/** A line through points; where there is none, it begins anew. */
export const Line = ({
  points,
  frame,
  name,
}: {
  points: readonly (readonly [number, number | null])[];
  frame: Frame;
  name: string;
}) => {
  let pen = "M";
  const path = points
    .map(([x, y]) => {
      if (y === null || !Number.isFinite(y)) {
        pen = "M";
        return "";
      }
      const step = `${pen}${frame.x(x).toFixed(1)} ${frame.y(y).toFixed(1)}`;
      pen = "L";
      return step;
    })
    .join("");
  const dots = points.length <= 40 ? points : [];
  return (
    <g class={`line ${name}`}>
      <path d={path} />
      {dots.map(([x, y]) => (y === null ? null : <circle key={x} cx={frame.x(x)} cy={frame.y(y)} r="2.2" />))}
    </g>
  );
};

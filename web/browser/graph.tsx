/** A graph as a drawing: each box is a link, and pointing at one shows what it hangs with. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Edge } from "../../src/surfaces/web/layered.ts";
import { layered } from "../../src/surfaces/web/layered.ts";
import type { Tone } from "./parts.tsx";

export interface GraphNode {
  readonly id: string;
  readonly label: string;
  readonly sub?: string;
  readonly to?: string;
  readonly tone?: Tone;
  readonly isHere?: boolean;
}

const USUAL = { width: 188, height: 40, gapX: 44, gapY: 12, chars: 24, rows: 14 };
/** Many are drawn smaller and without a second line, so that all of them are seen at once. */
const DENSE = { width: 142, height: 24, gapX: 12, gapY: 6, chars: 21, rows: 22 };
const MANY = 30;
/** Smaller than this nobody reads it: it scrolls instead. */
const LEAST_SCALE = 0.84;
const EDGE_PX = 8;

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text);

type Size = typeof USUAL;

/** Where each stands. A column that is too long goes on beside itself. */
function placesOf(nodes: readonly GraphNode[], edges: readonly Edge[], size: Size) {
  const placed = layered(
    nodes.map(({ id }) => id),
    edges,
  );
  const lengths: number[] = [];
  for (const { column, row } of placed) lengths[column] = Math.max(lengths[column] ?? 0, row + 1);
  const starts = lengths.map((_, column) =>
    lengths.slice(0, column).reduce((sum, rows) => sum + Math.ceil(rows / size.rows), 0),
  );
  const tallest = Math.min(size.rows, Math.max(...lengths));
  /** Columns with fewer rows stand in the middle beside those with more. */
  const above = (column: number, part: number) =>
    (tallest - Math.min(size.rows, lengths[column]! - part * size.rows)) / 2;
  return new Map(
    placed.map(({ id, column, row }) => {
      const part = Math.floor(row / size.rows);
      return [
        id,
        {
          x: EDGE_PX + (starts[column]! + part) * (size.width + size.gapX),
          y: EDGE_PX + (above(column, part) + (row % size.rows)) * (size.height + size.gapY),
        },
      ];
    }),
  );
}

const Box = ({ node, size }: { node: GraphNode; size: Size }) => {
  const sub = size === DENSE ? undefined : node.sub;
  return (
    <>
      <title>{node.sub === undefined ? node.label : `${node.label}: ${node.sub}`}</title>
      <rect width={size.width} height={size.height} rx="5" />
      <text x="9" y={sub === undefined ? size.height / 2 : 17} dy={sub === undefined ? "0.34em" : undefined}>
        {cut(node.label, size.chars)}
      </text>
      {sub !== undefined && (
        <text x="9" y="32" class="sub">
          {cut(sub, sub === sub.toUpperCase() ? 25 : 29)}
        </text>
      )}
    </>
  );
};

export function Graph({ label, nodes, edges }: { label: string; nodes: readonly GraphNode[]; edges: readonly Edge[] }) {
  const room = useRef<HTMLDivElement>(null);
  const [over, setOver] = useState<string | undefined>();
  const size = nodes.length > MANY ? DENSE : USUAL;
  const at = placesOf(nodes, edges, size);
  const width = Math.max(...[...at.values()].map(({ x }) => x)) + size.width + EDGE_PX;
  const height = Math.max(...[...at.values()].map(({ y }) => y)) + size.height + EDGE_PX;
  const here = nodes.find(({ isHere }) => isHere);
  const hereX = here === undefined ? 0 : at.get(here.id)!.x + size.width / 2;
  const hereY = here === undefined ? 0 : at.get(here.id)!.y + size.height / 2;
  useLayoutEffect(() => {
    const box = room.current;
    if (!box) return;
    // It may be drawn smaller than it was laid out.
    const shown = box.scrollWidth / width;
    box.scrollLeft = hereX * shown - box.clientWidth / 2;
    box.scrollTop = hereY * shown - box.clientHeight / 2;
  }, [hereX, hereY, width]);
  const isNear = (id: string) =>
    id === over || edges.some(({ from, to }) => (from === over && to === id) || (to === over && from === id));
  return (
    <div class="graph" tabIndex={0} role="region" aria-label={label} ref={room}>
      <svg
        class={size === DENSE ? "dense" : ""}
        viewBox={`0 0 ${width} ${height}`}
        style={{ maxWidth: `${width}px`, minWidth: `${Math.round(width * LEAST_SCALE)}px` }}
        role="group"
        aria-label={label}
      >
        {edges.map(({ from, to }) => {
          const [a, b] = [at.get(from), at.get(to)];
          if (a === undefined || b === undefined) return null;
          const [x1, y1, x2, y2] = [a.x + size.width, a.y + size.height / 2, b.x, b.y + size.height / 2];
          const bend = Math.max(18, Math.abs(x2 - x1) / 2);
          return (
            <path
              key={`${from} ${to}`}
              class={from === over || to === over ? "edge on" : "edge"}
              d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
            />
          );
        })}
        {nodes.map((node) => {
          const { x, y } = at.get(node.id)!;
          const isOff = over !== undefined && !isNear(node.id);
          return (
            <g
              key={node.id}
              class={`node ${node.tone ?? ""} ${node.isHere ? "here" : ""} ${isOff ? "off" : ""}`}
              transform={`translate(${x} ${y})`}
              onPointerEnter={() => setOver(node.id)}
              onPointerLeave={() => setOver(undefined)}
              onFocusCapture={() => setOver(node.id)}
              onBlurCapture={() => setOver(undefined)}
            >
              {node.to === undefined ? (
                <Box node={node} size={size} />
              ) : (
                <a href={node.to}>
                  <Box node={node} size={size} />
                </a>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

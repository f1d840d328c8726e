/** A graph as a drawing, and as a list for whoever reads it by ear. */
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

const BOX = { width: 188, height: 40, gapX: 44, gapY: 14 };

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text);

export function Graph({ label, nodes, edges }: { label: string; nodes: readonly GraphNode[]; edges: readonly Edge[] }) {
  const placed = layered(
    nodes.map(({ id }) => id),
    edges,
  );
  const at = new Map(
    placed.map(({ id, column, row }) => [
      id,
      { x: 8 + column * (BOX.width + BOX.gapX), y: 8 + row * (BOX.height + BOX.gapY) },
    ]),
  );
  const width = Math.max(...[...at.values()].map(({ x }) => x)) + BOX.width + 8;
  const height = Math.max(...[...at.values()].map(({ y }) => y)) + BOX.height + 8;
  return (
    <div class="graph" tabIndex={0} role="region" aria-label={label}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="group" aria-label={label}>
        {edges.map(({ from, to }) => {
          const [a, b] = [at.get(from), at.get(to)];
          if (a === undefined || b === undefined) return null;
          const [x1, y1, x2, y2] = [a.x + BOX.width, a.y + BOX.height / 2, b.x, b.y + BOX.height / 2];
          const bend = Math.max(18, Math.abs(x2 - x1) / 2);
          return (
            <path
              key={`${from} ${to}`}
              class="edge"
              d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
            />
          );
        })}
        {nodes.map((node) => {
          const { x, y } = at.get(node.id)!;
          const box = (
            <>
              <title>{node.sub === undefined ? node.label : `${node.label}: ${node.sub}`}</title>
              <rect width={BOX.width} height={BOX.height} rx="6" />
              <text x="10" y={node.sub === undefined ? 25 : 17}>
                {cut(node.label, 24)}
              </text>
              {node.sub !== undefined && (
                <text x="10" y="32" class="sub">
                  {cut(node.sub, 29)}
                </text>
              )}
            </>
          );
          return (
            <g
              key={node.id}
              class={`node ${node.tone ?? ""} ${node.isHere ? "here" : ""}`}
              transform={`translate(${x} ${y})`}
            >
              {node.to === undefined ? box : <a href={node.to}>{box}</a>}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

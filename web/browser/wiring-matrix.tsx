/** Who speaks to whom, all at once: a row for each that emits, a column for each unit that hears; a cell is as dark as there are events. */
import { useState } from "preact/hooks";
import type { AuditReport } from "../../src/daemons/index.ts";
import { plural } from "../../src/surfaces/cli/text.ts";

type Unit = AuditReport["layers"][number]["units"][number];

const CELL_PX = 13;
const NAMES_PX = 190;
const TOP_PX = 176;
const MAX_NAMED = 6;

const shadeOf = (events: number): number => Math.min(4, events);

export function WiringMatrix({
  units,
  parts,
  orphans,
}: {
  units: readonly Unit[];
  parts: AuditReport["parts"];
  /** Units with an event that nobody hears or emits. */
  orphans: ReadonlySet<string>;
}) {
  const [over, setOver] = useState<{ readonly row: number; readonly column: number } | undefined>();
  const emitters = [...units, ...parts].filter(({ emits }) => emits.length > 0);
  const hearers = units.filter(({ hears }) => hears.length > 0);
  const width = NAMES_PX + hearers.length * CELL_PX + 8;
  const height = TOP_PX + emitters.length * CELL_PX + 8;
  const between = (row: number, column: number): readonly string[] => {
    const heard = new Set(hearers[column]!.hears);
    return emitters[row]!.emits.filter((event) => heard.has(event));
  };
  const pointed = over === undefined ? undefined : between(over.row, over.column);
  return (
    <>
      <p class="more dim" aria-live="polite">
        {over === undefined || pointed === undefined
          ? "Point at a cell to see what is said; a name shows all of one unit."
          : `${emitters[over.row]!.name} tells ${hearers[over.column]!.name} ${plural(pointed.length, "event")}: ${pointed.slice(0, MAX_NAMED).join(", ")}${pointed.length > MAX_NAMED ? ", …" : ""}`}
      </p>
      <div class="graph matrix" tabIndex={0} role="region" aria-label="Who speaks to whom">
        <svg
          viewBox={`0 0 ${width} ${height}`}
          style={{ width: `${width}px` }}
          role="group"
          aria-label="Who speaks to whom"
        >
          {emitters.map(({ name }, row) => (
            <g key={name} class={`${orphans.has(name) ? "bad" : ""} ${over?.row === row ? "on" : ""}`}>
              <line x1={NAMES_PX} x2={width - 8} y1={TOP_PX + row * CELL_PX} y2={TOP_PX + row * CELL_PX} />
              <a href={`/wiring?unit=${name}`}>
                <text x={NAMES_PX - 6} y={TOP_PX + (row + 0.5) * CELL_PX} dy="0.34em" text-anchor="end">
                  {orphans.has(name) ? `✗ ${name}` : name}
                </text>
              </a>
            </g>
          ))}
          {hearers.map(({ name }, column) => (
            <g key={name} class={`${orphans.has(name) ? "bad" : ""} ${over?.column === column ? "on" : ""}`}>
              <line x1={NAMES_PX + column * CELL_PX} x2={NAMES_PX + column * CELL_PX} y1={TOP_PX} y2={height - 8} />
              <a href={`/wiring?unit=${name}`} tabIndex={-1}>
                <text
                  transform={`translate(${NAMES_PX + (column + 0.5) * CELL_PX} ${TOP_PX - 5}) rotate(-90)`}
                  dy="0.34em"
                >
                  {name}
                </text>
              </a>
            </g>
          ))}
          {emitters.flatMap((emitter, row) =>
            hearers.map((hearer, column) => {
              const events = between(row, column).length;
              return events === 0 ? null : (
                <rect
                  key={`${emitter.name} ${hearer.name}`}
                  class={`shade${shadeOf(events)}`}
                  x={NAMES_PX + column * CELL_PX + 0.5}
                  y={TOP_PX + row * CELL_PX + 0.5}
                  width={CELL_PX - 1}
                  height={CELL_PX - 1}
                  onPointerEnter={() => setOver({ row, column })}
                  onPointerLeave={() => setOver(undefined)}
                />
              );
            }),
          )}
        </svg>
      </div>
    </>
  );
}

/** A board as buttons: what may be played can be reached by finger, mouse and key, and nothing else can be pressed. */
import type { Board, NetworkView } from "../../src/workloads/arena/console/board.ts";
import type { GameAbout } from "./arena-messages.ts";

/** Beside the colour, each seat has a mark of its own. */
export const SEATS = ["X", "O", "A", "B"] as const;

const letter = (column: number): string => String.fromCharCode(97 + column);
const nameOf = (columns: number, cell: number): string => `${letter(cell % columns)}${Math.floor(cell / columns) + 1}`;

interface BoardProps {
  readonly about: GameAbout;
  readonly configKey: string;
  readonly board: Board & { readonly last: number | null };
  /** What a network thinks of each legal move. */
  readonly view?: NetworkView | null | undefined;
  /** Plays a move; without it nothing can be pressed. */
  readonly play?: ((move: string) => void) | undefined;
}

const stoneWords = (stone: number): string => (stone === 0 ? "empty" : SEATS[stone - 1]!);

export function BoardView({ about, configKey, board, view, play }: BoardProps) {
  const { rows, columns } = about;
  const isRhombus = configKey.startsWith("hex");
  // Each row of a rhombus begins half a cell further right.
  const width = isRhombus ? columns + (rows - 1) / 2 : columns;
  const legalAt = new Map(
    board.legal.flatMap((move, i) => (move.cell === null ? [] : [[move.cell, { ...move, i }] as const])),
  );
  const others = board.legal.filter(({ cell }) => cell === null);
  const best = view == null ? 1 : Math.max(...view.policy);
  return (
    <>
      <div class="board" role="group" aria-label={`Board of ${about.title}`} style={{ "--columns": width }}>
        {Array.from({ length: rows }, (_, row) => (
          <div class="board-row" key={row} style={isRhombus ? { "--shift": row } : undefined}>
            {Array.from({ length: columns }, (_, column) => {
              const cell = row * columns + column;
              const stone = board.cells[cell]!;
              const legal = legalAt.get(cell);
              const share = legal === undefined ? undefined : view?.policy[legal.i];
              const words = `${nameOf(columns, cell)}: ${stoneWords(stone)}`;
              const inside = (
                <>
                  {stone !== 0 && (
                    <span class={`stone seat${stone}${board.last === cell ? " last" : ""}`} aria-hidden="true">
                      {SEATS[stone - 1]}
                    </span>
                  )}
                  {share !== undefined && share >= 0.005 && (
                    <span class="share" style={{ "--share": share / best }} aria-hidden="true">
                      {Math.round(share * 100)}
                    </span>
                  )}
                </>
              );
              return legal !== undefined && play !== undefined ? (
                <button
                  key={cell}
                  type="button"
                  class="cell legal"
                  aria-label={`Play ${legal.text}`}
                  data-move={legal.text}
                  onClick={() => play(legal.text)}
                >
                  {inside}
                </button>
              ) : (
                <span key={cell} class="cell" role="img" aria-label={words}>
                  {inside}
                </span>
              );
            })}
          </div>
        ))}
      </div>
      {play !== undefined &&
        others.map(({ text }) => (
          <button key={text} type="button" data-move={text} onClick={() => play(text)}>
            Play {text}
          </button>
        ))}
    </>
  );
}

/** What each seat may expect, as one bar. */
export const ValueBar = ({ values }: { values: readonly number[] }) => (
  <div
    class="values"
    role="img"
    aria-label={values.map((value, seat) => `${SEATS[seat]} ${Math.round(value * 100)} %`).join(", ")}
  >
    {values.map((value, seat) => (
      <i key={SEATS[seat]} class={`seat${seat + 1}`} style={{ width: `${value * 100}%` }}>
        {value >= 0.12 ? `${SEATS[seat]} ${Math.round(value * 100)} %` : ""}
      </i>
    ))}
  </div>
);

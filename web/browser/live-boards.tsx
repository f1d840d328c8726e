/** Games that are played right now: a few nodes tell the board in their hands while somebody looks here. */
import { plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { listBoards } from "../../src/surfaces/queue/wire.ts";
import { SEATS } from "./board.tsx";
import { Empty, Load, Panel } from "./parts.tsx";
import { useAnswer } from "./use-answer.ts";

type Shown = Answer<typeof listBoards>["boards"][number];

const EVERY_MS = 1_000;
const EMPTY = ".";
const CELLS = new RegExp(`^[${EMPTY}${SEATS.join("")}]+$`);

/** Programs of others may show their board in any way: what is no grid of seats is shown as the text that it is. */
const isGrid = ({ lines }: Shown): boolean =>
  lines.every((line) => CELLS.test(line) && line.length === lines[0]!.length);

const Grid = ({ shown: { lines, config_key } }: { shown: Shown }) => (
  <div class={config_key?.startsWith("hex") ? "live-grid rhombus" : "live-grid"} aria-hidden="true">
    {lines.map((line, row) => (
      // Rows and cells have nothing but their place.
      <div key={row} style={{ "--shift": row }}>
        {[...line].map((mark, column) => (
          <i key={column} class={mark === EMPTY ? "" : `seat${SEATS.indexOf(mark as (typeof SEATS)[number]) + 1}`} />
        ))}
      </div>
    ))}
  </div>
);

const stonesOf = ({ lines }: Shown): string =>
  SEATS.map((mark) => [mark, lines.join("").split(mark).length - 1] as const)
    .filter(([, stones]) => stones > 0)
    .map(([mark, stones]) => `${mark} ${stones}`)
    .join(", ");

export function LiveBoards({ only }: { only: string | null }) {
  const loaded = useAnswer(listBoards, {}, { everyMs: EVERY_MS });
  const boards = (loaded.answer?.boards ?? []).filter(({ config_key }) => only === null || config_key === only);
  return (
    <Panel title="Played now" aside={plural(boards.length, "board")}>
      <Load loaded={loaded}>
        {() =>
          boards.length === 0 ? (
            <div class="empty">
              <Empty
                title="No game is shown yet."
                todo={
                  <>
                    Nodes that play tell their boards within 10 s, for as long as somebody looks.{" "}
                    <a href="/work?type=selfplay">Work</a> shows which jobs of self-play run.
                  </>
                }
              />
            </div>
          ) : (
            <ul class="live-boards">
              {boards.map((shown) => (
                <li key={shown.work_id}>
                  {isGrid(shown) ? (
                    <Grid shown={shown} />
                  ) : (
                    <pre tabIndex={0}>{shown.lines.map(printable).join("\n")}</pre>
                  )}
                  <p>
                    <a href={`/work/${shown.work_id}`}>{printable(shown.config_key ?? shown.work_id)}</a>{" "}
                    <span class="dim">
                      {printable(shown.work_type)} on {printable(shown.node)}
                    </span>
                  </p>
                  <p class="dim">
                    {printable(shown.note ?? "")}
                    {isGrid(shown) && <span class="visually-hidden">, stones: {stonesOf(shown)}</span>}
                  </p>
                </li>
              ))}
            </ul>
          )
        }
      </Load>
    </Panel>
  );
}

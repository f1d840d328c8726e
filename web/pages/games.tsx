/** Played games: the files that hold them, and each game move by move, as a network sees it. */
import { useEffect, useState } from "preact/hooks";
import { number, plural, printable } from "../../src/surfaces/cli/text.ts";
import { listModels } from "../../src/surfaces/models/wire.ts";
import { shortModel } from "../../src/surfaces/pipeline/words.ts";
import { getRecord, listRecords, type Segment } from "../../src/surfaces/records/wire.ts";
import { addressOf } from "../browser/api.ts";
import { useArena, useArenaAnswer } from "../browser/arena.ts";
import type { ArenaAsks, RecordedGame } from "../browser/arena-messages.ts";
import { BoardView, SEATS, ValueBar } from "../browser/board.tsx";
import { Figure, Line } from "../browser/figure.tsx";
import { LiveBoards } from "../browser/live-boards.tsx";
import { Badge, Empty, Facts, Load, Num, Older, Panel, Table, Tabs, Time, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";
import { PAGE_ROWS, usePages } from "../browser/use-pages.ts";

const PAGE = 50;

function List({ query }: { query: URLSearchParams }) {
  const only = query.get("config");
  const asked = only === null ? {} : { config_key: only as never };
  const all = useAnswer(listRecords, { query: { limit: PAGE_ROWS } });
  const { loaded, rows, more } = usePages(listRecords, {
    query: asked,
    rowsOf: ({ segments }) => segments,
    placeOf: ({ seq = 0 }) => seq,
    before: ({ seq }) => ({ before: seq }),
  });
  const configs = [...new Set((all.answer?.segments ?? []).flatMap(({ config_key }) => config_key ?? []))].sort();
  return (
    <>
      <ViewHead
        title="Games"
        lead="What is played now, and every game that was kept. A file is one job's work."
        json={addressOf(listRecords, { query: asked })}
        command="ringrift records list"
      />
      <Tabs
        label="Configs"
        tabs={[
          { name: "all", to: "/games", isHere: only === null },
          ...configs.map((config) => ({ name: config, to: `/games?config=${config}`, isHere: config === only })),
        ]}
      />
      <LiveBoards only={only} />
      <Panel title="Files of games" aside="newest first">
        <Load loaded={loaded}>
          {() => (
            <Table<Segment>
              label="Files of games"
              rows={rows}
              keyOf={({ sha256 }) => sha256}
              empty={
                <Empty title="No game was played yet." todo="'ringrift why <config>' says what self-play waits for." />
              }
              columns={[
                {
                  head: "File",
                  cell: ({ sha256 }) => (
                    <a class="mono" href={`/games/${sha256}`}>
                      {sha256.slice(0, 12)}
                    </a>
                  ),
                },
                { head: "Config", cell: ({ config_key }) => printable(config_key ?? "") },
                {
                  head: "Iteration",
                  right: true,
                  cell: ({ iteration }) => (iteration === null ? "" : <Num value={iteration} />),
                },
                { head: "Games", right: true, cell: ({ games }) => <Num value={games} /> },
                {
                  head: "State",
                  cell: ({ state }) => (
                    <Badge tone={state === "durable" ? "good" : "plain"}>{state.replaceAll("_", " ")}</Badge>
                  ),
                },
                {
                  head: "Job",
                  cell: ({ work_id }) => (work_id === null ? "" : <a href={`/work/${work_id}`}>{work_id}</a>),
                },
                { head: "Node", cell: ({ node, producer }) => printable(node ?? producer) },
                { head: "Played", cell: ({ created_at }) => <Time at={created_at} /> },
              ]}
            />
          )}
        </Load>
        <Older more={more} />
      </Panel>
    </>
  );
}

const resultOf = ({ winner }: Pick<RecordedGame, "winner">): string =>
  winner === null ? "a draw" : `${SEATS[winner]} won`;

type Replayed = ArenaAsks["replay"]["answer"];

/** What the network expected for the first seat, position by position: where the game turned. */
function Expected({ steps, at }: { steps: Replayed["steps"]; at: number }) {
  const points = steps.map(({ view }, place) => [place, view === null ? null : view.values[0]! * 100] as const);
  if (points.filter(([, share]) => share !== null).length < 2) return null;
  return (
    <Figure
      title={`What the network expects for ${SEATS[0]}`}
      height={130}
      x={{ from: 0, to: steps.length - 1, label: "position" }}
      y={{ values: [0, 100], label: `expected for ${SEATS[0]}`, words: (share) => `${share} %` }}
      draw={(frame) => (
        <>
          <g class="bound">
            <line x1={frame.x(at)} x2={frame.x(at)} y1={frame.edge.top} y2={frame.height - frame.edge.bottom} />
          </g>
          <Line name="first" frame={frame} points={points} />
        </>
      )}
      table={{
        head: ["position", "move", `expected for ${SEATS[0]}`],
        rows: points.map(([place, share]) => [
          String(place),
          steps[place]!.moves.at(-1) ?? "",
          share === null ? "over" : `${Math.round(share)} %`,
        ]),
      }}
    />
  );
}

/** One game: a board, a place in it, and what a network thinks of each position. */
function Replay({ replayed, seenBy }: { replayed: Replayed; seenBy: string | null }) {
  const { about, configKey, steps } = replayed;
  const [at, setAt] = useState(0);
  const [plays, setPlays] = useState(false);
  const end = steps.length - 1;
  const step = (by: number) => setAt((now) => Math.min(end, Math.max(0, now + by)));
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
      if (event.key === "ArrowRight") step(1);
      if (event.key === "ArrowLeft") step(-1);
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, [end]);
  useEffect(() => {
    if (!plays) return;
    const timer = setInterval(() => setAt((now) => (now >= end ? 0 : now + 1)), 700);
    return () => clearInterval(timer);
  }, [plays, end]);
  const seen = steps[at]!;
  const next = steps[at + 1]?.moves.at(-1);
  const thought = next === undefined ? undefined : seen.view?.policy[seen.legal.findIndex(({ text }) => text === next)];
  return (
    <div class="columns">
      <Panel title="Board" aside={`position ${at} of ${end}`}>
        <div class="panel-body">
          <BoardView about={about} configKey={configKey} board={seen} view={seen.view} />
          <div class="steps">
            <button type="button" onClick={() => setAt(0)} disabled={at === 0}>
              Start
            </button>
            <button type="button" onClick={() => step(-1)} disabled={at === 0}>
              Back
            </button>
            <button type="button" onClick={() => step(1)} disabled={at === end}>
              Next
            </button>
            <button type="button" onClick={() => setAt(end)} disabled={at === end}>
              End
            </button>
            <button type="button" aria-pressed={plays} onClick={() => setPlays(!plays)}>
              {plays ? "Stop" : "Run"}
            </button>
          </div>
          <input
            type="range"
            min="0"
            max={end}
            value={at}
            aria-label="Position"
            onInput={({ currentTarget }) => setAt(Number(currentTarget.value))}
          />
        </div>
      </Panel>
      <Panel title="What its network sees" aside={seenBy === null ? "no model" : shortModel(seenBy)}>
        <Facts
          rows={[
            ["to move", seen.isOver ? "nobody: it is over" : SEATS[seen.turn]],
            [
              "played next",
              next === undefined
                ? "nothing"
                : thought === undefined
                  ? next
                  : `${next}, which it gives ${Math.round(thought * 100)} %`,
            ],
            ["expects", seen.view === null ? "nothing: it is over" : <ValueBar values={seen.view.values} />],
          ]}
        />
        <Expected steps={steps} at={at} />
        <ol class="moves panel-body" aria-label="Moves">
          {steps.slice(1).map(({ moves }, i) => (
            <li key={moves.length}>
              <button type="button" class={i + 1 === at ? "quiet here" : "quiet"} onClick={() => setAt(i + 1)}>
                {moves.at(-1)}
              </button>
            </li>
          ))}
        </ol>
      </Panel>
    </div>
  );
}

function One({ id, query }: { id: string; query: URLSearchParams }) {
  const arena = useArena();
  const segment = useAnswer(getRecord, { params: { id } }, { once: true });
  const models = useAnswer(listModels, { query: { limit: 1_000 } }, { once: true });
  const file = segment.answer;
  const game = query.get("game") === null ? null : Number(query.get("game"));
  const listed = useArenaAnswer(arena, "games", file === undefined ? undefined : { sha256: file.sha256 });
  const own = (models.answer?.models ?? []).filter(({ config_key }) => config_key === file?.config_key);
  const seenBy = query.get("model") ?? own.find(({ stage }) => stage === "production")?.model_id ?? null;
  const replayed = useArenaAnswer(
    arena,
    "replay",
    file === undefined || game === null || models.answer === undefined
      ? undefined
      : { sha256: file.sha256, game, model: seenBy },
  );
  const from = Math.max(0, Number(query.get("from") ?? 0));
  return (
    <Load loaded={segment}>
      {({ sha256, config_key, games, iteration, work_id, producer, node = producer }) => (
        <>
          <ViewHead
            title={game === null ? `Games ${sha256.slice(0, 12)}` : `Game ${sha256.slice(0, 12)}#${game}`}
            lead={`${config_key ?? "no config"}, iteration ${iteration ?? "?"}, by ${printable(node)}`}
            json={addressOf(getRecord, { params: { id } })}
            command={game === null ? "ringrift records list" : `ringrift records show ${sha256.slice(0, 12)}#${game}`}
          >
            {game !== null && <a href={`/games/${sha256}`}>all {plural(games, "game")}</a>}
            {work_id !== null && <a href={`/work/${work_id}`}>job {work_id}</a>}
            <a href={`/artifacts/${sha256}`}>copies</a>
          </ViewHead>
          {game === null ? (
            <Panel
              title="Games"
              aside={`${number(from)} to ${number(Math.min(games, from + PAGE) - 1)} of ${number(games)}`}
            >
              <Load loaded={listed}>
                {(found) => (
                  <>
                    <Table<RecordedGame & { readonly place: number }>
                      label="Games"
                      rows={found.games.map((one, place) => ({ ...one, place })).slice(from, from + PAGE)}
                      keyOf={({ place }) => place}
                      empty={
                        <Empty
                          title="The file holds no game here."
                          todo={<a href={`/games/${sha256}`}>Show it from its first game.</a>}
                        />
                      }
                      columns={[
                        { head: "Game", cell: ({ place }) => <a href={`/games/${sha256}?game=${place}`}>#{place}</a> },
                        { head: "Result", cell: resultOf },
                        { head: "Moves", right: true, cell: ({ plies }) => <Num value={plies} /> },
                        { head: "Seed", right: true, cell: ({ seed }) => <span class="mono">{seed}</span> },
                      ]}
                    />
                    <div class="more">
                      {from > 0 && <a href={`/games/${sha256}?from=${Math.max(0, from - PAGE)}`}>earlier </a>}
                      {from + PAGE < found.games.length && <a href={`/games/${sha256}?from=${from + PAGE}`}>more</a>}
                    </div>
                  </>
                )}
              </Load>
            </Panel>
          ) : (
            <Load loaded={replayed}>
              {(found) => <Replay key={`${sha256} ${game}`} replayed={found} seenBy={seenBy} />}
            </Load>
          )}
        </>
      )}
    </Load>
  );
}

export default function Games({ params: { id }, query }: { params: Record<string, string>; query: URLSearchParams }) {
  return id === undefined ? <List query={query} /> : <One id={id} query={query} />;
}

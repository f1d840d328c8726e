/** Play against a champion or a baseline. It thinks in a thread of this browser, and moves as `ringrift play` does for the same seed. */
import { useEffect, useState } from "preact/hooks";
import { plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { listModels } from "../../src/surfaces/models/wire.ts";
import { shortModel } from "../../src/surfaces/pipeline/words.ts";
import { addressOf, Refused } from "../browser/api.ts";
import { useApp } from "../browser/app.ts";
import { type Arena, useArena, useArenaAnswer } from "../browser/arena.ts";
import type { GameAbout, Opponent, Seen, TableWish } from "../browser/arena-messages.ts";
import { BoardView, SEATS, ValueBar } from "../browser/board.tsx";
import { ErrorBox, Load, Panel, Tabs, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

type Models = Answer<typeof listModels>["models"];

/** The champions of a config, the one that rules now first. */
const championsOf = (models: Models, configKey: string): Models =>
  models
    .filter(({ config_key, generation }) => config_key === configKey && generation !== null)
    .sort((a, b) => (b.generation ?? 0) - (a.generation ?? 0));

const opponentOf = (against: string): Opponent =>
  /^[0-9a-f]{64}$/.test(against) ? { kind: "model", sha256: against } : { kind: "baseline", name: against };

/** What a game looks like now, and what can be done. */
function useTable(arena: Arena | undefined, wish: TableWish | undefined) {
  const [about, setAbout] = useState<GameAbout>();
  const [seen, setSeen] = useState<Seen>();
  const [refused, setRefused] = useState<Refused>();
  const [thinks, setThinks] = useState(false);
  const key = JSON.stringify(wish);
  const [round, setRound] = useState(0);
  const guarded = async (run: () => Promise<void>) => {
    try {
      await run();
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
      setRefused(thrown);
    } finally {
      setThinks(false);
    }
  };
  /** Lets opponents move until it is the person's turn. */
  const settle = async (from: Seen, isWanted: () => boolean) => {
    let now = from;
    while (arena !== undefined && wish !== undefined && !now.isOver && now.turn !== wish.seat && isWanted()) {
      setThinks(true);
      now = (await arena.ask("reply", {})).seen;
      if (isWanted()) setSeen(now);
    }
  };
  useEffect(() => {
    if (arena === undefined || wish === undefined) return;
    let isWanted = true;
    setRefused(undefined);
    setSeen(undefined);
    setThinks(true);
    void guarded(async () => {
      const begun = await arena.ask("open", wish);
      if (!isWanted) return;
      setAbout(begun.about);
      setSeen(begun.seen);
      await settle(begun.seen, () => isWanted);
    });
    return () => {
      isWanted = false;
    };
  }, [arena, key, round]);
  const play = (move: string) =>
    guarded(async () => {
      const next = await arena?.ask("play", { move });
      // It was not this one's turn any more: nothing has changed.
      if (next === undefined) return;
      setSeen(next);
      await settle(next, () => true);
    });
  const undo = () => guarded(async () => setSeen(await arena?.ask("undo", {})));
  return { about, seen, refused, thinks, play, undo, again: () => setRound((n) => n + 1) };
}

const turnWords = (seen: Seen, seat: number, thinks: boolean): string => {
  if (seen.isOver) {
    if (seen.winner === null) return "A draw.";
    return seen.winner === seat ? "You win." : `${SEATS[seen.winner]} wins.`;
  }
  return seen.turn === seat
    ? `Your turn: you are ${SEATS[seat]}.`
    : thinks
      ? `${SEATS[seen.turn]} thinks.`
      : `${SEATS[seen.turn]} is at turn.`;
};

function Game({ wish, name }: { wish: TableWish; name: string }) {
  const arena = useArena();
  const { about, seen, refused, thinks, play, undo, again } = useTable(arena, wish);
  const [showsView, setShowsView] = useState(false);
  const mine = seen !== undefined && !seen.isOver && seen.turn === wish.seat && !thinks;
  return (
    <div class="columns">
      <Panel title={about?.title ?? "Game"} aside={<span>against {name}</span>}>
        <div class="panel-body">
          {refused !== undefined && <ErrorBox refused={refused} again={again} />}
          <p role="status" class="turn" data-turn={seen?.isOver ? "over" : mine ? "yours" : "theirs"}>
            {seen === undefined ? "The opponent sits down." : turnWords(seen, wish.seat, thinks)}
          </p>
          {seen !== undefined && about !== undefined && (
            <BoardView
              about={about}
              configKey={wish.configKey}
              board={seen}
              view={showsView ? seen.view : null}
              play={mine ? (move) => void play(move) : undefined}
            />
          )}
          <div class="act-buttons">
            <button type="button" disabled={!seen?.moves.length || thinks} onClick={() => void undo()}>
              Take back
            </button>
            <button type="button" onClick={again}>
              New game
            </button>
          </div>
        </div>
      </Panel>
      <Panel title="So far" aside={seen !== undefined && plural(seen.moves.length, "move")}>
        <div class="panel-body">
          <p class="mono moves" data-moves>
            {seen?.moves.join(" ") ?? ""}
          </p>
          <p class="dim">{about?.rules}</p>
          {wish.opponent.kind === "model" && (
            <label class="check">
              <input
                type="checkbox"
                checked={showsView}
                onChange={({ currentTarget }) => setShowsView(currentTarget.checked)}
              />
              show what its network thinks, without a search
            </label>
          )}
          {showsView && seen?.view != null && <ValueBar values={seen.view.values} />}
        </div>
      </Panel>
    </div>
  );
}

export default function Play({
  params: { config },
  query,
}: {
  params: Record<string, string>;
  query: URLSearchParams;
}) {
  const { go } = useApp();
  const arena = useArena();
  const known = useArenaAnswer(arena, "about", {});
  const loaded = useAnswer(listModels, { query: { limit: 1_000 } }, { once: true });
  const models = loaded.answer?.models;
  const configKey = config ?? models?.[0]?.config_key ?? "othello6_2p";
  const champions = championsOf(models ?? [], configKey);
  const against = query.get("against") ?? champions[0]?.model_id ?? "mcts-1000";
  const seat = Math.max(0, Number(query.get("seat") ?? 1) - 1);
  const seed = Number(query.get("seed") ?? 1);
  const simulations = query.get("simulations") === null ? undefined : Number(query.get("simulations"));
  const to = (changes: Readonly<Record<string, string>>) => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes)) next.set(name, value);
    go(`/play/${configKey}?${next}`);
  };
  const generation = champions.find(({ model_id }) => model_id === against)?.generation;
  const name = generation == null ? printable(against).slice(0, 20) : `champion ${generation}`;
  const isNow = against === champions[0]?.model_id;
  const command = `ringrift play ${configKey} --against ${isNow ? "champion" : against.slice(0, 20)} --seat ${seat + 1} --seed ${seed}`;
  return (
    <>
      <ViewHead
        title="Play"
        lead="The opponent thinks in this browser. For the same seed it moves as the command does."
        json={addressOf(listModels)}
        command={command}
      />
      <Tabs
        label="Games"
        tabs={(known.answer?.configs ?? [configKey]).map((each) => ({
          name: each,
          to: `/play/${each}`,
          isHere: each === configKey,
        }))}
      />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label class="field">
          <span>Against</span>
          <select value={against} onChange={({ currentTarget }) => to({ against: currentTarget.value })}>
            {champions.map(({ model_id, generation: place }) => (
              <option key={model_id} value={model_id}>
                champion {place}, {shortModel(model_id)}
              </option>
            ))}
            {(known.answer?.baselines ?? []).map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>You sit</span>
          <select value={seat + 1} onChange={({ currentTarget }) => to({ seat: currentTarget.value })}>
            {SEATS.slice(0, Number(/(\d)p$/.exec(configKey)?.[1] ?? 2)).map((mark, i) => (
              <option key={mark} value={i + 1}>
                {mark}, place {i + 1}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Seed</span>
          <input
            type="number"
            min="0"
            max="4294967295"
            value={seed}
            onChange={({ currentTarget }) => to({ seed: currentTarget.value })}
          />
        </label>
      </form>
      <Load
        loaded={
          loaded.refused?.code === "LOOP_NOT_HERE" ? { ...loaded, answer: { models: [] }, refused: undefined } : loaded
        }
      >
        {() => <Game wish={{ configKey, seat, opponent: opponentOf(against), seed, simulations }} name={name} />}
      </Load>
    </>
  );
}

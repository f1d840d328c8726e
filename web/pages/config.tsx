/** One config: how strong it got, what the gate says, what training reported, and whether the books balance. */
import { useState } from "preact/hooks";
import type { ConfigSnapshot } from "../../src/pipeline/snapshot.ts";
import { duration, number, payloadLine, plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { figureOf, totalLoss } from "../../src/surfaces/pipeline/curves.ts";
import { MAX_RUN_BYTES, otherRun, type Compared as Run } from "../../src/surfaces/pipeline/other-run.ts";
import {
  getPipeline,
  getPipelineHistory,
  pausePipeline,
  resumePipeline,
  retryPipeline,
  rollbackPipeline,
} from "../../src/surfaces/pipeline/wire.ts";
import {
  byWords,
  championRating,
  eloTrendWords,
  eloWords,
  falsePromotionWords,
  producerName,
  rejectedReasons,
  STAGE_WORDS,
  stabilityWords,
  targetWords,
  VERDICT_WORDS,
  verdictCounts,
  waitWords,
  windowWords,
} from "../../src/surfaces/pipeline/words.ts";
import { Act, Changes } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp, useSharedPath } from "../browser/app.ts";
import { Causes } from "../browser/causes.tsx";
import { iterationLink } from "../browser/iteration-link.ts";
import { type Beside, EloOverTime, Ladder } from "../browser/ladder-figure.tsx";
import { LlrWalk } from "../browser/llr-walk.tsx";
import { LossFigure, OtherCurves } from "../browser/loss-figure.tsx";
import { Badge, Empty, Facts, Load, Panel, Table, Time, ViewHead } from "../browser/parts.tsx";
import { RunCurves } from "../browser/run-curves.tsx";
import { Stages } from "../browser/stages.tsx";
import { useAnswer } from "../browser/use-answer.ts";
import { GateTable } from "./gates.tsx";

type ConfigKey = Parameters<typeof addressOf<typeof getPipelineHistory>>[1]["params"]["config"];

const VERBS = [
  {
    name: "Pause",
    route: pausePipeline,
    about: "Running jobs end, and nothing new begins until it is resumed.",
    fits: "at work",
  },
  { name: "Resume", route: resumePipeline, about: "It goes on where it was paused.", fits: "paused" },
  { name: "Retry", route: retryPipeline, about: "The stage that has failed is tried again now.", fits: "failed" },
  {
    name: "Roll back",
    route: rollbackPipeline,
    about: "The last good champion comes back, as a new generation.",
    fits: "any",
  },
] as const;

function Verbs({ config, again }: { config: ConfigSnapshot; again: () => void }) {
  const { api } = useApp();
  const params = { config: config.config_key as ConfigKey };
  const fits = (when: string) =>
    when === "any" ||
    (when === "paused" && config.state === "paused") ||
    (when === "failed" && (config.state === "failed" || config.state === "waiting")) ||
    (when === "at work" && config.state !== "paused" && config.state !== "complete");
  return (
    <>
      {VERBS.filter((verb) => fits(verb.fits)).map(({ name, route, about }) => (
        <Act
          key={name}
          name={name}
          about={about}
          attempt={() => api.call(route, { params, body: { dry_run: true } })}
          perform={(reason) => api.call(route, { params, body: { ...(reason === "" ? {} : { reason }) } })}
          show={({ changes }) => <Changes changes={changes} />}
          done={again}
          isGrave={name === "Roll back"}
        />
      ))}
    </>
  );
}

const Now = ({ config, at }: { config: ConfigSnapshot; at: number }) => {
  const rating = championRating(config);
  const { champion, books, quality, training, outlook } = config;
  return (
    <Facts
      rows={[
        [
          "state",
          <Badge tone={config.state === "failed" ? "bad" : config.state === "paused" ? "warn" : "accent"}>
            {config.state}
          </Badge>,
        ],
        ["stage", <Stages config={config} />],
        ["in it for", <Time at={config.stage_since} bare />],
        ["late after", <Time at={config.deadline} />],
        [
          "champion",
          champion === null ? (
            "none yet"
          ) : (
            <>
              <a href={`/models/${champion.model}`}>generation {number(champion.generation)}</a>
              {rating === undefined ? "" : `, Elo ${eloWords(rating)}`}, {byWords(champion)},{" "}
              <Time at={champion.since} />
            </>
          ),
        ],
        [
          "games",
          config.games_per_second === 0
            ? number(config.games)
            : `${number(config.games)}, ${config.games_per_second.toFixed(1)} a second`,
        ],
        ...(outlook === undefined
          ? []
          : [
              ["games of a day", number(outlook.games_per_day)] as const,
              [
                "newest games",
                outlook.newest_games_at === null ? "none yet" : <Time at={outlook.newest_games_at} />,
              ] as const,
              ["target", targetWords(config)] as const,
            ]),
        ["trend of the Elo", eloTrendWords(config)],
        ["window", windowWords(config)],
        ["quality of games", quality === null ? "not judged yet" : `${quality.score.toFixed(2)}, ${quality.band}`],
        ["verdicts", `${verdictCounts(config.verdicts)}; ${falsePromotionWords(config.expected_false_promotions)}`],
        ...(config.stability === undefined ? [] : [["stability", stabilityWords(config.stability)] as const]),
        ...(training === undefined ? [] : [["training now", `loss ${training.loss.toFixed(3)}`] as const]),
        [
          "books",
          <>
            {books.balanced ? <Badge tone="good">balanced</Badge> : <Badge tone="bad">out of balance</Badge>}{" "}
            {number(books.produced)} produced = {number(books.durable)} durable + {number(books.in_flight)} in flight +{" "}
            {rejectedReasons(books) === "" ? "none" : rejectedReasons(books)} rejected
          </>,
        ],
        ...config.waits.map((wait) => ["meanwhile", waitWords(wait, at)] as const),
        ...config.suspects.map((one) => ["suspect", `${producerName(one)}: ${printable(one.reason)}`] as const),
      ]}
    />
  );
};

/** What two configs can be compared by: Elo of different games says nothing, how they got there does. */
const COMPARED: readonly (readonly [string, (config: Run) => string])[] = [
  ["state", ({ state }) => state],
  ["iteration", ({ iteration }) => number(iteration)],
  ["champions", ({ champions }) => number(champions.length)],
  [
    "promoted",
    ({ verdicts: { promote, reject, inconclusive } }) => `${promote} of ${promote + reject + inconclusive} gates`,
  ],
  ["games", ({ games }) => number(games)],
  ["rows made", ({ rows }) => number(rows)],
  ["quality of games", ({ quality }) => (quality === null ? "not judged yet" : quality.score.toFixed(2))],
  ["last loss", ({ losses }) => (losses.length === 0 ? "none" : figureOf(totalLoss(losses.at(-1)!)))],
  ["books", ({ books }) => (books.balanced ? "balanced" : "out of balance")],
];

const Compared = ({ one, other, close }: { one: ConfigSnapshot; other: Beside; close: () => void }) => (
  <Panel
    title="Side by side"
    aside={
      <button type="button" class="quiet" onClick={close}>
        close
      </button>
    }
  >
    <Table<(typeof COMPARED)[number]>
      label="Side by side"
      rows={COMPARED}
      keyOf={([name]) => name}
      empty=""
      columns={[
        { head: "", cell: ([name]) => <span class="dim">{name}</span> },
        { head: one.config_key, cell: ([, words]) => words(one) },
        { head: printable(other.name), cell: ([, words]) => words(other.shown) },
      ]}
    />
  </Panel>
);

/** Takes a file of another run of this config, and says what is wrong with one that is none. */
function FromFile({ config, take }: { config: string; take: (beside: Beside) => void }) {
  const [problem, setProblem] = useState("");
  const read = async (file: File | undefined) => {
    if (file === undefined) return;
    const run = file.size > MAX_RUN_BYTES ? { problem: "it is too long" } : otherRun(await file.text(), config);
    if ("problem" in run)
      setProblem(`${file.name} cannot be compared: ${run.problem}. 'ringrift pipeline --json' prints one that can.`);
    else {
      setProblem("");
      take({ name: file.name, about: "another run, by its own anchors", shown: run });
    }
  };
  return (
    <>
      <label class="file" title="A file that 'ringrift pipeline --json' has printed in another folder">
        beside another run
        <input
          type="file"
          accept=".json,application/json"
          class="visually-hidden"
          onChange={({ currentTarget }) => void read(currentTarget.files?.[0])}
        />
      </label>
      {problem !== "" && (
        <p class="warn" role="alert">
          {printable(problem)}
        </p>
      )}
    </>
  );
}

/** Of what a stage says of itself; the JSON has all. */
const MAX_EVIDENCE = 400;

type Ended = Answer<typeof getPipelineHistory>["history"][number];

function History({ config }: { config: string }) {
  const history = useAnswer(getPipelineHistory, { params: { config: config as ConfigKey }, query: { limit: 40 } });
  return (
    <Panel title="Stages that ended" aside="newest first">
      <Load loaded={history}>
        {({ history: rows }) => (
          <Table<Ended>
            label="Stages that ended"
            rows={rows}
            keyOf={({ iteration, stage, attempt }) => `${iteration} ${stage} ${attempt}`}
            toneOf={({ state }) => (state === "failed" ? "bad" : undefined)}
            empty={
              <Empty
                title="No stage has ended yet."
                todo={<a href={`/why/${config}`}>Why says what it waits for.</a>}
              />
            }
            columns={[
              {
                head: "Iteration",
                right: true,
                cell: ({ iteration }) => (
                  <a href={iterationLink(config, iteration)} title="What led to what in it, as a drawing">
                    {number(iteration)}
                  </a>
                ),
              },
              { head: "Stage", cell: ({ stage }) => STAGE_WORDS[stage] },
              { head: "Try", right: true, cell: ({ attempt }) => attempt },
              { head: "State", cell: ({ state }) => <Badge tone={state === "failed" ? "bad" : "good"}>{state}</Badge> },
              { head: "Took", right: true, cell: ({ since, ended_at }) => duration(ended_at - since) },
              { head: "Ended", cell: ({ ended_at }) => <Time at={ended_at} /> },
              {
                head: "Evidence",
                wide: true,
                cell: ({ failure, evidence }) =>
                  failure === null ? (
                    <span class="mono small one-line" title={payloadLine(evidence, MAX_EVIDENCE)}>
                      {payloadLine(evidence, MAX_EVIDENCE)}
                    </span>
                  ) : (
                    `${printable(failure.message)} (${printable(failure.code)})`
                  ),
              },
            ]}
          />
        )}
      </Load>
    </Panel>
  );
}

/** A config that is not there, in the words of the command. */
const Unknown = ({ config, known }: { config: string; known: readonly string[] }) => (
  <div class="empty">
    <Empty
      title={`No loop runs for '${printable(config)}'.`}
      todo={known.length === 0 ? "Start one: 'ringrift train othello6_2p'." : `Configs here: ${known.join(", ")}.`}
    />
  </div>
);

export default function Config({
  params: { config: key = "" },
  query,
}: {
  params: Record<string, string>;
  query: URLSearchParams;
}) {
  const shared = useSharedPath();
  const loaded = useAnswer(getPipeline, shared === "/" ? {} : { query: { config_key: key as ConfigKey } });
  const { go } = useApp();
  const [file, setFile] = useState<Beside>();
  const other = query.get("with");
  return (
    <Load loaded={loaded}>
      {({ configs, at }) => {
        const config = configs.find(({ config_key }) => config_key === key);
        if (config === undefined) return <Unknown config={key} known={configs.map(({ config_key }) => config_key)} />;
        const found = configs.find(({ config_key }) => config_key === other);
        const beside =
          file ?? (found && { name: found.config_key, about: "by its own anchors", shown: found satisfies Run });
        const others = configs.filter(({ config_key }) => config_key !== key);
        // While none runs the last one says how it ended.
        const gate = config.gates.findLast(({ verdict }) => verdict === null) ?? config.gates.at(-1);
        return (
          <>
            <ViewHead
              title={printable(config.config_key)}
              lead={`iteration ${number(config.iteration)}, seed ${config.seed}`}
              json={addressOf(getPipeline)}
              command={`ringrift pipeline ${config.config_key}`}
            >
              <a href={`/why/${config.config_key}`}>why</a>
              <a href={iterationLink(config.config_key, config.iteration)}>this iteration</a>
              <a href={`/play/${config.config_key}`}>play</a>
              <a href={`/games?config=${config.config_key}`}>games</a>
              {others.map(({ config_key }) => (
                <a key={config_key} href={`/configs/${key}?with=${config_key}`}>
                  beside {config_key}
                </a>
              ))}
              <FromFile config={key} take={setFile} />
              <Verbs config={config} again={loaded.again} />
            </ViewHead>
            {config.cause != null && config.cause.level !== "note" && (
              <Panel title="What blocks it">
                <Causes causes={[config.cause]} />
              </Panel>
            )}
            <div class="columns">
              <div class="stack">
                <Panel title="Strength" aside={plural(config.champions.length, "champion")}>
                  <EloOverTime config={config} beside={beside} />
                </Panel>
                {gate !== undefined && (
                  <Panel
                    title={`Gate of iteration ${number(gate.iteration)}`}
                    aside={
                      gate.verdict === null
                        ? `running, ${plural(gate.games, "game")} so far`
                        : `${VERDICT_WORDS[gate.verdict]} after ${plural(gate.games, "game")}`
                    }
                  >
                    <LlrWalk gate={gate} />
                  </Panel>
                )}
                <Panel title="Loss" aside={plural(config.losses.length, "run")}>
                  <LossFigure losses={config.losses} />
                </Panel>
                <RunCurves config={key} />
              </div>
              <div class="stack">
                <Panel title="Now">
                  <Now config={config} at={at} />
                </Panel>
                {beside !== undefined && (
                  <Compared
                    one={config}
                    other={beside}
                    close={() => (file === undefined ? go(`/configs/${key}`) : setFile(undefined))}
                  />
                )}
                <Panel title="Ladder" aside={<code class="hint">ringrift elo {config.config_key}</code>}>
                  <Ladder config={config} />
                </Panel>
              </div>
            </div>
            <div class="smalls">
              <OtherCurves losses={config.losses} />
            </div>
            <Panel title="Gates" aside={<a href="/gates">of all configs</a>}>
              <GateTable gates={config.gates.toReversed().map((gate) => ({ ...gate, config }))} />
            </Panel>
            <History config={key} />
          </>
        );
      }}
    </Load>
  );
}

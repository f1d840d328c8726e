/** Home: is it getting stronger, and what needs you. */

import { duration, number, plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { strengthsOf } from "../../src/surfaces/pipeline/strength.ts";
import { getPipeline } from "../../src/surfaces/pipeline/wire.ts";
import {
  championRating,
  eloWords,
  endedGates,
  gateNumbers,
  signed,
  standstillWords,
  VERDICT_WORDS,
} from "../../src/surfaces/pipeline/words.ts";
import { factsOf } from "../../src/surfaces/status/view.ts";
import { getOverview } from "../../src/surfaces/status/wire.ts";
import { addressOf } from "../browser/api.ts";
import { Causes } from "../browser/causes.tsx";
import { EloSpark } from "../browser/elo-spark.tsx";
import { Empty, Load, Num, Panel, Table, Time, type Tone, ViewHead } from "../browser/parts.tsx";
import { Stages } from "../browser/stages.tsx";
import { useAnswer } from "../browser/use-answer.ts";
import { GateTable, newestGates } from "./gates.tsx";

type Pipeline = Answer<typeof getPipeline>;
type Config = Pipeline["configs"][number];

/** The one thing that matters most about it right now. */
function Matters({ config, at }: { config: Config; at: number }) {
  const standstill = standstillWords(config, at);
  if (standstill !== undefined)
    return (
      <a href={`/why/${config.config_key}`} class={config.cause?.level === "bad" ? "bad" : "warn"}>
        {standstill}
      </a>
    );
  const [gate] = endedGates(config);
  if (gate === undefined) return <span class="dim">at work</span>;
  return (
    <span class="dim">
      last gate {VERDICT_WORDS[gate.verdict]}, {gateNumbers(gate)}
    </span>
  );
}

const toneOf = ({ state, cause }: Config): Tone | undefined =>
  state === "failed" || cause?.level === "bad" ? "bad" : cause?.level === "warn" ? "warn" : undefined;

const Configs = ({ configs, at }: Pipeline) => (
  <Table
    label="Configs"
    rows={configs}
    keyOf={({ config_key }) => config_key}
    toneOf={toneOf}
    empty={<Empty title="No config is trained here yet." todo="Start one: 'ringrift train othello6_2p'." />}
    columns={[
      {
        head: "Config",
        cell: ({ config_key, state }) => (
          <>
            <a class="strong" href={`/configs/${config_key}`}>
              {printable(config_key)}
            </a>
            <span class="sub">{state}</span>
          </>
        ),
      },
      {
        head: "Champion",
        cell: (config) => {
          const rating = championRating(config);
          if (config.champion === null) return <span class="dim">none yet</span>;
          const guess = strengthsOf(config).findLast(({ model }) => model === config.champion?.model);
          return (
            <>
              {rating !== undefined ? (
                <span class="elo">{eloWords(rating)}</span>
              ) : guess === undefined ? (
                <span class="dim">not rated yet</span>
              ) : (
                <span class="elo" title="By its gates: it is not rated yet.">
                  ≈ {signed(guess.elo)}
                </span>
              )}
              <span class="sub">
                generation {number(config.champion.generation)}, <Time at={config.champion.since} />
              </span>
            </>
          );
        },
      },
      { head: "Trend", cell: (config) => <EloSpark config={config} /> },
      { head: "Iteration", right: true, cell: ({ iteration }) => <Num value={iteration} /> },
      { head: "Stage", cell: (config) => <Stages config={config} /> },
      {
        head: "Games",
        right: true,
        cell: ({ games, games_per_second }) => (
          <>
            <Num value={games} />
            {games_per_second > 0 && <span class="sub">{games_per_second.toFixed(1)}/s</span>}
          </>
        ),
      },
      { head: "Now", wide: true, cell: (config) => <Matters config={config} at={at} /> },
    ]}
  />
);

const MAX_GATES = 6;

/** What was decided last, of all configs. */
function Newest({ loop }: { loop: Pipeline | undefined }) {
  const newest = newestGates(loop?.configs ?? []).slice(0, MAX_GATES);
  if (newest.length === 0) return null;
  return (
    <Panel title="Newest gates" aside={<a href="/gates">all of them</a>}>
      <GateTable gates={newest} withConfig />
    </Panel>
  );
}

/** The way from a line of figures to where they are told in full. */
const LEADS_TO: Readonly<Record<string, string>> = {
  daemons: "/daemons",
  events: "/journal",
  consumers: "/journal?tab=consumers",
  "dead letters": "/dead-letters",
  copies: "/artifacts",
  alerts: "/alerts",
};

export default function Home() {
  const status = useAnswer(getOverview, {});
  const loop = useAnswer(getPipeline, {});
  return (
    <>
      <ViewHead
        title="Is it getting stronger?"
        lead={
          status.answer !== undefined && (
            <>
              {printable(status.answer.node_id)}, version {printable(status.answer.version)}, up{" "}
              {duration(status.answer.uptime_seconds * 1_000)}
            </>
          )
        }
        json={addressOf(getPipeline)}
        command="ringrift pipeline"
      />
      <Panel title="Configs" aside={loop.answer !== undefined && plural(loop.answer.configs.length, "config")}>
        {loop.refused?.code === "LOOP_NOT_HERE" ? (
          <div class="empty">
            <Empty
              title="No loop runs in this process."
              todo={loop.refused.hint ?? "Start one: 'ringrift train othello6_2p'."}
            />
          </div>
        ) : (
          <Load loaded={loop}>{(answer) => <Configs {...answer} />}</Load>
        )}
      </Panel>
      <Load loaded={status}>
        {(answer) => (
          <>
            <Panel title="What needs you" aside={<code class="hint">ringrift status</code>}>
              <Causes causes={answer.causes} />
            </Panel>
            <Newest loop={loop.answer} />
            <dl class="tiles">
              {factsOf(answer).map(([name = "", text = ""]) => (
                <div key={name}>
                  <dt>
                    <a href={LEADS_TO[name] ?? "/"}>{name}</a>
                  </dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </>
        )}
      </Load>
    </>
  );
}

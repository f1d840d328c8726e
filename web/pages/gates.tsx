/** Every gate with its evidence: who played whom, how long, what the sequential test says, and what was decided. */
import type { ConfigSnapshot, GateView } from "../../src/pipeline/snapshot.ts";
import { number, plural } from "../../src/surfaces/cli/text.ts";
import { getPipeline } from "../../src/surfaces/pipeline/wire.ts";
import {
  intervalWords,
  lastRatio,
  nameOf,
  signed,
  VERDICT_WORDS,
  verdictCounts,
} from "../../src/surfaces/pipeline/words.ts";
import { addressOf } from "../browser/api.ts";
import { GateSpark } from "../browser/llr-walk.tsx";
import { Badge, Empty, Load, Num, Panel, Table, Time, type Tone, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

type Row = GateView & { readonly config: ConfigSnapshot };

const TONES: Readonly<Record<string, Tone>> = { promote: "good", reject: "bad", inconclusive: "warn" };

export const GateTable = ({ gates, withConfig = false }: { gates: readonly Row[]; withConfig?: boolean }) => (
  <Table<Row>
    label="Gates"
    rows={gates}
    keyOf={({ config, iteration, candidate }) => `${config.config_key} ${iteration} ${candidate}`}
    empty={
      <Empty
        title="No gate was begun yet."
        todo={
          <>
            A model has to be trained first. <a href="/why">Why</a> says what training waits for.
          </>
        }
      />
    }
    columns={[
      ...(withConfig
        ? [
            {
              head: "Config",
              cell: ({ config }: Row) => <a href={`/configs/${config.config_key}`}>{config.config_key}</a>,
            },
          ]
        : []),
      {
        head: "Candidate",
        cell: ({ candidate, iteration }) => (
          <>
            <a class="mono" href={`/models/${candidate}`}>
              {candidate.slice(0, 10)}
            </a>
            <span class="sub">iteration {number(iteration)}</span>
          </>
        ),
      },
      { head: "Against", cell: ({ config, opponent }) => nameOf(config, opponent) },
      {
        head: "Verdict",
        cell: ({ verdict, ended_at }) => (
          <>
            {verdict === null ? (
              <Badge tone="accent">playing</Badge>
            ) : (
              <Badge tone={TONES[verdict] ?? "plain"}>{VERDICT_WORDS[verdict]}</Badge>
            )}
            <span class="sub">{ended_at === null ? "not ended yet" : <Time at={ended_at} />}</span>
          </>
        ),
      },
      { head: "Strength", cell: ({ elo }) => (elo === null ? <span class="dim">–</span> : intervalWords(elo)) },
      { head: "LLR", right: true, cell: (gate) => <span class="num">{signed(lastRatio(gate), 2)}</span> },
      { head: "Walk", cell: (gate) => <GateSpark gate={gate} /> },
      { head: "Games", right: true, cell: ({ games }) => <Num value={games} /> },
      {
        head: "Blocks",
        wide: true,
        cell: ({ counts }) => (
          <span class="small" title="Blocks of games by the candidate's score, the worst first.">
            {counts.join(" ")}
          </span>
        ),
      },
    ]}
  />
);

/** Of all configs, those that are played now first. */
export const newestGates = (configs: readonly ConfigSnapshot[]): readonly Row[] =>
  configs
    .flatMap((config) => config.gates.map((gate) => ({ ...gate, config })))
    .sort((a, b) => (b.ended_at ?? Number.MAX_SAFE_INTEGER) - (a.ended_at ?? Number.MAX_SAFE_INTEGER));

export default function Gates() {
  const loaded = useAnswer(getPipeline, {});
  return (
    <>
      <ViewHead
        title="Gates"
        lead="A model becomes the champion only if a sequential test says that it is stronger."
        json={addressOf(getPipeline)}
        command="ringrift pipeline"
      />
      <Load loaded={loaded}>
        {({ configs }) => {
          const all = newestGates(configs);
          return (
            <>
              <dl class="tiles">
                {configs.map((config) => (
                  <div key={config.config_key}>
                    <dt>
                      <a href={`/configs/${config.config_key}`}>{config.config_key}</a>
                    </dt>
                    <dd>{verdictCounts(config.verdicts)}</dd>
                  </div>
                ))}
              </dl>
              <Panel
                title="Gates"
                aside={`${plural(all.length, "gate")}, newest first; ${number(all.filter(({ verdict }) => verdict === null).length)} now`}
              >
                <GateTable gates={all} withConfig />
              </Panel>
            </>
          );
        }}
      </Load>
    </>
  );
}

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
    empty={<Empty title="No gate was begun yet: a model has to be trained first." />}
    columns={[
      ...(withConfig
        ? [
            {
              head: "Config",
              cell: ({ config }: Row) => <a href={`/configs/${config.config_key}`}>{config.config_key}</a>,
            },
          ]
        : []),
      { head: "Iteration", right: true, cell: ({ iteration }) => <Num value={iteration} /> },
      {
        head: "Candidate",
        cell: ({ candidate }) => (
          <a class="mono" href={`/models/${candidate}`}>
            {candidate.slice(0, 10)}
          </a>
        ),
      },
      { head: "Against", cell: ({ config, opponent }) => nameOf(config, opponent) },
      {
        head: "Verdict",
        cell: ({ verdict }) =>
          verdict === null ? (
            <Badge tone="accent">playing</Badge>
          ) : (
            <Badge tone={TONES[verdict] ?? "plain"}>{VERDICT_WORDS[verdict]}</Badge>
          ),
      },
      { head: "Strength", cell: ({ elo }) => (elo === null ? <span class="dim">–</span> : intervalWords(elo)) },
      { head: "LLR", right: true, cell: (gate) => <span class="num">{signed(lastRatio(gate), 2)}</span> },
      { head: "Walk", cell: (gate) => <GateSpark gate={gate} /> },
      { head: "Games", right: true, cell: ({ games }) => <Num value={games} /> },
      {
        head: "Blocks",
        right: true,
        cell: ({ counts }) => (
          <span title="Blocks of games by the candidate's score, the worst first.">{counts.join(" ")}</span>
        ),
      },
      {
        head: "Ended",
        cell: ({ ended_at }) => (ended_at === null ? <span class="dim">not yet</span> : <Time at={ended_at} />),
      },
    ]}
  />
);

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
          const all = configs.flatMap((config) => config.gates.map((gate) => ({ ...gate, config })));
          const newest = all.toSorted(
            (a, b) => (b.ended_at ?? Number.MAX_SAFE_INTEGER) - (a.ended_at ?? Number.MAX_SAFE_INTEGER),
          );
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
                <GateTable gates={newest} withConfig />
              </Panel>
            </>
          );
        }}
      </Load>
    </>
  );
}

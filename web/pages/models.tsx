/** Models: who is the champion, what each was made of, how two compare; promote by hand, after a dry run. */

import { getArtifact } from "../../src/surfaces/artifacts/wire.ts";
import { number, printable } from "../../src/surfaces/cli/text.ts";
import { getModel, listModels, type Model, type ModelDetails } from "../../src/surfaces/models/wire.ts";
import { figureOf, totalLoss } from "../../src/surfaces/pipeline/curves.ts";
import { getLineage, promoteModel, rollbackPipeline } from "../../src/surfaces/pipeline/wire.ts";
import { eloWords, gateNumbers, shortModel, VERDICT_WORDS } from "../../src/surfaces/pipeline/words.ts";
import { bytes } from "../../src/surfaces/status/view.ts";
import { isWithin } from "../../src/surfaces/web/view-routes.ts";
import { Act, Changes } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp, useSharedPath } from "../browser/app.ts";
import { LineageGraph } from "../browser/lineage.tsx";
import { LlrWalk } from "../browser/llr-walk.tsx";
import {
  Badge,
  Empty,
  Facts,
  Hash,
  Load,
  Num,
  Panel,
  Table,
  Tabs,
  Time,
  type Tone,
  ViewHead,
} from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

const STAGE_TONES: Readonly<Record<string, Tone>> = {
  production: "good",
  staging: "accent",
  evaluating: "accent",
  rolled_back: "bad",
};
const stageTone = (stage: string): Tone => STAGE_TONES[stage] ?? "plain";

const LIMIT = 1_000;

function List({ query }: { query: URLSearchParams }) {
  const config_key = query.get("config") ?? undefined;
  const loaded = useAnswer(listModels, { query: { limit: LIMIT } });
  return (
    <>
      <ViewHead title="Models" json={addressOf(listModels)} command="ringrift models" />
      <Load loaded={loaded}>
        {({ models }) => {
          const configs = [...new Set(models.map((model) => model.config_key))].sort();
          const shown = config_key === undefined ? models : models.filter((model) => model.config_key === config_key);
          return (
            <>
              <Tabs
                label="Configs"
                tabs={[
                  { name: "all", to: "/models", isHere: config_key === undefined, count: models.length },
                  ...configs.map((config) => ({
                    name: config,
                    to: `/models?config=${config}`,
                    isHere: config === config_key,
                    count: models.filter((model) => model.config_key === config).length,
                  })),
                ]}
              />
              <Panel title="Models" aside={models.length < LIMIT ? "newest first" : `the newest ${number(LIMIT)}`}>
                <Table<Model>
                  label="Models"
                  rows={shown}
                  keyOf={({ model_id }) => model_id}
                  empty={
                    <Empty
                      title="No model was trained yet."
                      todo="'ringrift why <config>' says what training waits for."
                    />
                  }
                  columns={[
                    {
                      head: "Model",
                      cell: ({ model_id }) => (
                        <a class="mono" href={`/models/${model_id}`}>
                          {shortModel(model_id)}
                        </a>
                      ),
                    },
                    {
                      head: "Config",
                      cell: (model) => <a href={`/configs/${model.config_key}`}>{printable(model.config_key)}</a>,
                    },
                    { head: "Iteration", right: true, cell: ({ iteration }) => <Num value={iteration} /> },
                    { head: "Stage", cell: ({ stage }) => <Badge tone={stageTone(stage)}>{stage}</Badge> },
                    { head: "Generation", right: true, cell: ({ generation }) => generation ?? "" },
                    {
                      head: "Elo",
                      cell: ({ rating }) => (rating === null ? <span class="dim">–</span> : eloWords(rating)),
                    },
                    { head: "Size", right: true, cell: ({ bytes: size }) => (size === null ? "" : bytes(size)) },
                    { head: "Made", cell: ({ created_at }) => <Time at={created_at} /> },
                  ]}
                />
              </Panel>
            </>
          );
        }}
      </Load>
    </>
  );
}

const factsOf = (model: ModelDetails): readonly (readonly [string, string])[] => [
  ["config", model.config_key],
  ["iteration", number(model.iteration)],
  ["stage", model.stage],
  ["generation", model.generation === null ? "none" : number(model.generation)],
  ["Elo", model.rating === null ? "not rated" : `${eloWords(model.rating)}, ${number(model.rating.games)} games`],
  ["loss", model.loss === null ? "none" : figureOf(totalLoss(model.loss))],
  ["held out", model.loss?.validation_loss == null ? "none" : figureOf(model.loss.validation_loss)],
  [
    "gate",
    model.gate === null
      ? "none"
      : `${model.gate.verdict === null ? "playing" : VERDICT_WORDS[model.gate.verdict]}, ${gateNumbers(model.gate)}`,
  ],
  ["size", model.bytes === null ? "unknown" : bytes(model.bytes)],
];

/** Two models, fact by fact. */
function Compare({ model, other }: { model: ModelDetails; other: string }) {
  const loaded = useAnswer(getModel, { params: { id: other } });
  return (
    <Panel title={`Beside ${shortModel(other)}`} aside={<a href={`/models/${model.model_id}`}>close</a>}>
      <Load loaded={loaded}>
        {(beside) => {
          const facts = new Map(factsOf(beside));
          return (
            <Table<readonly [string, string]>
              label="Two models"
              rows={factsOf(model)}
              keyOf={([name]) => name}
              empty=""
              columns={[
                { head: "", cell: ([name]) => <span class="dim">{name}</span> },
                { head: shortModel(model.model_id), cell: ([, value]) => value },
                {
                  head: shortModel(beside.model_id),
                  cell: ([name, value]) =>
                    facts.get(name) === value ? <span class="dim">the same</span> : facts.get(name),
                },
              ]}
            />
          );
        }}
      </Load>
    </Panel>
  );
}

/** Any other model of the same config can stand beside it. */
function Beside({ model, other }: { model: ModelDetails; other: string | null }) {
  const { go } = useApp();
  const isWhole = isWithin(useSharedPath(), "/models");
  const loaded = useAnswer(isWhole ? listModels : undefined, {
    query: { config_key: model.config_key as never, limit: LIMIT },
  });
  const others = (loaded.answer?.models ?? []).filter(({ model_id }) => model_id !== model.model_id);
  if (others.length === 0) return null;
  return (
    <label class="beside">
      <span>beside</span>
      <select
        value={other ?? ""}
        onChange={({ currentTarget: { value } }) =>
          go(`/models/${model.model_id}${value === "" ? "" : `?with=${value}`}`)
        }
      >
        <option value="">no other</option>
        {others.map(({ model_id, iteration, generation, stage }) => (
          <option key={model_id} value={model_id}>
            {shortModel(model_id)}, iteration {iteration}
            {model_id === model.parent ? ", its parent" : ""}, {generation === null ? stage : `champion ${generation}`}
          </option>
        ))}
      </select>
    </label>
  );
}

function One({ id, query }: { id: string; query: URLSearchParams }) {
  const { api } = useApp();
  const loaded = useAnswer(getModel, { params: { id } });
  const lineage = useAnswer(loaded.answer === undefined ? undefined : getLineage, {
    params: { id: loaded.answer?.model_id ?? id },
  });
  const other = query.get("with");
  return (
    <Load loaded={loaded}>
      {(model) => {
        const of = { config: model.config_key as never };
        return (
          <>
            <ViewHead
              title={
                <>
                  Model <Hash value={model.model_id} length={10} />
                </>
              }
              lead={`${model.config_key}, iteration ${model.iteration}`}
              json={addressOf(getModel, { params: { id } })}
              command={`ringrift models show ${shortModel(model.model_id)}`}
            >
              <Beside model={model} other={other} />
              <a
                class="button"
                href={addressOf(getArtifact, { params: { sha256: model.model_id } })}
                download={`${model.config_key}-${shortModel(model.model_id)}.model`}
              >
                Download
              </a>
              {model.stage === "production" ? (
                <Act
                  name="Roll back"
                  about="The last good champion of its config comes back, as a new generation."
                  attempt={() => api.call(rollbackPipeline, { params: of, body: { dry_run: true } })}
                  perform={(reason) =>
                    api.call(rollbackPipeline, { params: of, body: reason === "" ? {} : { reason } })
                  }
                  show={({ changes }) => <Changes changes={changes} />}
                  done={loaded.again}
                  isGrave
                />
              ) : (
                <Act
                  name="Promote"
                  about="It becomes the champion of its config by hand. If it turns out to be worse, it is rolled back as any other."
                  attempt={() => api.call(promoteModel, { params: { id: model.model_id }, body: { dry_run: true } })}
                  perform={(reason) =>
                    api.call(promoteModel, { params: { id: model.model_id }, body: reason === "" ? {} : { reason } })
                  }
                  show={({ changes }) => <Changes changes={changes} />}
                  done={loaded.again}
                  isGrave
                />
              )}
            </ViewHead>
            <div class="columns">
              <Panel title="About">
                <Facts
                  rows={[
                    ...factsOf(model),
                    ["SHA-256", <span class="mono">{model.model_id}</span>],
                    [
                      "parent",
                      model.parent === null ? (
                        "none"
                      ) : (
                        <a href={`/models/${model.parent}`}>{shortModel(model.parent)}</a>
                      ),
                    ],
                    ["made", <Time at={model.created_at} />],
                  ]}
                />
              </Panel>
              <div class="stack">
                {model.gate !== null && (
                  <Panel title="Its gate" aside={`blocks, the worst first: ${model.gate.counts.join(" ")}`}>
                    <LlrWalk gate={model.gate} />
                  </Panel>
                )}
                <Panel title="What it was when">
                  <Table<ModelDetails["history"][number]>
                    label="What it was when"
                    rows={model.history}
                    keyOf={({ at, stage }) => `${at} ${stage}`}
                    empty={
                      <Empty
                        title="Nothing was decided about it yet."
                        todo="Its gate decides whether it becomes the champion."
                      />
                    }
                    columns={[
                      { head: "Stage", cell: ({ stage }) => stage },
                      { head: "When", cell: ({ at }) => <Time at={at} /> },
                      { head: "By", cell: ({ by }) => printable(by) },
                      { head: "Reason", wide: true, cell: ({ reason }) => printable(reason) },
                    ]}
                  />
                </Panel>
              </div>
            </div>
            {other !== null && <Compare model={model} other={other} />}
            <Panel title="Lineage" aside={<code class="hint">ringrift trace {shortModel(model.model_id)}</code>}>
              <Load loaded={lineage}>{(found) => <LineageGraph lineage={found} />}</Load>
            </Panel>
          </>
        );
      }}
    </Load>
  );
}

export default function Models({ params: { id }, query }: { params: Record<string, string>; query: URLSearchParams }) {
  return id === undefined ? <List query={query} /> : <One id={id} query={query} />;
}

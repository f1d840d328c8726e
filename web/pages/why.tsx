/** Why nothing happens: the chain of gates from what was asked to the root, each with what is and what must be. */

import type { ComponentChildren } from "preact";
import { adviceWords } from "../../src/surfaces/cli/advice.ts";
import { printable, valueText } from "../../src/surfaces/cli/text.ts";
import { getPipeline } from "../../src/surfaces/pipeline/wire.ts";
import { getOverview } from "../../src/surfaces/status/wire.ts";
import { stepLink } from "../../src/surfaces/why/links.ts";
import { getWhy, type Why } from "../../src/surfaces/why/wire.ts";
import { addressOf } from "../browser/api.ts";
import { Causes } from "../browser/causes.tsx";
import { Graph } from "../browser/graph.tsx";
import { Badge, Facts, Load, Panel, Tabs, Time, ViewHead, Words } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

const text = (value: unknown): string => (value === null || value === undefined ? "" : printable(valueText(value)));

const todoOf = ({ hint, advice }: Why["gates"][number]): string => {
  const words = adviceWords(advice ?? null);
  return words === "" ? (hint ?? "") : words;
};

/** What does not hold is red only where somebody has to do something about it. */
function GateLine({ gate, isRefused }: { gate: Why["gates"][number]; isRefused: boolean }) {
  const state = gate.passed ? "passed" : gate.in_progress === true ? "going" : "failed";
  const look = state === "failed" && !isRefused ? "failed waits" : state;
  const facts: [string, ComponentChildren][] = [
    ["is", text(gate.actual)],
    ["must be", text(gate.required)],
    ["since", gate.since === null ? "" : <Time at={gate.since} />],
  ];
  return (
    <li class={look}>
      <span class="mark" aria-hidden="true">
        {state === "passed" ? "✓" : state === "going" ? "●" : isRefused ? "✗" : "…"}
      </span>
      <div>
        <p>
          <span class="strong">{printable(gate.gate)}</span>
          <span class="visually-hidden">
            {state === "passed" ? " holds" : state === "going" ? " is on its way" : " does not hold"}
          </span>
          {state !== "failed" && (
            <span class="dim">
              {" "}
              {text(gate.actual)}
              {state === "going" && text(gate.required) !== "" ? ` of ${text(gate.required)}` : ""}
            </span>
          )}
        </p>
        {state === "failed" && (
          <>
            <Facts rows={facts.filter(([, value]) => value !== "")} />
            {todoOf(gate) !== "" && (
              <p>
                <Words text={printable(todoOf(gate))} />
              </p>
            )}
          </>
        )}
      </div>
    </li>
  );
}

/** From what was asked to the root of it, as a drawing. */
const Path = ({ why, isRefused }: { why: Why; isRefused: boolean }) => {
  const steps = why.cause?.because ?? [];
  if (steps.length < 2) return null;
  const nodes = steps.map((step, i) => ({
    id: `${i} ${step.subject}`,
    label: printable(step.subject),
    sub: printable(i === steps.length - 1 ? why.cause!.what : step.what),
    to: stepLink(step, steps),
    isHere: step.subject === why.subject,
    ...(i === steps.length - 1 ? { tone: isRefused ? ("bad" as const) : ("warn" as const) } : {}),
  }));
  const edges = nodes.slice(1).map(({ id }, i) => ({ from: nodes[i]!.id, to: id }));
  return (
    <Panel title="The way to the root" aside="the last one is the root of it">
      <Graph label={`From ${why.subject} to the root`} nodes={nodes} edges={edges} />
    </Panel>
  );
};

function Subject({ subject }: { subject: string }) {
  const loaded = useAnswer(getWhy, { params: { subject } });
  return (
    <>
      <ViewHead
        title={`Why ${printable(loaded.answer?.label ?? subject)}`}
        lead={loaded.answer?.kind}
        json={addressOf(getWhy, { params: { subject } })}
        command={`ringrift why ${subject}`}
      />
      <Load loaded={loaded}>
        {(why) => {
          const isRefused = why.cause != null && why.cause.level !== "note";
          return (
            <>
              <Panel title="Verdict">
                <div class="panel-body">
                  <p>
                    <Badge tone={isRefused ? "bad" : "good"}>
                      <span data-why>{printable(why.verdict)}</span>
                    </Badge>
                    {why.since !== null && (
                      <span class="dim">
                        {" "}
                        for <Time at={why.since} bare />
                      </span>
                    )}
                  </p>
                  {why.cause != null && adviceWords(why.cause.advice) !== "" && (
                    <p>
                      <Words text={adviceWords(why.cause.advice)} />
                    </p>
                  )}
                </div>
              </Panel>
              <Path why={why} isRefused={isRefused} />
              <Panel title="Gates" aside="in the order they are asked">
                <ol class="chain">
                  {why.gates.map((gate) => (
                    <GateLine key={gate.gate} gate={gate} isRefused={isRefused} />
                  ))}
                </ol>
              </Panel>
            </>
          );
        }}
      </Load>
    </>
  );
}

function Everything() {
  const status = useAnswer(getOverview, {});
  const loop = useAnswer(getPipeline, {});
  return (
    <>
      <ViewHead
        title="Why"
        lead="What stands still, and the root of it. Search for any config, job, node or daemon to ask about it."
        json={addressOf(getOverview)}
        command="ringrift status"
      />
      {loop.answer !== undefined && (
        <Tabs
          label="Configs"
          tabs={loop.answer.configs.map(({ config_key }) => ({
            name: config_key,
            to: `/why/${config_key}`,
            isHere: false,
          }))}
        />
      )}
      <Panel title="What is wrong, each root once">
        <Load loaded={status}>{({ causes }) => <Causes causes={causes} />}</Load>
      </Panel>
    </>
  );
}

export default function WhyPage({ params: { subject } }: { params: Record<string, string> }) {
  return subject === undefined ? <Everything /> : <Subject subject={subject} />;
}

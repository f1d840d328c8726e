/** The wiring: which unit speaks to which by what event, and which events nobody hears or emits. */
import type { AuditReport } from "../../src/daemons/index.ts";
import { getAudit } from "../../src/surfaces/audit/wire.ts";
import { plural, printable } from "../../src/surfaces/cli/text.ts";
import { addressOf } from "../browser/api.ts";
import { Graph, type GraphNode } from "../browser/graph.tsx";
import { Badge, Empty, Load, Panel, Table, Tabs, type Tone, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

type Unit = AuditReport["layers"][number]["units"][number];
type Finding = AuditReport["findings"][number];

const TONES: Readonly<Record<string, Tone>> = {
  CRITICAL: "bad",
  HIGH: "bad",
  MEDIUM: "warn",
  LOW: "plain",
  INFO: "plain",
};

/** What one unit hears from whom, and who hears what it emits; of all of them at once nobody could see anything. */
function neighbours(units: readonly Unit[], parts: AuditReport["parts"], name: string) {
  const emitters = [...units, ...parts];
  const me = units.find((unit) => unit.name === name);
  const mine = new Set(emitters.find((each) => each.name === name)?.emits ?? []);
  const heard = new Set(me?.hears ?? []);
  const hearers = units.filter((unit) => unit.hears.some((event) => mine.has(event)));
  const sources = emitters.filter((each) => each.emits.some((event) => heard.has(event)));
  const words = (events: readonly string[]) => (events.length === 1 ? events[0]! : plural(events.length, "event"));
  const nodes: GraphNode[] = [
    ...sources
      .filter((each) => each.name !== name)
      .map((each) => ({
        id: `from ${each.name}`,
        label: each.name,
        sub: words(each.emits.filter((event) => heard.has(event))),
        to: `/wiring?unit=${each.name}`,
      })),
    { id: name, label: name, sub: `hears ${heard.size}, emits ${mine.size}`, isHere: true },
    ...hearers
      .filter((unit) => unit.name !== name)
      .map((unit) => ({
        id: `to ${unit.name}`,
        label: unit.name,
        sub: words(unit.hears.filter((event) => mine.has(event))),
        to: `/wiring?unit=${unit.name}`,
      })),
  ];
  const edges = nodes.flatMap(({ id }) =>
    id.startsWith("from ") ? [{ from: id, to: name }] : id.startsWith("to ") ? [{ from: name, to: id }] : [],
  );
  return { nodes, edges, mine: [...mine].sort(), heard: [...heard].sort() };
}

/** All units by their layers; who wants to know more clicks on one. */
function wholeGraph(layers: AuditReport["layers"], findings: readonly Finding[]) {
  const bad = new Set(findings.filter(({ fails, excuse }) => fails && excuse === null).flatMap(({ units }) => units));
  const units = layers.flatMap(({ units: inside }) => inside);
  const known = new Set(units.map(({ name }) => name));
  return {
    nodes: units.map(
      (unit): GraphNode => ({
        id: unit.name,
        label: unit.name,
        sub: `hears ${unit.hears.length}, emits ${unit.emits.length}`,
        to: `/wiring?unit=${unit.name}`,
        ...(bad.has(unit.name) ? { tone: "bad" as const } : {}),
      }),
    ),
    edges: units.flatMap(({ name, depends_on }) =>
      depends_on.filter((each) => known.has(each)).map((from) => ({ from, to: name })),
    ),
  };
}

export default function Wiring({ query }: { query: URLSearchParams }) {
  const loaded = useAnswer(getAudit, {});
  const name = query.get("unit");
  const isAll = query.has("all");
  return (
    <>
      <ViewHead title="Wiring" lead={loaded.answer?.verdict} json={addressOf(getAudit)} command="ringrift audit" />
      <Load loaded={loaded}>
        {(report) => {
          const units = report.layers.flatMap(({ units: inside }) => inside);
          const one = name === null ? undefined : neighbours(units, report.parts, name);
          const whole = wholeGraph(report.layers, report.findings);
          const shown = isAll
            ? report.findings
            : report.findings.filter(({ fails, excuse }) => fails && excuse === null);
          return (
            <>
              <Tabs
                label="Units"
                tabs={[
                  { name: "all units", to: "/wiring", isHere: name === null, count: units.length },
                  ...(name === null ? [] : [{ name, to: `/wiring?unit=${name}`, isHere: true }]),
                ]}
              />
              {one === undefined ? (
                <Panel title="Units" aside="left starts first; a click shows what one hears and emits">
                  <Graph label="Units and what they depend on" {...whole} />
                </Panel>
              ) : (
                <>
                  <Panel title={name!} aside="whom it hears, and who hears it">
                    <Graph label={`What ${name} hears and emits`} nodes={one.nodes} edges={one.edges} />
                  </Panel>
                  <div class="columns">
                    {(
                      [
                        ["Hears", one.heard],
                        ["Emits", one.mine],
                      ] as const
                    ).map(([title, events]) => (
                      <Panel key={title} title={title} aside={plural(events.length, "event")}>
                        <ul class="names">
                          {events.map((event) => (
                            <li key={event}>
                              <a href={`/journal?type=${event}`}>{event}</a>
                            </li>
                          ))}
                        </ul>
                      </Panel>
                    ))}
                  </div>
                </>
              )}
              <Panel
                title="Findings"
                aside={
                  <>
                    {plural(report.findings.length, "finding")}, {shown.length} shown;{" "}
                    <a href={isAll ? "/wiring" : "/wiring?all=1"}>{isAll ? "only what fails" : "all"}</a>
                  </>
                }
              >
                <Table<Finding & { readonly place: number }>
                  label="Findings"
                  rows={shown.map((finding, place) => ({ ...finding, place }))}
                  keyOf={({ place }) => place}
                  toneOf={({ fails, excuse }) => (fails && excuse === null ? "bad" : undefined)}
                  empty={
                    <Empty title="Nothing fails: every event is emitted and heard, or a reason is written down." />
                  }
                  columns={[
                    {
                      head: "Severity",
                      cell: ({ severity, fails, excuse }) =>
                        fails && excuse === null ? (
                          <Badge tone={TONES[severity.toUpperCase()] ?? "plain"}>{severity}</Badge>
                        ) : (
                          <Badge tone="plain">{excuse === null ? severity : "excused"}</Badge>
                        ),
                    },
                    { head: "Kind", cell: ({ kind }) => kind },
                    {
                      head: "Event",
                      cell: ({ event }) => (event === null ? "" : <a href={`/journal?type=${event}`}>{event}</a>),
                    },
                    {
                      head: "What",
                      wide: true,
                      cell: ({ message, excuse, action }) => (
                        <>
                          {printable(message)} <span class="dim">{printable(excuse ?? action)}</span>
                        </>
                      ),
                    },
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

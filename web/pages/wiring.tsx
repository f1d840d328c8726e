/** The wiring: which unit speaks to which by what event, and which events nobody hears or emits. */
import type { AuditReport } from "../../src/daemons/index.ts";
import { getAudit } from "../../src/surfaces/audit/wire.ts";
import { duration, number, plural, printable } from "../../src/surfaces/cli/text.ts";
import { addressOf } from "../browser/api.ts";
import { Graph, type GraphNode } from "../browser/graph.tsx";
import { Badge, Empty, Facts, Links, Load, Panel, Table, Tabs, type Tone, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";
import { WiringMatrix } from "../browser/wiring-matrix.tsx";

type Unit = AuditReport["layers"][number]["units"][number];
type Finding = AuditReport["findings"][number];

/** Who is wired to whom changes with the program alone, and an audit looks at everything: not at every event. */
const EVERY_MS = 30_000;

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

/** What a unit or a part is, as it is declared. */
function Definition({ name, layers, parts }: Pick<AuditReport, "layers" | "parts"> & { name: string }) {
  const found = layers
    .flatMap(({ layer, units }) => units.map((unit) => ({ layer, unit })))
    .find(({ unit }) => unit.name === name);
  const part = parts.find((each) => each.name === name);
  if (found === undefined)
    return (
      <Panel title="Declared" aside="a part: it emits events, and is no unit">
        <Facts rows={[["runs in", part!.placement]]} />
      </Panel>
    );
  const { layer, unit } = found;
  return (
    <Panel title="Declared" aside={<a href={`/why/${name}`}>why {name}</a>}>
      <Facts
        rows={[
          ["kind", unit.kind === "daemon" ? <a href={`/daemons/${name}`}>daemon</a> : unit.kind],
          ["runs in", unit.placement],
          ["layer", number(layer)],
          ...(unit.every_ms == null ? [] : [["runs every", duration(unit.every_ms)] as const]),
          [
            "starts after",
            unit.depends_on.length === 0 ? (
              "nothing"
            ) : (
              <Links links={unit.depends_on.map((each) => ({ to: `/wiring?unit=${each}`, name: each }))} />
            ),
          ],
          ...(unit.delegates_to == null ? [] : [["its work is done by", printable(unit.delegates_to)] as const]),
          ...(unit.also_known_as.length === 0 ? [] : [["also called", unit.also_known_as.join(", ")] as const]),
        ]}
      />
    </Panel>
  );
}

/** What has to be settled: nobody hears it, nobody emits it, or it is written and never read. */
const isOpen = ({ fails, excuse }: Finding): boolean => fails && excuse === null;

export default function Wiring({ query }: { query: URLSearchParams }) {
  const loaded = useAnswer(getAudit, {}, { everyMs: EVERY_MS });
  const name = query.get("unit");
  const isAll = query.has("all");
  return (
    <>
      <ViewHead title="Wiring" lead={loaded.answer?.verdict} json={addressOf(getAudit)} command="ringrift audit" />
      <Load loaded={loaded}>
        {(report) => {
          const units = report.layers.flatMap(({ units: inside }) => inside);
          const isKnown = [...units, ...report.parts].some((each) => each.name === name);
          const one = name === null || !isKnown ? undefined : neighbours(units, report.parts, name);
          const open = report.findings.filter(isOpen);
          const shown = isAll ? report.findings : open;
          return (
            <>
              <Tabs
                label="Units"
                tabs={[
                  { name: "all units", to: "/wiring", isHere: name === null, count: units.length },
                  ...(name === null ? [] : [{ name, to: `/wiring?unit=${name}`, isHere: true }]),
                ]}
              />
              {name !== null && !isKnown && (
                <div class="empty">
                  <Empty title={`Nothing here is called '${printable(name)}'.`} todo="Type / to search for it." />
                </div>
              )}
              {one === undefined ? (
                <Panel
                  title="Who speaks to whom"
                  aside={
                    <>
                      rows emit, columns hear; <a href="/daemons?tab=drawing">who waits for whom</a>
                    </>
                  }
                >
                  <WiringMatrix
                    units={units}
                    parts={report.parts}
                    orphans={new Set(open.flatMap((finding) => finding.units))}
                  />
                </Panel>
              ) : (
                <>
                  <Definition name={name!} layers={report.layers} parts={report.parts} />
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
                  toneOf={(finding) => (isOpen(finding) ? "bad" : undefined)}
                  empty={
                    <Empty
                      title="Nothing fails: every event is emitted and heard, or a reason is written down."
                      todo={<a href="/wiring?all=1">Show all findings, with their reasons.</a>}
                    />
                  }
                  columns={[
                    {
                      head: "Severity",
                      cell: (finding) =>
                        isOpen(finding) ? (
                          <Badge tone={TONES[finding.severity.toUpperCase()] ?? "plain"}>{finding.severity}</Badge>
                        ) : (
                          <Badge tone="plain">{finding.excuse === null ? finding.severity : "excused"}</Badge>
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

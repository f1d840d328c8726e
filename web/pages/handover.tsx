/** What happened while nobody looked: what was trained, what was done without anybody, what people changed, and what is left to do. */
import { useMemo } from "preact/hooks";
import { listAlerts } from "../../src/surfaces/alerts/wire.ts";
import { plural, printable } from "../../src/surfaces/cli/text.ts";
import { listEventUse } from "../../src/surfaces/events/wire.ts";
import { type Handover, handoverOf } from "../../src/surfaces/handover/handover.ts";
import { getPipeline } from "../../src/surfaces/pipeline/wire.ts";
import { getOverview } from "../../src/surfaces/status/wire.ts";
import { listWrites } from "../../src/surfaces/tokens/wire.ts";
import { addressOf } from "../browser/api.ts";
import { useApp } from "../browser/app.ts";
import { Causes } from "../browser/causes.tsx";
import { Badge, Empty, Load, Num, Panel, Table, Tabs, Time, ViewHead } from "../browser/parts.tsx";
import { type Loaded, useAnswer } from "../browser/use-answer.ts";

const HOUR_MS = 3_600_000;
const SPANS = [
  { name: "12 hours", hours: 12 },
  { name: "2 days", hours: 48 },
  { name: "7 days", hours: 168 },
] as const;
const USUAL = SPANS[1];
const MAX_ROWS = 1_000;

/** The first of them that was refused, or all answers. */
function useRecords(since: number): Loaded<Handover> {
  const loop = useAnswer(getPipeline, {});
  const overview = useAnswer(getOverview, {});
  const alerts = useAnswer(listAlerts, { query: { limit: MAX_ROWS } });
  const writes = useAnswer(listWrites, { query: { limit: MAX_ROWS } });
  const use = useAnswer(listEventUse, { query: { since: since / 1_000 } });
  const all = [overview, alerts, writes, use];
  const noLoop = loop.refused?.code === "LOOP_NOT_HERE";
  const configs = noLoop ? [] : loop.answer?.configs;
  const refused = all.find((each) => each.refused !== undefined)?.refused ?? (noLoop ? undefined : loop.refused);
  const again = () => {
    for (const each of [loop, ...all]) each.again();
  };
  if (configs === undefined || !overview.answer || !alerts.answer || !writes.answer || !use.answer)
    return { answer: undefined, refused, again };
  const records = {
    since,
    configs,
    causes: overview.answer.causes,
    alerts: alerts.answer.alerts,
    writes: writes.answer.writes,
    events: Object.fromEntries(use.answer.event_types.map(({ event_type, events }) => [event_type, events])),
  };
  return { answer: handoverOf(records), refused, again };
}

const Done = ({ done }: Handover) => (
  <Panel title="Done without you" aside={plural(done.length, "kind")}>
    <Table<Handover["done"][number]>
      label="Done without you"
      rows={done}
      keyOf={({ event }) => event}
      empty={
        <Empty
          title="Nothing."
          todo="Promotions, repairs, retries and clean-ups that happen by themselves come here."
        />
      }
      columns={[
        { head: "What", wide: true, cell: ({ what }) => what },
        { head: "Event", cell: ({ event }) => <a href={`/journal?type=${event}`}>{event}</a> },
      ]}
    />
  </Panel>
);

const Trained = ({ configs }: Handover) => (
  <Panel title="Training" aside={plural(configs.length, "config")}>
    <Table<Handover["configs"][number]>
      label="Training"
      rows={configs}
      keyOf={({ config_key }) => config_key}
      empty={<Empty title="No config is trained here." todo="Start one: 'ringrift train othello6_2p'." />}
      columns={[
        { head: "Config", cell: ({ config_key }) => <a href={`/configs/${config_key}`}>{printable(config_key)}</a> },
        { head: "State", cell: ({ state }) => state },
        { head: "Iteration", right: true, cell: ({ iteration }) => <Num value={iteration} /> },
        { head: "Promotions", right: true, cell: ({ promoted }) => <Num value={promoted} /> },
      ]}
    />
  </Panel>
);

const Changed = ({ people }: Handover) => (
  <Panel title="Changed by people" aside={<a href="/writes">{plural(people.length, "change")}</a>}>
    <Table<Handover["people"][number]>
      label="Changed by people"
      rows={people}
      keyOf={({ id, request_id }) => `${id} ${request_id}`}
      empty={<Empty title="Nobody changed anything." todo={<a href="/writes">Writes has the record of all time.</a>} />}
      columns={[
        { head: "When", cell: ({ at }) => <Time at={at} /> },
        { head: "Who", cell: ({ actor }) => printable(actor) },
        {
          head: "What",
          wide: true,
          cell: ({ method, path }) => (
            <span class="mono">
              {method} {printable(path)}
            </span>
          ),
        },
        { head: "Reason", wide: true, cell: ({ reason }) => printable(reason ?? "") },
      ]}
    />
  </Panel>
);

const Alerts = ({ alerts }: Handover) => (
  <Panel title="Open alerts" aside={<a href="/alerts">{plural(alerts.opened, "alert")} opened in this time</a>}>
    <Table<Handover["alerts"]["open"][number]>
      label="Open alerts"
      rows={alerts.open}
      keyOf={({ id }) => id}
      empty={
        <Empty title="No alert is open." todo={<a href="/alerts?status=closed">Show those that were closed.</a>} />
      }
      columns={[
        {
          head: "Severity",
          cell: ({ severity }) => <Badge tone={severity === "warning" ? "warn" : "bad"}>{severity}</Badge>,
        },
        { head: "Alert", wide: true, cell: ({ id, title }) => <a href={`/alerts?id=${id}`}>{printable(title)}</a> },
        { head: "Opened", cell: ({ opened_at }) => <Time at={opened_at} /> },
      ]}
    />
  </Panel>
);

export default function HandoverPage({ query }: { query: URLSearchParams }) {
  const { api } = useApp();
  const span = SPANS.find(({ hours }) => String(hours) === query.get("hours")) ?? USUAL;
  // Asked for anew it would be another question each time.
  const since = useMemo(() => Math.round(api.now() - span.hours * HOUR_MS), [span]);
  const loaded = useRecords(since);
  return (
    <>
      <ViewHead
        title="Hand-over"
        lead="What happened while you were away, and what is left to do."
        json={addressOf(getOverview)}
        command={`ringrift handover --since ${span.hours}h`}
      />
      <Tabs
        label="How far back"
        tabs={SPANS.map(({ name, hours }) => ({
          name,
          to: hours === USUAL.hours ? "/handover" : `/handover?hours=${hours}`,
          isHere: hours === span.hours,
        }))}
      />
      <Load loaded={loaded}>
        {(handover) => (
          <>
            <Panel title="What needs you" aside={<code class="hint">ringrift status</code>}>
              <Causes causes={handover.needs} />
            </Panel>
            <div class="columns">
              <div class="stack">
                <Trained {...handover} />
                <Alerts {...handover} />
              </div>
              <Done {...handover} />
            </div>
            <Changed {...handover} />
          </>
        )}
      </Load>
    </>
  );
}

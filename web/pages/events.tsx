/** Events as they come: the tail, how often each comes, who hears it, and what one led to. */
import { useEffect, useState } from "preact/hooks";
import { number, payloadLine, plural, printable, shortId } from "../../src/surfaces/cli/text.ts";
import { getEvent, getEventUse, getTrace, listEvents, listEventUse } from "../../src/surfaces/events/wire.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { addressOf } from "../browser/api.ts";
import { useApp } from "../browser/app.ts";
import { CauseDrawing } from "../browser/cause-drawing.tsx";
import { iterationLink } from "../browser/iteration-link.ts";
import {
  Badge,
  Empty,
  Facts,
  Field,
  Links,
  Load,
  Num,
  Older,
  Panel,
  Table,
  Tabs,
  Time,
  type Tone,
  ViewHead,
} from "../browser/parts.tsx";
import type { StreamedEvent } from "../browser/stream.ts";
import { useAnswer } from "../browser/use-answer.ts";

/** What CloudEvents knows beyond its least; objects are open on the wire. */
interface Attributes {
  readonly sequence?: string;
  readonly time?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly causationid?: string;
  readonly partitionkey?: string;
  readonly traceparent?: string;
}
type Listed = Answer<typeof listEvents>["events"][number] & Attributes;

/** An event as rows show it. */
interface Row {
  readonly id: string;
  readonly seq: number | null;
  readonly type: string;
  readonly source: string;
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

const rowOf = (event: Listed): Row => ({
  id: event.id,
  seq: event.sequence === undefined ? null : Number(event.sequence),
  type: event.type,
  source: event.source,
  at: Date.parse(event.time ?? ""),
  data: event.data ?? {},
});
const streamed = ({ id, seq, type, source, time, data }: StreamedEvent): Row => ({
  id,
  seq,
  type,
  source,
  at: Date.parse(time),
  data,
});

const MAX_ROWS = 300;
/** A list of causes that is no longer is open at once. */
const SHORT_LIST = 30;
const PAGE = 100;

/** `/ringrift/node-1/training_coordinator` is said by its last two words. */
const sourceWords = (source: string): string => {
  const words = source.replace(/^\/ringrift\//, "");
  try {
    return decodeURIComponent(words);
  } catch {
    return words;
  }
};

const columns = [
  {
    head: "Place",
    right: true,
    cell: ({ seq }: Row) => (seq === null ? <span class="dim">passing</span> : <Num value={seq} />),
  },
  { head: "When", cell: ({ at }: Row) => <Time at={at} /> },
  { head: "Event", cell: ({ type, id }: Row) => <a href={`/journal/${encodeURIComponent(id)}`}>{printable(type)}</a> },
  { head: "By", cell: ({ source }: Row) => <span class="dim">{printable(sourceWords(source))}</span> },
  { head: "Payload", wide: true, cell: ({ data }: Row) => <span class="mono small">{payloadLine(data, 120)}</span> },
];

interface Filter {
  readonly type: string;
  readonly key: string;
}

/** The newest first, and what comes on top of them; older ones by pages from the end. */
function useTail({ type, key }: Filter) {
  const { api, live } = useApp();
  const query = {
    ...(type === "" ? {} : { event_type: type }),
    ...(key === "" ? {} : { order_key: key }),
    limit: PAGE,
  };
  const first = useAnswer(listEvents, { query }, { once: true });
  const [fresh, setFresh] = useState<readonly Row[]>([]);
  const [older, setOlder] = useState<{ rows: readonly Row[]; before: number | null } | undefined>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    setFresh([]);
    setOlder(undefined);
  }, [type, key, round]);
  useEffect(
    () =>
      live.listen((events) => {
        if (events === "gap") {
          setRound((n) => n + 1);
          return first.again();
        }
        const wanted = type.toUpperCase();
        const rows = events
          .map(streamed)
          .filter((row) => wanted === "" || row.type === wanted)
          .filter((row) => key === "" || Object.values(row.data).includes(key));
        if (rows.length > 0) setFresh((before) => [...rows.toReversed(), ...before].slice(0, MAX_ROWS));
      }),
    [live, type, key, first.again],
  );
  const known = (first.answer?.events ?? []).map(rowOf).reverse();
  const head = known.find(({ seq }) => seq !== null)?.seq ?? 0;
  const ids = new Set(known.map(({ id }) => id));
  const before = older === undefined ? (first.answer?.next_before ?? null) : older.before;
  const more =
    before === null
      ? undefined
      : async () => {
          const page = await api.call(listEvents, { query: { ...query, before } });
          setOlder({ rows: [...(older?.rows ?? []), ...page.events.map(rowOf).reverse()], before: page.next_before });
        };
  const news = fresh.filter(({ id, seq }) => !ids.has(id) && (seq === null || seq > head));
  return { first, rows: [...news, ...known, ...(older?.rows ?? [])], more };
}

type Use = Answer<typeof getEventUse>;
type FieldRow = NonNullable<Use["definition"]>["fields"][number];

const unitLinks = (names: readonly string[]) =>
  names.length === 0 ? (
    "nobody"
  ) : (
    <Links links={names.map((name) => ({ to: `/wiring?unit=${encodeURIComponent(name)}`, name: printable(name) }))} />
  );

/** What an event is, who says it and who hears it. */
function Definition({ type }: { type: string }) {
  const { answer, refused, again } = useAnswer(getEventUse, { params: { name: type } });
  return (
    <Panel title="What it is" aside={<code class="hint">ringrift events show {type}</code>}>
      <Load loaded={{ answer, refused, again }}>
        {({ definition, emitters, hearers, last_hour, per_hour, last_seen_at }) => (
          <>
            <Facts
              rows={[
                ...(definition == null
                  ? [["meaning", "it is not in the catalog"] as const]
                  : [
                      ["meaning", definition.about] as const,
                      ["class", `${definition.class}${definition.critical ? ", critical" : ""}`] as const,
                      ["category", definition.category] as const,
                    ]),
                ["emitted by", unitLinks(emitters)],
                ["heard by", unitLinks(hearers)],
                ["rate", `${number(last_hour)} in the last hour, ${per_hour} an hour over the last day`],
                ["last", <Time at={last_seen_at} />],
              ]}
            />
            {definition != null && definition.fields.length > 0 && (
              <details class="as-list">
                <summary>{plural(definition.fields.length, "field")}</summary>
                <Table<FieldRow>
                  label="Fields"
                  rows={definition.fields}
                  keyOf={({ name }) => name}
                  empty=""
                  columns={[
                    { head: "Field", cell: ({ name }) => <span class="mono">{name}</span> },
                    { head: "Type", cell: ({ type: kind }) => kind.replaceAll("`", "") },
                    { head: "Required", cell: ({ required }) => (required ? "yes" : "") },
                    { head: "Meaning", wide: true, cell: ({ meaning }) => meaning },
                  ]}
                />
              </details>
            )}
          </>
        )}
      </Load>
    </Panel>
  );
}

function Tail({ query }: { query: URLSearchParams }) {
  const { go } = useApp();
  const filter = { type: query.get("type") ?? "", key: query.get("key") ?? "" };
  const { first, rows, more } = useTail(filter);
  const [type, setType] = useState(filter.type);
  const [key, setKey] = useState(filter.key);
  return (
    <>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          const wanted = new URLSearchParams({ ...(type === "" ? {} : { type }), ...(key === "" ? {} : { key }) });
          go(`/journal?${wanted}`);
        }}
      >
        <Field label="Event" value={type} onInput={setType} placeholder="MODEL_PROMOTED" />
        <Field label="Config, node or other key" value={key} onInput={setKey} placeholder="othello6_2p" />
        <button type="submit">Filter</button>
        {(filter.type !== "" || filter.key !== "") && <a href="/journal">all events</a>}
      </form>
      {filter.type !== "" && <Definition type={filter.type} />}
      <Panel title="Tail" aside="newest first">
        <Load loaded={first}>
          {() => (
            <>
              <Table<Row>
                label="Events"
                rows={rows}
                keyOf={({ id, seq }) => `${id} ${seq}`}
                columns={columns}
                empty={
                  <Empty title="No event fits." todo="Loosen the filter, or wait: they show up here as they come." />
                }
              />
              <Older more={more} />
            </>
          )}
        </Load>
      </Panel>
    </>
  );
}

const MAX_NAMED = 3;

/** The view of an event names all of them. */
const fewOf = (names: readonly string[]): string =>
  names.length <= MAX_NAMED + 1
    ? names.join(", ")
    : `${names.slice(0, MAX_NAMED).join(", ")} and ${names.length - MAX_NAMED} more`;

function Rates() {
  const loaded = useAnswer(listEventUse, {});
  return (
    <Load loaded={loaded}>
      {({ event_types, looked_at, since }) => (
        <Panel
          title="Rates"
          aside={
            <>
              from the newest {number(looked_at)} events, since <Time at={since} />
            </>
          }
        >
          <Table<(typeof event_types)[number]>
            label="Rates of events"
            rows={event_types}
            keyOf={({ event_type }) => event_type}
            empty={
              <Empty
                title="No event was published yet."
                todo="'ringrift train othello6_2p' gives the journal something to tell."
              />
            }
            columns={[
              { head: "Event", cell: ({ event_type }) => <a href={`/journal?type=${event_type}`}>{event_type}</a> },
              { head: "Events", right: true, cell: ({ events }) => <Num value={events} /> },
              { head: "Last hour", right: true, cell: ({ last_hour }) => <Num value={last_hour} /> },
              { head: "An hour", right: true, cell: ({ per_hour }) => per_hour.toFixed(1) },
              { head: "Last", cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
              {
                head: "By",
                wide: true,
                cell: ({ sources }) => <span class="dim">{fewOf(sources.map(sourceWords))}</span>,
              },
              {
                head: "Heard by",
                wide: true,
                cell: ({ hearers }) =>
                  hearers.length === 0 ? (
                    <Badge tone="warn">nobody</Badge>
                  ) : (
                    <span class="dim" title={hearers.join(", ")}>
                      {fewOf(hearers)}
                    </span>
                  ),
              },
            ]}
          />
        </Panel>
      )}
    </Load>
  );
}

function Consumers() {
  const loaded = useAnswer(listEventUse, {});
  return (
    <Load loaded={loaded}>
      {({ consumers }) => (
        <Panel title="Consumers" aside={plural(consumers.length, "durable consumer")}>
          <Table<(typeof consumers)[number]>
            label="Consumers"
            rows={consumers.toSorted((a, b) => b.lag - a.lag)}
            keyOf={({ consumer }) => consumer}
            empty={
              <Empty
                title="Nobody is owed events."
                todo="Units and programs that subscribe under a name come here; docs/21-local-api.md shows how."
              />
            }
            columns={[
              { head: "Consumer", cell: ({ consumer }) => printable(consumer) },
              { head: "Kind", cell: ({ kind }) => kind },
              { head: "Behind", right: true, cell: ({ lag }) => <Num value={lag} /> },
              { head: "Parked", right: true, cell: ({ parked }) => <Num value={parked} /> },
              {
                head: "Dead letters",
                right: true,
                cell: ({ dead_letters, consumer }) =>
                  dead_letters === 0 ? (
                    "0"
                  ) : (
                    <a href={`/dead-letters?consumer=${encodeURIComponent(consumer)}`}>{number(dead_letters)}</a>
                  ),
              },
            ]}
          />
        </Panel>
      )}
    </Load>
  );
}

type Note = Omit<Answer<typeof getEvent>, "event"> & { readonly event: Listed };

const stateTone = (state: string): Tone =>
  state === "done" ? "good" : state === "dead" || state === "expired" ? "bad" : "warn";

/** The tree of causes and effects, each event once: an event hangs below the one that caused it. */
function CauseTree({ id }: { id: string }) {
  const loaded = useAnswer(getTrace, { params: { id }, query: { limit: 300 } });
  return (
    <Load loaded={loaded}>
      {({ events, next_after }) => {
        const known = new Set(events.map(({ event }) => event.id));
        const parentOf = ({ event }: Note) =>
          event.causationid !== undefined && known.has(event.causationid) ? event.causationid : null;
        const children = Map.groupBy<string | null, Note>(events, parentOf);
        const lines: { note: Note; depth: number }[] = [];
        const stack = (children.get(null) ?? []).map((note) => ({ note, depth: 0 })).reverse();
        for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
          lines.push(next);
          const { depth } = next;
          for (const note of (children.get(next.note.event.id) ?? []).toReversed())
            stack.push({ note, depth: depth + 1 });
        }
        return (
          <>
            <CauseDrawing
              events={events.map(({ event, deliveries }: Note) => ({
                id: event.id,
                type: event.type,
                by: sourceWords(event.source).split("/").at(-1)!,
                at: Date.parse(event.time ?? ""),
                cause: event.causationid ?? null,
                isHere: event.id === id,
                tone: deliveries.some(({ state }) => stateTone(state) === "bad") ? "bad" : undefined,
              }))}
            />
            <details class="as-list" open={lines.length <= SHORT_LIST}>
              <summary>As a list</summary>
              <ul class="tree">
                {lines.map(({ note: { event, deliveries }, depth }) => (
                  <li key={event.id} style={{ paddingLeft: `${Math.min(depth, 12) * 1.1}rem` }}>
                    {event.id === id ? (
                      <span class="strong">{printable(event.type)}</span>
                    ) : (
                      <a href={`/journal/${encodeURIComponent(event.id)}`}>{printable(event.type)}</a>
                    )}
                    <span class="dim">
                      {printable(sourceWords(event.source))} <Time at={Date.parse(event.time ?? "")} />
                    </span>
                    {deliveries
                      .filter(({ state }) => state !== "done")
                      .map(({ consumer, state }) => (
                        <Badge key={consumer} tone={stateTone(state)}>
                          {printable(consumer)} {state}
                        </Badge>
                      ))}
                  </li>
                ))}
              </ul>
            </details>
            {next_after !== null && <p class="more dim">The first 300 events of this trace; the JSON has all.</p>}
          </>
        );
      }}
    </Load>
  );
}

function One({ id }: { id: string }) {
  const loaded = useAnswer(getEvent, { params: { id } });
  return (
    <Load loaded={loaded}>
      {({ event, deliveries }: Note) => (
        <>
          <ViewHead
            title={printable(event.type)}
            lead={`place ${Number(event.sequence)}, ${shortId(event.id)}`}
            json={addressOf(getEvent, { params: { id } })}
            command={`ringrift events show ${shortId(event.id)}`}
          />
          <div class="columns">
            <Panel title="Event">
              <Facts
                rows={[
                  ["id", <span class="mono">{printable(event.id)}</span>],
                  ["published", <Time at={Date.parse(event.time ?? "")} />],
                  ["by", printable(sourceWords(event.source))],
                  ["order key", printable(event.partitionkey ?? "none")],
                  ["trace", <span class="mono">{printable(event.traceparent ?? "none")}</span>],
                ]}
              />
              <pre class="payload" tabIndex={0}>
                {JSON.stringify(event.data ?? {}, null, 2)}
              </pre>
            </Panel>
            <Panel title="What became of it" aside={plural(deliveries.length, "consumer")}>
              <Table<(typeof deliveries)[number]>
                label="Deliveries"
                rows={deliveries}
                keyOf={({ consumer }) => consumer}
                empty={
                  <Empty
                    title="Nobody was owed it."
                    todo="No consumer that must not miss one had subscribed to it when it came."
                  />
                }
                columns={[
                  { head: "Consumer", cell: ({ consumer }) => printable(consumer) },
                  { head: "State", cell: ({ state }) => <Badge tone={stateTone(state)}>{state}</Badge> },
                ]}
              />
            </Panel>
          </div>
          <Panel title="Causes and effects" aside={<code class="hint">ringrift events trace {shortId(event.id)}</code>}>
            <CauseTree id={event.id} />
          </Panel>
        </>
      )}
    </Load>
  );
}

const MAX_STAGES = 1_000;

/** All that one round of a config led to: its stages are one trace. */
function Iteration({ config, iteration }: { config: string; iteration: number }) {
  const query = { event_type: "PIPELINE_STAGE_ENTERED", order_key: config, limit: MAX_STAGES };
  const loaded = useAnswer(listEvents, { query });
  return (
    <>
      <ViewHead
        title={`${printable(config)}, iteration ${number(iteration)}`}
        lead="What led to what, from its first stage on."
        json={addressOf(listEvents, { query })}
        command={`ringrift pipeline ${config} --history`}
      >
        <a href={`/configs/${encodeURIComponent(config)}`}>config</a>
        {iteration > 0 && <a href={iterationLink(config, iteration - 1)}>before</a>}
        <a href={iterationLink(config, iteration + 1)}>next</a>
      </ViewHead>
      <Load loaded={loaded}>
        {({ events }) => {
          const first = (events as readonly Listed[]).find(({ data }) => data?.iteration === iteration);
          if (first === undefined)
            return (
              <div class="empty">
                <Empty
                  title={`No event of iteration ${number(iteration)} is kept.`}
                  todo={<a href={`/configs/${encodeURIComponent(config)}`}>The config says which rounds there were.</a>}
                />
              </div>
            );
          return (
            <Panel
              title="Causes and effects"
              aside={<code class="hint">ringrift events trace {shortId(first.id)}</code>}
            >
              <CauseTree id={first.id} />
            </Panel>
          );
        }}
      </Load>
    </>
  );
}

export default function Events({ params: { id }, query }: { params: Record<string, string>; query: URLSearchParams }) {
  if (id !== undefined) return <One id={id} />;
  const [config, iteration] = [query.get("config"), Number(query.get("iteration") ?? Number.NaN)];
  if (config !== null && Number.isInteger(iteration)) return <Iteration config={config} iteration={iteration} />;
  const tab = query.get("tab") ?? "tail";
  return (
    <>
      <ViewHead title="Events" json={addressOf(listEvents)} command="ringrift events tail" />
      <Tabs
        label="Events"
        tabs={[
          { name: "tail", to: "/journal", isHere: tab === "tail" },
          { name: "rates", to: "/journal?tab=rates", isHere: tab === "rates" },
          { name: "consumers", to: "/journal?tab=consumers", isHere: tab === "consumers" },
        ]}
      />
      {tab === "rates" ? (
        <Rates />
      ) : tab === "consumers" ? (
        <Consumers />
      ) : (
        <Tail key={query.toString()} query={query} />
      )}
    </>
  );
}

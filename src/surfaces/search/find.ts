/** Looks in everything that has names. Each place gives few, and none of them costs more than an index or a short list. */
import { isOperatingError } from "../../kernel/index.ts";
import { eventById } from "../../router/index.ts";
import type { ControlPorts } from "../http/ports.ts";
import type { Found } from "./wire.ts";

const MAX_FOUND = 20;
const MAX_OF_KIND = 6;
/** Newest events among which an end of an id is looked for: lists show the ends. */
const NEWEST_EVENTS = 10_000;
const LEAST_OF_EVENT = 6;
const MAX_MODELS = 1_000;
const HEX = /^[0-9a-f]{4,64}$/;

type Place = (text: string, ports: ControlPorts) => readonly Found[] | Promise<readonly Found[]>;

/** Names that fit: just this one, else those that contain it. */
const named = (kind: Found["kind"], names: readonly { id: string; label: string }[], text: string): Found[] => {
  const wanted = text.toLowerCase();
  return names
    .filter(({ id, label }) => id.toLowerCase().includes(wanted) || label.toLowerCase().includes(wanted))
    .map(({ id, label }) => ({
      kind,
      id,
      label,
      exact: id.toLowerCase() === wanted || label.toLowerCase() === wanted,
    }))
    .sort((a, b) => Number(b.exact) - Number(a.exact))
    .slice(0, MAX_OF_KIND);
};
const same = (names: readonly string[]) => names.map((id) => ({ id, label: id }));

/** Nothing where there is no such thing. */
const ifKnown = (look: () => readonly Found[]): readonly Found[] => {
  try {
    return look();
  } catch (thrown) {
    if (isOperatingError(thrown)) return [];
    throw thrown;
  }
};

const configs: Place = (text, { pipeline }) => named("config", same(pipeline?.configKeys() ?? []), text);

const jobs: Place = (text, { work }) => {
  const job = /^w?\d{1,15}$/.test(text) ? work.queue.show(text.startsWith("w") ? text : `w${text}`) : undefined;
  if (job === undefined) return [];
  const label = [job.work_id, job.work_type, job.config_key, job.state].filter(Boolean).join(" ");
  return [{ kind: "job", id: job.work_id, label, exact: job.work_id === text }];
};

const models: Place = (text, { pipeline }) =>
  pipeline === undefined || !HEX.test(text)
    ? []
    : pipeline
        .models({ limit: MAX_MODELS })
        .filter(({ model_id }) => model_id.startsWith(text))
        .slice(0, MAX_OF_KIND)
        .map(({ model_id, config_key, iteration, stage }) => ({
          kind: "model",
          id: model_id,
          label: `${model_id.slice(0, 12)} ${config_key} iteration ${iteration}, ${stage}`,
          exact: model_id === text,
        }));

/** A file by its hash; of games also one game within it: `5b6ec061fbef#17`. */
const files: Place = (text, { library }) => {
  const [hex = "", game] = text.split("#");
  if (!/^[0-9a-f]{6,64}$/.test(hex)) return [];
  return ifKnown(() => {
    const { sha256, kind, config_key, state } = library.show(hex);
    const label = [sha256.slice(0, 12), kind, config_key, state].filter(Boolean).join(" ");
    const isGames = kind === "games";
    const id = isGames && game !== undefined && /^\d+$/.test(game) ? `${sha256}#${game}` : sha256;
    return [{ kind: isGames ? "games" : "file", id, label, exact: hex === sha256 }];
  });
};

const nodes: Place = (text, { nodes: { book } }) =>
  named(
    "node",
    book.list().map(({ node_id, label }) => ({ id: node_id, label })),
    text,
  );

const daemons: Place = (text, { daemons: supervisor }) =>
  named("daemon", same(supervisor.report().map(({ name }) => name)), text);

const units: Place = (text, ports) => {
  const known = new Set(ports.daemons.report().map(({ name }) => name));
  const others = ports.units().filter(({ name }) => !known.has(name));
  return named("unit", same(others.map(({ name }) => name)), text);
};

const eventTypes: Place = (text, { router }) =>
  text.length < 3 ? [] : named("event type", same(Object.keys(router.catalog.rows)), text);

const events: Place = async (text, { router, store }) => {
  const found = (event_id: string, event_type: string, seq: number): Found => ({
    kind: "event",
    id: event_id,
    label: `${event_type} ${event_id.slice(-8)}, place ${seq}`,
    exact: event_id === text,
  });
  const whole = eventById(router.store, text);
  if (whole !== undefined) return [found(whole.event_id, whole.event_type, whole.seq)];
  if (text.length < LEAST_OF_EVENT || !/^[\w.-]+$/.test(text)) return [];
  const rows = await store.scan<{ event_id: string; event_type: string; seq: number }>(
    `SELECT event_id, event_type, seq FROM (SELECT event_id, event_type, seq FROM events ORDER BY seq DESC LIMIT ${NEWEST_EVENTS})
      WHERE substr(event_id, -length(?1)) = ?1 LIMIT ${MAX_OF_KIND}`,
    [text.toLowerCase()],
  );
  return rows.map(({ event_id, event_type, seq }) => found(event_id, event_type, seq));
};

const alerts: Place = (text, { alerts: book }) =>
  ifKnown(() => {
    const { id, title } = book.get(text);
    return [{ kind: "alert", id, label: `${id} ${title}`, exact: true }];
  });

const deadLetters: Place = async (text, { router }) =>
  (await (/^\d{1,15}$/.test(text) ? router.deadLetters.list({ id: Number(text) }, 1) : [])).map(
    ({ id, event_type, consumer, status }) => ({
      kind: "dead letter",
      id: String(id),
      label: `${id} ${event_type} to ${consumer}, ${status}`,
      exact: true,
    }),
  );

const PLACES: readonly Place[] = [
  configs,
  jobs,
  models,
  files,
  nodes,
  daemons,
  units,
  eventTypes,
  events,
  alerts,
  deadLetters,
];

export async function findIn(ports: ControlPorts, given: string): Promise<Found[]> {
  const text = given.trim();
  const found = await Promise.all(PLACES.map((look) => look(text, ports)));
  return found
    .flat()
    .sort((a, b) => Number(b.exact) - Number(a.exact))
    .slice(0, MAX_FOUND);
}

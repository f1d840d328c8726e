/** Daemons: what runs, what each waits for, what the supervisor did, and why. */
import { duration, plural, printable } from "../../src/surfaces/cli/text.ts";
import {
  type Daemon,
  type DaemonAction,
  daemonOrders,
  getDaemon,
  listDaemonActions,
  listDaemons,
  pauseDaemon,
} from "../../src/surfaces/daemons/wire.ts";
import { withoutDetours } from "../../src/surfaces/web/layered.ts";
import { Act } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp } from "../browser/app.ts";
import { Graph } from "../browser/graph.tsx";
import { Badge, Empty, Facts, Links, Load, Panel, Table, Tabs, Time, type Tone, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

const toneOf = ({ state, permanently_failed, wanted }: Daemon): Tone =>
  permanently_failed !== null || state === "failed" ? "bad" : state === "running" ? "good" : wanted ? "warn" : "plain";

function List({ query }: { query: URLSearchParams }) {
  const loaded = useAnswer(listDaemons, {});
  const tab = query.get("tab") ?? "list";
  return (
    <>
      <ViewHead title="Daemons" json={addressOf(listDaemons)} command="ringrift daemons" />
      <Tabs
        label="Daemons"
        tabs={[
          { name: "list", to: "/daemons", isHere: tab === "list" },
          { name: "who waits for whom", to: "/daemons?tab=drawing", isHere: tab === "drawing" },
          { name: "what was done", to: "/daemons?tab=actions", isHere: tab === "actions" },
        ]}
      />
      {tab === "actions" ? (
        <Actions />
      ) : (
        <Load loaded={loaded}>
          {({ daemons }) =>
            tab === "drawing" ? (
              <Panel title="Who waits for whom" aside="left starts first; point at one to see what it hangs with">
                <Graph
                  label="Dependencies of daemons"
                  nodes={daemons.map((daemon) => ({
                    id: daemon.name,
                    label: daemon.name,
                    sub: daemon.waits_for == null ? daemon.state : `waits for ${daemon.waits_for}`,
                    to: `/daemons/${daemon.name}`,
                    tone: toneOf(daemon),
                  }))}
                  edges={withoutDetours(
                    daemons.flatMap(({ name, depends_on }) => depends_on.map((from) => ({ from, to: name }))),
                  )}
                />
              </Panel>
            ) : (
              <Panel
                title="Daemons"
                aside={`${daemons.filter(({ state }) => state === "running").length} of ${plural(daemons.filter(({ wanted }) => wanted).length, "daemon")} running`}
              >
                <Table<Daemon>
                  label="Daemons"
                  rows={daemons}
                  keyOf={({ name }) => name}
                  toneOf={(daemon) => (toneOf(daemon) === "bad" ? "bad" : undefined)}
                  empty={
                    <Empty title="No daemon is under supervision." todo="'ringrift up' starts all that are enabled." />
                  }
                  columns={[
                    {
                      head: "Daemon",
                      cell: ({ name, critical }) => (
                        <>
                          <a href={`/daemons/${name}`}>{name}</a>
                          {critical && <span class="sub">critical</span>}
                        </>
                      ),
                    },
                    { head: "State", cell: (daemon) => <Badge tone={toneOf(daemon)}>{daemon.state}</Badge> },
                    { head: "Health", cell: ({ health }) => health.status },
                    {
                      head: "Up",
                      right: true,
                      cell: ({ uptime_seconds, started_at }) =>
                        started_at === null ? "" : duration(uptime_seconds * 1_000),
                    },
                    {
                      head: "Restarts",
                      right: true,
                      cell: ({ restarts, max_restarts }) => `${restarts}/${max_restarts}`,
                    },
                    {
                      head: "Note",
                      wide: true,
                      cell: ({ paused, waits_for, permanently_failed, last_error, health }) => (
                        <span class="small">
                          {printable(
                            permanently_failed ??
                              paused ??
                              (waits_for == null ? (last_error ?? health.message) : `waits for ${waits_for}`),
                          )}
                        </span>
                      ),
                    },
                  ]}
                />
              </Panel>
            )
          }
        </Load>
      )}
    </>
  );
}

function Actions({ of }: { of?: string }) {
  const loaded = useAnswer(listDaemonActions, of === undefined ? {} : { query: { daemon: of } });
  return (
    <Panel title="What was done" aside="newest first">
      <Load loaded={loaded}>
        {({ actions }) => (
          <Table<DaemonAction & { readonly place: number }>
            label="What was done with daemons"
            rows={actions
              .map((action, place) => ({ ...action, place }))
              .reverse()
              .slice(0, 200)}
            keyOf={({ place }) => place}
            empty={
              <Empty
                title="Nothing was done yet."
                todo="Starts, stops and restarts come here, with who did them and why."
              />
            }
            columns={[
              { head: "When", cell: ({ at }) => <Time at={at} /> },
              { head: "Daemon", cell: ({ daemon }) => <a href={`/daemons/${daemon}`}>{daemon}</a> },
              { head: "Action", cell: ({ action }) => action },
              { head: "By", cell: ({ actor }) => printable(actor) },
              { head: "Reason", wide: true, cell: ({ reason }) => printable(reason) },
            ]}
          />
        )}
      </Load>
    </Panel>
  );
}

const ABOUT: Readonly<Record<keyof typeof daemonOrders, string>> = {
  start: "The supervisor starts it, after those that it depends on.",
  stop: "The supervisor ends it, after those that depend on it.",
  restart: "The supervisor ends it and starts it again.",
  reset: "Its restarts are forgotten, and that it was given up.",
  resume: "The pause of an operator is lifted.",
};

function Verbs({ daemon, done }: { daemon: Daemon; done: () => void }) {
  const { api } = useApp();
  const params = { name: daemon.name };
  const isUp = daemon.state === "running" || daemon.state === "degraded";
  const fits: Readonly<Record<keyof typeof daemonOrders, boolean>> = {
    start: !isUp,
    stop: isUp,
    restart: isUp,
    reset: daemon.permanently_failed !== null || daemon.restarts > 0,
    resume: daemon.paused !== null,
  };
  return (
    <>
      {(Object.keys(fits) as (keyof typeof daemonOrders)[])
        .filter((verb) => fits[verb])
        .map((verb) => (
          <Act
            key={verb}
            name={verb[0]!.toUpperCase() + verb.slice(1)}
            about={ABOUT[verb]}
            takesReason={false}
            perform={() => api.call(daemonOrders[verb], { params, body: {} })}
            done={done}
          />
        ))}
      {daemon.paused === null && (
        <Act
          name="Pause"
          about="It is kept from running until it is resumed."
          needsReason
          perform={(reason) => api.call(pauseDaemon, { params, body: { reason } })}
          done={done}
        />
      )}
    </>
  );
}

function One({ name }: { name: string }) {
  const loaded = useAnswer(getDaemon, { params: { name } });
  return (
    <Load loaded={loaded}>
      {(daemon) => (
        <>
          <ViewHead
            title={daemon.name}
            lead={daemon.critical ? "critical: its health decides liveness" : undefined}
            json={addressOf(getDaemon, { params: { name } })}
            command={`ringrift daemons show ${daemon.name}`}
          >
            <a href={`/why/${daemon.name}`}>why</a>
            <Verbs daemon={daemon} done={loaded.again} />
          </ViewHead>
          <div class="columns">
            <Panel title="Daemon">
              <Facts
                rows={[
                  ["state", <Badge tone={toneOf(daemon)}>{daemon.state}</Badge>],
                  [
                    "health",
                    `${daemon.health.status}${daemon.health.message === "" ? "" : `: ${printable(daemon.health.message)}`}`,
                  ],
                  ["started", <Time at={daemon.started_at} />],
                  ["restarts", `${daemon.restarts} of ${daemon.max_restarts}`],
                  [
                    "depends on",
                    daemon.depends_on.length === 0 ? (
                      "nothing"
                    ) : (
                      <Links links={daemon.depends_on.map((name) => ({ to: `/daemons/${name}`, name }))} />
                    ),
                  ],
                  ...(daemon.last_error === null ? [] : [["last error", printable(daemon.last_error)] as const]),
                  ...(daemon.permanently_failed === null
                    ? []
                    : [["given up", printable(daemon.permanently_failed)] as const]),
                  ...daemon.holds.map(
                    ({ hold, reason, actor }) =>
                      [`held by ${hold}`, `${printable(reason)}, ${printable(actor)}`] as const,
                  ),
                ]}
              />
            </Panel>
            <Panel title="Conditions">
              <Table<Daemon["conditions"][number]>
                label="Conditions"
                rows={daemon.conditions}
                keyOf={({ type }) => type}
                empty={
                  <Empty
                    title="It has no conditions yet."
                    todo="They come when the supervisor has looked at it, within seconds."
                  />
                }
                columns={[
                  { head: "Condition", cell: ({ type }) => type },
                  { head: "So", cell: ({ status }) => status },
                  { head: "Since", cell: ({ last_transition_at }) => <Time at={last_transition_at} /> },
                  {
                    head: "Why",
                    wide: true,
                    cell: ({ reason, message }) => printable(message === "" ? reason : message),
                  },
                ]}
              />
            </Panel>
          </div>
          <Actions of={daemon.name} />
        </>
      )}
    </Load>
  );
}

export default function Daemons({ params: { id }, query }: { params: Record<string, string>; query: URLSearchParams }) {
  return id === undefined ? <List query={query} /> : <One name={id} />;
}

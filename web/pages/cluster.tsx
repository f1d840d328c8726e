/** The cluster as a whole: who is ill and what is done for it, what machines cost, what steers configs, and who holds what. */

import { duration, number, percent, plural, printable } from "../../src/surfaces/cli/text.ts";
import { type ClusterAnswer, getCluster } from "../../src/surfaces/cluster/wire.ts";
import { type FleetMachine, getFleet } from "../../src/surfaces/fleet/wire.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { type ListedLock, listLocks } from "../../src/surfaces/locks/wire.ts";
import { planRecovery, runRecovery } from "../../src/surfaces/recovery/wire.ts";
import { getSteering } from "../../src/surfaces/steering/wire.ts";
import { Act } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp } from "../browser/app.ts";
import { Badge, Empty, Facts, Load, Panel, Table, Time, ViewHead } from "../browser/parts.tsx";
import { RecoveryActs } from "../browser/recovery-acts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

type Repair = Answer<typeof planRecovery>["repairs"][number];
type Steered = Answer<typeof getSteering>["configs"][number];

type Member = ClusterAnswer["members"][number];

const usd = (value: number): string => `${value.toFixed(2)} USD`;

const Rung = ({ rung }: { rung: string }) => <span class="mono">{rung}</span>;

function Repairs() {
  const { api } = useApp();
  const loaded = useAnswer(planRecovery, {});
  return (
    <>
      <Panel title="Nodes that are ill" aside={<code class="hint">ringrift recovery</code>}>
        <Load loaded={loaded}>
          {({ nodes, unready, suspended, enabled, acts_last_hour, acts_per_hour, repairs }) => (
            <>
              <Facts
                rows={[
                  ["not ready", `${number(unready)} of ${plural(nodes, "node")}`],
                  ["repairs", `${number(acts_last_hour)} of ${number(acts_per_hour)} in the last hour`],
                  [
                    "repair is",
                    suspended ? (
                      <Badge tone="bad">suspended: too many are not ready</Badge>
                    ) : (
                      <Badge tone={enabled ? "good" : "warn"}>
                        {enabled ? "on" : "switched off (recovery.enabled)"}
                      </Badge>
                    ),
                  ],
                ]}
              />
              <Table<Repair>
                label="Nodes that are ill"
                rows={repairs}
                keyOf={({ node_id }) => node_id}
                empty={
                  <Empty
                    title="No node needs repair."
                    todo="One that stays silent, slow or wrong comes here with the next step."
                  />
                }
                columns={[
                  { head: "Node", cell: ({ node_id, label }) => <a href={`/nodes/${node_id}`}>{printable(label)}</a> },
                  { head: "Ill with", cell: ({ condition }) => <Badge tone="warn">{condition}</Badge> },
                  { head: "Step", cell: ({ rung }) => <Rung rung={rung} /> },
                  { head: "For", cell: ({ rung_since }) => <Time at={rung_since} bare /> },
                  { head: "Next", cell: ({ next }) => (next === null ? "wait" : <Rung rung={next} />) },
                  { head: "Why", wide: true, cell: ({ waits, reason }) => printable(waits ?? reason) },
                  {
                    head: "Do",
                    cell: ({ node_id, next }) =>
                      next === null ? null : (
                        <Act
                          name="Now"
                          about="The next step of repair is done now, and not only in its turn. The same guards hold."
                          attempt={() => api.call(runRecovery, { params: { id: node_id }, body: { dry_run: true } })}
                          perform={(reason) =>
                            api.call(runRecovery, { params: { id: node_id }, body: reason === "" ? {} : { reason } })
                          }
                          show={({ rung, refused }) => <p>{refused ?? `It would be: ${rung}.`}</p>}
                          done={loaded.again}
                        />
                      ),
                  },
                ]}
              />
            </>
          )}
        </Load>
      </Panel>
      <RecoveryActs />
    </>
  );
}

function Money() {
  const loaded = useAnswer(getFleet, {});
  return (
    <Panel title="Rented machines" aside={<code class="hint">ringrift fleet status</code>}>
      <Load loaded={loaded}>
        {({ machines, budget_usd_hour, budget_usd_day, rate_usd_hour, spent_today_usd, refused }) => (
          <>
            <Facts
              rows={[
                ["an hour", `${usd(rate_usd_hour)} of ${usd(budget_usd_hour)}`],
                ["today", `${usd(spent_today_usd)} of ${usd(budget_usd_day)}`],
                ...(refused === null ? [] : [["not rented", printable(refused)] as const]),
              ]}
            />
            <Table<FleetMachine>
              label="Rented machines"
              rows={machines}
              keyOf={({ label }) => label}
              empty={
                <Empty
                  title="No machine is rented."
                  todo={
                    budget_usd_day === 0
                      ? "Set fleet.budget_usd_day and fleet.budget_usd_hour: without a budget nothing is rented."
                      : "'ringrift fleet plan' shows what would be rented."
                  }
                />
              }
              columns={[
                {
                  head: "Machine",
                  cell: ({ label, node_id }) =>
                    node_id === null ? printable(label) : <a href={`/nodes/${node_id}`}>{printable(label)}</a>,
                },
                { head: "Provider", cell: ({ provider }) => provider },
                {
                  head: "State",
                  cell: ({ state }) => <Badge tone={state === "active" ? "good" : "plain"}>{state}</Badge>,
                },
                { head: "An hour", right: true, cell: ({ price_usd_hour }) => usd(price_usd_hour) },
                { head: "So far", right: true, cell: ({ cost_usd }) => usd(cost_usd) },
                {
                  head: "Why",
                  wide: true,
                  cell: ({ error, return_reason, reason }) => printable(error ?? return_reason ?? reason),
                },
              ]}
            />
          </>
        )}
      </Load>
    </Panel>
  );
}

function Steers() {
  const loaded = useAnswer(getSteering, {});
  return (
    <Panel title="What steers configs" aside={<code class="hint">ringrift steering show</code>}>
      <Load loaded={loaded}>
        {({ configs }) => (
          <Table<Steered>
            label="What steers configs"
            rows={configs}
            keyOf={({ config_key }) => config_key}
            empty={<Empty title="No config is trained here." todo="Start one: 'ringrift train othello6_2p'." />}
            columns={[
              { head: "Config", cell: ({ config_key }) => <a href={`/configs/${config_key}`}>{config_key}</a> },
              { head: "Share", right: true, cell: ({ share }) => (share === null ? "none" : percent(share)) },
              {
                head: "Made of",
                wide: true,
                cell: ({ factors }) =>
                  factors.map(({ name, factor }) => `${name} × ${Number(factor.toPrecision(3))}`).join(", "),
              },
              {
                head: "Knobs",
                wide: true,
                cell: ({ knobs }) =>
                  knobs
                    .filter(({ value, held }) => value !== 1 || held !== null)
                    .map(({ knob, value, held, signal }) =>
                      printable(
                        `${knob} × ${Number(value.toPrecision(3))}${held === null ? "" : `, held by ${held.by}: ${held.reason}`}${held === null && signal !== null ? `: ${signal.reason}` : ""}`,
                      ),
                    )
                    .join("; "),
              },
            ]}
          />
        )}
      </Load>
    </Panel>
  );
}

function Locks() {
  const loaded = useAnswer(listLocks, {});
  return (
    <Panel title="Locks" aside={<code class="hint">ringrift locks</code>}>
      <Load loaded={loaded}>
        {({ locks }) => (
          <Table<ListedLock>
            label="Locks"
            rows={locks}
            keyOf={({ name }) => name}
            empty={
              <Empty
                title="Nobody holds a lock."
                todo="A program takes one by POST /v1/locks/acquire, so that two never do the same at once."
              />
            }
            columns={[
              { head: "Lock", cell: ({ name }) => <span class="mono">{printable(name)}</span> },
              { head: "Holder", cell: ({ holder }) => printable(holder) },
              { head: "Fence", right: true, cell: ({ fence }) => number(fence) },
              { head: "Since", cell: ({ acquired_at }) => <Time at={acquired_at} /> },
              { head: "Left", right: true, cell: ({ left_seconds }) => duration(left_seconds * 1_000) },
              { head: "Waiting", wide: true, cell: ({ waiting }) => waiting.map(printable).join(", ") },
            ]}
          />
        )}
      </Load>
    </Panel>
  );
}

/** Who leads, in which term, and how far each coordinator is behind. */
function Coordinators() {
  const loaded = useAnswer(getCluster, {});
  return (
    <Panel title="Coordinators" aside={<code class="hint">ringrift cluster status</code>}>
      <Load loaded={loaded}>
        {({ alone, name, term, leader, members, trouble }) => (
          <>
            <Facts
              rows={[
                ["this page", `is that of ${printable(name)}`],
                ["leads", alone ? "it alone: there is no other coordinator" : printable(leader?.name ?? "nobody")],
                ...(alone ? [] : [["term", number(term)] as const]),
                ...(trouble === null ? [] : [["trouble", <Badge tone="bad">{printable(trouble)}</Badge>] as const]),
              ]}
            />
            {!alone && (
              <Table<Member>
                label="Coordinators"
                rows={members}
                keyOf={(one) => one.name}
                toneOf={({ present }) => (present ? undefined : "bad")}
                empty={
                  <Empty
                    title="No coordinator was heard yet."
                    todo="They speak up within seconds: 'ringrift cluster status' on each says what it sees."
                  />
                }
                columns={[
                  { head: "Coordinator", cell: (one) => printable(one.name) },
                  {
                    head: "Is",
                    cell: ({ role, present }) => (
                      <Badge tone={present ? (role === "leader" ? "accent" : "good") : "bad"}>
                        {present ? role : "silent"}
                      </Badge>
                    ),
                  },
                  { head: "Behind", right: true, cell: ({ lag }) => plural(lag, "entry", "entries") },
                  { head: "Takes for the leader", cell: (one) => printable(one.leader ?? "nobody") },
                  { head: "Version", cell: ({ version }) => printable(version) },
                  { head: "Heard", cell: ({ heard_seconds_ago }) => `${duration(heard_seconds_ago * 1_000)} ago` },
                  { head: "Trouble", wide: true, cell: (one) => printable(one.trouble ?? "") },
                ]}
              />
            )}
          </>
        )}
      </Load>
    </Panel>
  );
}

export default function Cluster() {
  return (
    <>
      <ViewHead
        title="Cluster"
        lead="Coordinators, repair, rented machines, steering and locks."
        json={addressOf(planRecovery)}
        command="ringrift recovery"
      />
      <Coordinators />
      <Repairs />
      <Money />
      <Steers />
      <Locks />
    </>
  );
}

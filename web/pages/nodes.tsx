/** Nodes: what each machine has, does and holds, how much of it is idle, and whether it gets work. */

import { getCopies } from "../../src/surfaces/artifacts/wire.ts";
import { duration, number, plural, printable } from "../../src/surfaces/cli/text.ts";
import { costOf, heldBackBy, heldOf, rentedOf, resultsOf, speedWords } from "../../src/surfaces/nodes/view.ts";
import {
  cordonNode,
  drainNode,
  forgetNode,
  getNode,
  listNodes,
  type Node,
  uncordonNode,
} from "../../src/surfaces/nodes/wire.ts";
import { getResources } from "../../src/surfaces/resources/wire.ts";
import { grantsWords, poolsWords, transfersWords } from "../../src/surfaces/resources/words.ts";
import { bytes } from "../../src/surfaces/status/view.ts";
import { Act } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp, useNow } from "../browser/app.ts";
import { Badge, Empty, Facts, Load, Panel, Progress, Table, Time, type Tone, ViewHead } from "../browser/parts.tsx";
import { RecoveryActs } from "../browser/recovery-acts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

const TONES: Readonly<Record<Node["state"], Tone>> = {
  joined: "plain",
  online: "good",
  suspect: "warn",
  dead: "bad",
  left: "plain",
};
const toneOf = (state: Node["state"]): Tone => TONES[state];

const idle = ({ load, capabilities }: Node): string =>
  load === null || capabilities.cpu === 0 ? "" : `${number(load.free.cpu)} of ${number(capabilities.cpu)} free`;

/** How much of its processors is in use, beside how much it is meant to be. */
const Load100 = ({ node: { slots, label } }: { node: Node }) =>
  slots == null ? (
    <span class="dim">–</span>
  ) : (
    <span title={`It is meant to use ${Math.round(slots.target * 100)} % of its processors.`}>
      <Progress share={Math.min(1, slots.measured)} label={`Load of ${label}`} /> {Math.round(slots.measured * 100)} %
    </span>
  );

const VERBS = [
  {
    name: "Cordon",
    route: cordonNode,
    about: "It gets no new work; what it has goes on.",
    fits: (node: Node) => node.cordoned === null,
  },
  {
    name: "Drain",
    route: drainNode,
    about: "It gets no new work, and gives back what it has not begun.",
    fits: (node: Node) => !node.draining,
  },
  { name: "Uncordon", route: uncordonNode, about: "It gets work again.", fits: (node: Node) => node.cordoned !== null },
] as const;

function Verbs({ node, done }: { node: Node; done: () => void }) {
  const { api, go } = useApp();
  const params = { id: node.node_id };
  return (
    <>
      {VERBS.filter(({ fits }) => fits(node)).map(({ name, route, about }) => (
        <Act
          key={name}
          name={name}
          about={about}
          attempt={() => api.call(route, { params, body: { dry_run: true } })}
          perform={(reason) => api.call(route, { params, body: reason === "" ? {} : { reason } })}
          show={(would) => <p>It holds {plural((would.jobs ?? []).length, "job")} now.</p>}
          done={done}
        />
      ))}
      {!node.local && (
        <Act
          name="Forget"
          about="It is taken out for good: its key opens nothing any more, and its jobs come back."
          attempt={() => api.call(forgetNode, { params, body: { dry_run: true } })}
          perform={(reason) => api.call(forgetNode, { params, body: reason === "" ? {} : { reason } })}
          show={({ label, jobs }) => (
            <p>
              {printable(label)} would go; {plural(jobs.length, "job")} would come back.
            </p>
          )}
          done={() => go("/nodes")}
          isGrave
        />
      )}
    </>
  );
}

function List() {
  const loaded = useAnswer(listNodes, {});
  const resources = useAnswer(getResources, {});
  return (
    <>
      <ViewHead title="Nodes" json={addressOf(listNodes)} command="ringrift nodes" />
      <Panel title="Machines" aside={loaded.answer !== undefined && plural(loaded.answer.nodes.length, "node")}>
        <Load loaded={loaded}>
          {({ nodes }) => (
            <Table<Node>
              label="Nodes"
              rows={nodes}
              keyOf={({ node_id }) => node_id}
              toneOf={({ state }) => (state === "dead" ? "bad" : state === "suspect" ? "warn" : undefined)}
              empty={
                <Empty
                  title="There is no node."
                  todo="'ringrift token create <label> --join' prints what to type on a machine."
                />
              }
              columns={[
                {
                  head: "Node",
                  cell: (node) => (
                    <>
                      <a class="strong" href={`/nodes/${encodeURIComponent(node.node_id)}`}>
                        {printable(node.label)}
                      </a>
                      <span class="sub">{node.local ? "this machine" : ""}</span>
                      {heldBackBy(node) !== "" && <span class="sub held">{heldBackBy(node)}</span>}
                    </>
                  ),
                },
                {
                  head: "State",
                  cell: ({ state, state_since, cordoned, draining }) => (
                    <>
                      <Badge tone={toneOf(state)}>{state}</Badge>
                      <span class="sub">
                        {draining ? "draining" : cordoned === null ? <Time at={state_since} bare /> : "cordoned"}
                      </span>
                    </>
                  ),
                },
                { head: "Jobs", right: true, cell: ({ held }) => heldOf(held) },
                { head: "Load", cell: (node) => <Load100 node={node} /> },
                {
                  head: "Idle",
                  cell: ({ idle_since }) => (idle_since == null ? "" : <Time at={idle_since} bare />),
                },
                {
                  head: "Games/h",
                  right: true,
                  cell: ({ games_per_hour }) => (games_per_hour == null ? "" : number(Math.round(games_per_hour))),
                },
                {
                  head: "Processors",
                  right: true,
                  cell: (node) => (idle(node) === "" ? number(node.capabilities.cpu) : idle(node)),
                },
                {
                  head: "Memory",
                  right: true,
                  cell: ({ capabilities: { memory_gb } }) => (memory_gb ? `${number(memory_gb)} GB` : ""),
                },
                { head: "GPUs", right: true, cell: ({ capabilities: { gpu } }) => (gpu ? number(gpu) : "") },
                {
                  head: "Version",
                  cell: ({ version, deprecated }) => (deprecated ? <Badge tone="warn">{version}, old</Badge> : version),
                },
                {
                  head: "Waiting",
                  right: true,
                  cell: ({ spool, outbox }) => number((spool?.waiting ?? 0) + (outbox?.waiting ?? 0)),
                },
                { head: "Seen", cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
              ]}
            />
          )}
        </Load>
      </Panel>
      <Panel title="Processes of this machine" aside={<code class="hint">ringrift resources</code>}>
        <Load loaded={resources}>
          {({ processes, loop_delay, disk, ...rest }) => (
            <>
              <Facts
                rows={[
                  [
                    "main loop",
                    `late by ${duration(loop_delay.p50_seconds * 1_000)} at the median, ${duration(loop_delay.p99_seconds * 1_000)} in 1 of 100, ${duration(loop_delay.max_seconds * 1_000)} at most, over a minute`,
                  ],
                  [
                    "disk",
                    disk === null
                      ? "not measured yet"
                      : `${Math.round(disk.usage * 100)} % in use, ${bytes(disk.free_bytes)} free`,
                  ],
                  ["pools", poolsWords(rest)],
                  ["grants", grantsWords(rest)],
                  ["transfers", transfersWords(rest)],
                ]}
              />
              <Table<(typeof processes)[number]>
                label="Processes"
                rows={processes}
                keyOf={({ pid }) => pid}
                empty=""
                columns={[
                  { head: "Process", wide: true, cell: ({ name }) => printable(name) },
                  { head: "Pid", right: true, cell: ({ pid }) => pid },
                  {
                    head: "Memory",
                    right: true,
                    cell: ({ rss_bytes }) => (rss_bytes === null ? "" : bytes(rss_bytes)),
                  },
                  { head: "Open files", right: true, cell: ({ fds }) => fds ?? "" },
                  {
                    head: "Loop",
                    right: true,
                    cell: ({ loop_delay_seconds: late }) => (late === null ? "" : duration(late * 1_000)),
                  },
                  { head: "Processor time", right: true, cell: ({ cpu_seconds }) => duration(cpu_seconds * 1_000) },
                  { head: "Children", right: true, cell: ({ children }) => children },
                ]}
              />
            </>
          )}
        </Load>
      </Panel>
    </>
  );
}

function One({ id }: { id: string }) {
  const now = useNow();
  const loaded = useAnswer(getNode, { params: { id } });
  const copies = useAnswer(getCopies, {});
  return (
    <Load loaded={loaded}>
      {(node) => {
        const held = copies.answer?.nodes.find(({ node_id }) => node_id === node.node_id);
        return (
          <>
            <ViewHead
              title={`Node ${printable(node.label)}`}
              lead={<span class="mono">{node.node_id}</span>}
              json={addressOf(getNode, { params: { id } })}
              command={`ringrift nodes show ${node.label}`}
            >
              <a href={`/why/${encodeURIComponent(node.node_id)}`}>why</a>
              <Verbs node={node} done={loaded.again} />
            </ViewHead>
            <div class="columns">
              <Panel title="Machine">
                <Facts
                  rows={[
                    ["state", <Badge tone={toneOf(node.state)}>{node.state}</Badge>],
                    ["since", <Time at={node.state_since} />],
                    ["seen", <Time at={node.last_seen_at} />],
                    ["version", node.version],
                    ["processors", `${number(node.capabilities.cpu)}${idle(node) === "" ? "" : `, ${idle(node)}`}`],
                    ["memory", node.capabilities.memory_gb ? `${number(node.capabilities.memory_gb)} GB` : "unknown"],
                    ["GPUs", number(node.capabilities.gpu ?? 0)],
                    ["tags", (node.capabilities.tags ?? []).join(", ") || "none"],
                    [
                      "joined",
                      <>
                        <Time at={node.joined_at} /> by {printable(node.joined_by)}
                      </>,
                    ],
                    ...(node.health == null
                      ? []
                      : [
                          [
                            "health",
                            `${node.health.condition}${node.health.reason === null ? "" : `: ${printable(node.health.reason)}`}`,
                          ] as const,
                        ]),
                    ["load", <Load100 node={node} />],
                    ...(node.cordoned === null
                      ? []
                      : [
                          [
                            "cordoned",
                            `${printable(node.cordoned.reason)}, by ${printable(node.cordoned.by)}`,
                          ] as const,
                        ]),
                    ...(held === undefined
                      ? []
                      : [["copies", `${number(held.copies)} files, ${bytes(held.bytes)}`] as const]),
                  ]}
                />
              </Panel>
              {node.work !== undefined && (
                <Panel title="What it has done" aside="in the last day">
                  <Facts
                    rows={[
                      ["completed", number(node.work.completed)],
                      ["failed", number(node.work.failed)],
                      ["games", number(node.work.games)],
                      ["busy", duration(node.work.busy_seconds * 1_000)],
                      ["cost", costOf(node, now)],
                      ...(node.rented === undefined ? [] : [["rented", rentedOf(node)] as const]),
                      [
                        "games an hour",
                        node.work.games_per_hour === null ? "unknown" : number(Math.round(node.work.games_per_hour)),
                      ],
                      [
                        "speed beside others",
                        node.work.speed_residual === null
                          ? "nothing to compare with"
                          : speedWords(node.work.speed_residual),
                      ],
                      ...(node.work.results_residual == null
                        ? []
                        : [["its results are", resultsOf(node.work.results_residual)] as const]),
                    ]}
                  />
                </Panel>
              )}
            </div>
            <Panel title="Jobs in its hands" aside={plural((node.jobs ?? []).length, "job")}>
              <Table<NonNullable<Node["jobs"]>[number]>
                label="Jobs in its hands"
                rows={node.jobs ?? []}
                keyOf={({ work_id }) => work_id}
                empty={
                  <Empty
                    title="It holds no job."
                    todo={<a href={`/why/${encodeURIComponent(node.node_id)}`}>Why says what it waits for.</a>}
                  />
                }
                columns={[
                  { head: "Job", cell: ({ work_id }) => <a href={`/work/${work_id}`}>{work_id}</a> },
                  { head: "Kind", cell: ({ work_type }) => work_type },
                  { head: "Config", cell: ({ config_key }) => config_key ?? "" },
                  { head: "Claimed", cell: ({ claimed_at }) => <Time at={claimed_at} /> },
                  { head: "Note", wide: true, cell: ({ stopping }) => (stopping ? "asked to stop" : "") },
                ]}
              />
            </Panel>
            <RecoveryActs node={id} />
          </>
        );
      }}
    </Load>
  );
}

export default function Nodes({ params: { id } }: { params: Record<string, string> }) {
  return id === undefined ? <List /> : <One id={id} />;
}

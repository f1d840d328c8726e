/** Work: how much waits and for how long, and one job with its tries, its errors and where it was. */
import { duration, number, plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { getLineage } from "../../src/surfaces/pipeline/wire.ts";
import {
  cancelWork,
  getWork,
  getWorkStats,
  type Job,
  listFailures,
  listWork,
  retryWork,
} from "../../src/surfaces/queue/wire.ts";
import { Act } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp, useNow } from "../browser/app.ts";
import { JobCurve } from "../browser/job-curve.tsx";
import { LineageGraph } from "../browser/lineage.tsx";
import { NextWork } from "../browser/next-work.tsx";
import { NodeTimeline } from "../browser/node-timeline.tsx";
import {
  Badge,
  Empty,
  Facts,
  Load,
  Older,
  Panel,
  Progress,
  Table,
  Tabs,
  Time,
  type Tone,
  ViewHead,
} from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";
import { usePages } from "../browser/use-pages.ts";

const TONES: Readonly<Record<string, Tone>> = {
  completed: "good",
  failed: "bad",
  running: "accent",
  claimed: "accent",
};
const toneOf = (state: string): Tone => TONES[state] ?? "plain";

const Verbs = ({ job, done }: { job: Job; done: () => void }) => {
  const { api } = useApp();
  const params = { id: job.work_id };
  const isOver = job.finished_at !== null;
  const show = ({ would_be }: Job) => <p>It would be {would_be ?? "as it is"}.</p>;
  return isOver ? (
    job.state !== "completed" ? (
      <Act
        name="Retry"
        about="The job is tried again, with all its attempts."
        attempt={() => api.call(retryWork, { params, body: { dry_run: true } })}
        perform={(reason) => api.call(retryWork, { params, body: reason === "" ? {} : { reason } })}
        show={show}
        done={done}
      />
    ) : null
  ) : (
    <Act
      name="Cancel"
      about="The job is taken back; whoever holds it is told at the next beat."
      needsReason
      attempt={(reason) => api.call(cancelWork, { params, body: { reason, dry_run: true } })}
      perform={(reason) => api.call(cancelWork, { params, body: { reason } })}
      show={show}
      done={done}
      isGrave
    />
  );
};

const Counts = ({ stats }: { stats: Answer<typeof getWorkStats> }) => {
  const kinds = [...new Set(stats.counts.map(({ work_type }) => work_type))].sort();
  const states = [...new Set(stats.counts.map(({ state }) => state))];
  const count = (kind: string, state: string) =>
    stats.counts
      .filter((row) => row.work_type === kind && row.state === state)
      .reduce((sum, { jobs }) => sum + jobs, 0);
  return (
    <Panel
      title="Queue"
      aside={
        stats.oldest_seconds > 0 ? `the oldest waits for ${duration(stats.oldest_seconds * 1_000)}` : "nothing waits"
      }
    >
      <Table<string>
        label="Jobs by kind and state"
        rows={kinds}
        keyOf={(kind) => kind}
        empty={
          <Empty
            title="No job was ever added."
            todo="'ringrift train' adds them by itself; 'ringrift queue add' adds one by hand."
          />
        }
        columns={[
          { head: "Kind", cell: (kind) => <a href={`/work?type=${kind}`}>{kind}</a> },
          {
            head: "Oldest waits",
            right: true,
            cell: (kind) => {
              const seconds = stats.oldest_by_kind?.[kind];
              return seconds === undefined ? <span class="dim">–</span> : duration(seconds * 1_000);
            },
          },
          ...states.map((state) => ({
            head: state,
            right: true,
            cell: (kind: string) => {
              const jobs = count(kind, state);
              return jobs === 0 ? (
                <span class="dim">0</span>
              ) : (
                <a href={`/work?type=${kind}&state=${state}`}>{number(jobs)}</a>
              );
            },
          })),
        ]}
      />
    </Panel>
  );
};

type FailureGroup = Answer<typeof listFailures>["failures"][number];

/** What fails, by kind and cause. */
const Failures = ({ groups }: { groups: readonly FailureGroup[] }) => (
  <Panel title="What fails" aside="by kind and cause, those that failed most often first">
    <Table<FailureGroup>
      label="Failures by kind and cause"
      rows={groups}
      keyOf={({ work_id }) => work_id}
      empty={<Empty title="No job has failed." todo="One that fails comes here with its error." />}
      columns={[
        { head: "Jobs", right: true, cell: ({ jobs }) => number(jobs) },
        { head: "Kind", cell: (group) => printable(group.work_type) },
        { head: "First", cell: ({ first_at }) => <Time at={first_at} /> },
        { head: "Last", cell: ({ last_at }) => <Time at={last_at} /> },
        { head: "Newest", cell: ({ work_id }) => <a href={`/work/${work_id}`}>{work_id}</a> },
        { head: "Nodes", cell: ({ nodes }) => printable(nodes.join(", ")) },
        {
          head: "Error",
          wide: true,
          cell: ({ error_code, error }) => (
            <span class="small">{printable([error_code, error].filter(Boolean).join(": "))}</span>
          ),
        },
      ]}
    />
  </Panel>
);

type State = NonNullable<NonNullable<Parameters<typeof addressOf<typeof listWork>>[1]>["query"]>["state"];
const isFailure = ({ type }: { readonly type: string }) => type === "TASK_FAILED";

function List({ query }: { query: URLSearchParams }) {
  const stats = useAnswer(getWorkStats, {});
  const [state, work_type, node_id] = ["state", "type", "node"].map((name) => query.get(name) ?? undefined);
  const asked = { state: state as State, work_type, node_id, order: "newest" as const };
  const jobs = usePages(listWork, {
    query: asked,
    rowsOf: ({ jobs: rows }) => rows,
    placeOf: ({ work_id }) => Number(work_id.slice(1)),
    before: ({ work_id }) => ({ before: work_id }),
  });
  const states = Object.entries(stats.answer?.states ?? {});
  const { failed = 0, delayed = 0 } = stats.answer?.states ?? {};
  const failures = useAnswer(failed + delayed > 0 ? listFailures : undefined, {}, { concerns: isFailure });
  const to = (wanted: string | undefined) => {
    const params = new URLSearchParams({
      ...(work_type === undefined ? {} : { type: work_type }),
      ...(wanted === undefined ? {} : { state: wanted }),
    });
    return params.size === 0 ? "/work" : `/work?${params}`;
  };
  return (
    <>
      <ViewHead title="Work" json={addressOf(listWork, { query: asked })} command="ringrift queue" />
      <Load loaded={stats}>{(answer) => <Counts stats={answer} />}</Load>
      {failed + delayed > 0 && <Load loaded={failures}>{(answer) => <Failures groups={answer.failures} />}</Load>}
      <NextWork />
      <Tabs
        label="State"
        tabs={[
          { name: "all", to: to(undefined), isHere: state === undefined },
          ...states.map(([name, count]) => ({ name, to: to(name), isHere: name === state, count })),
        ]}
      />
      <Panel title="Over nodes" aside="the same jobs, by where and when they ran">
        <Load loaded={jobs.loaded}>{({ jobs: newest }) => <NodeTimeline jobs={newest} />}</Load>
      </Panel>
      <Panel title="Jobs" aside={`newest first${work_type === undefined ? "" : `, of ${work_type}`}`}>
        <Load loaded={jobs.loaded}>
          {() => (
            <Table<Job>
              label="Jobs"
              rows={jobs.rows}
              keyOf={({ work_id }) => work_id}
              toneOf={(job) => (job.state === "failed" ? "bad" : undefined)}
              empty={<Empty title="No job fits." todo={<a href="/work">Show jobs of all kinds and states.</a>} />}
              columns={[
                { head: "Job", cell: ({ work_id }) => <a href={`/work/${work_id}`}>{work_id}</a> },
                { head: "Kind", cell: (job) => printable(job.work_type) },
                { head: "Config", cell: ({ config_key }) => printable(config_key ?? "") },
                { head: "State", cell: (job) => <Badge tone={toneOf(job.state)}>{job.state}</Badge> },
                {
                  head: "Progress",
                  cell: ({ progress, state, work_id }) =>
                    progress === null || state !== "running" ? (
                      ""
                    ) : (
                      <Progress share={progress} label={`Progress of ${work_id}`} />
                    ),
                },
                { head: "Try", right: true, cell: ({ attempts, max_attempts }) => `${attempts}/${max_attempts}` },
                {
                  head: "Node",
                  cell: ({ node, node_id: on }) =>
                    on === null ? "" : <a href={`/nodes/${on}`}>{printable(node ?? on)}</a>,
                },
                { head: "Added", cell: ({ queued_at }) => <Time at={queued_at} /> },
                {
                  head: "Note",
                  wide: true,
                  cell: ({ failure }) =>
                    failure === null ? "" : <span class="small">{printable(failure.error)}</span>,
                },
              ]}
            />
          )}
        </Load>
        <Older more={jobs.more} />
      </Panel>
    </>
  );
}

interface Moment {
  readonly name: string;
  readonly from: number;
  readonly to: number | null;
  readonly where?: string | undefined;
}

/** What happened to it when, and where, on one line of time. */
function Timeline({ job }: { job: Job }) {
  const now = useNow();
  const isHeld = job.state === "claimed" || job.state === "running" || job.finished_at !== null;
  const moments: Moment[] = [
    { name: isHeld ? "waited" : "waits", from: job.queued_at, to: isHeld ? (job.claimed_at ?? job.finished_at) : null },
    ...(job.lapses ?? []).map(({ node, node_id, lapsed_at }) => ({
      name: "lapsed",
      from: lapsed_at,
      to: lapsed_at,
      where: node ?? node_id,
    })),
    ...(job.claimed_at === null || !isHeld
      ? []
      : [{ name: "claimed", from: job.claimed_at, to: job.started_at, where: job.node ?? undefined }]),
    ...(job.started_at === null || !isHeld
      ? []
      : [{ name: "ran", from: job.started_at, to: job.finished_at, where: job.node ?? undefined }]),
  ];
  const end = job.finished_at ?? now;
  const share = (at: number) =>
    Math.min(100, Math.max(0, ((at - job.queued_at) / Math.max(1, end - job.queued_at)) * 100));
  return (
    <ul class="timeline">
      {moments.map(({ name, from, to, where }) => (
        <li key={`${name} ${from}`}>
          <span>{name}</span>
          <span class="track">
            <i
              class={name}
              style={{ left: `${share(from)}%`, width: `${Math.max(0.6, share(to ?? end) - share(from))}%` }}
            />
          </span>
          <span class="dim">
            {duration(Math.max(0, (to ?? end) - from))}
            {where === undefined ? "" : ` on ${printable(where)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

function One({ id }: { id: string }) {
  const loaded = useAnswer(getWork, { params: { id } });
  const lineage = useAnswer(loaded.answer?.state === "completed" ? getLineage : undefined, { params: { id } });
  return (
    <Load loaded={loaded}>
      {(job) => (
        <>
          <ViewHead
            title={`Job ${job.work_id}`}
            lead={[job.work_type, job.config_key].filter(Boolean).join(", ")}
            json={addressOf(getWork, { params: { id } })}
            command={`ringrift queue show ${job.work_id}`}
          >
            <a href={`/why/${job.work_id}`}>why</a>
            <Verbs job={job} done={loaded.again} />
          </ViewHead>
          <div class="columns">
            <Panel title="Job">
              <Facts
                rows={[
                  ["state", <Badge tone={toneOf(job.state)}>{job.state}</Badge>],
                  ["urgency", job.urgency],
                  ["tries", `${job.attempts} of ${job.max_attempts}`],
                  [
                    "node",
                    job.node_id === null ? (
                      "none"
                    ) : (
                      <a href={`/nodes/${job.node_id}`}>{printable(job.node ?? job.node_id)}</a>
                    ),
                  ],
                  ["added", <Time at={job.queued_at} />],
                  ...(job.retry_at === null ? [] : [["again", <Time at={job.retry_at} />] as const]),
                  ...(job.deadline === null ? [] : [["must end", <Time at={job.deadline} />] as const]),
                  ...(job.progress === null || job.state !== "running"
                    ? []
                    : [["progress", <Progress share={job.progress} label="Progress" />] as const]),
                  ...(job.batch_id === null
                    ? []
                    : [["batch", <span class="mono">{printable(job.batch_id)}</span>] as const]),
                ]}
              />
            </Panel>
            <Panel title="Where the time went">
              <Timeline job={job} />
            </Panel>
            {job.failure !== null && (
              <Panel title="What went wrong">
                <Facts
                  rows={[
                    ["error", printable(job.failure.error)],
                    ...(job.failure.error_code === null ? [] : [["code", job.failure.error_code] as const]),
                  ]}
                />
                {job.failure.stderr_tail !== null && (
                  <pre class="payload" tabIndex={0}>
                    {job.failure.stderr_tail}
                  </pre>
                )}
              </Panel>
            )}
            {job.evidence !== null && (
              <Panel title="Evidence">
                <pre class="payload" tabIndex={0}>
                  {JSON.stringify(job.evidence, null, 2)}
                </pre>
              </Panel>
            )}
            {job.started_at !== null && <JobCurve id={job.work_id} isOver={job.finished_at !== null} />}
            {(job.lapses ?? []).length > 0 && (
              <Panel title="Taken from" aside={plural(job.lapses!.length, "holder")}>
                <Facts
                  rows={job.lapses!.map(
                    ({ node, node_id, why }) => [printable(node ?? node_id), printable(why)] as const,
                  )}
                />
              </Panel>
            )}
          </div>
          {lineage.answer !== undefined && (
            <Panel title="Lineage" aside={<code class="hint">ringrift trace {job.work_id}</code>}>
              <LineageGraph lineage={lineage.answer} />
            </Panel>
          )}
        </>
      )}
    </Load>
  );
}

export default function Work({ params: { id }, query }: { params: Record<string, string>; query: URLSearchParams }) {
  return id === undefined ? <List query={query} /> : <One id={id} />;
}

/** Which node did which job when: a line for each node, as many rows as it did at once. */
import { duration, plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Job } from "../../src/surfaces/queue/wire.ts";
import { useNow } from "./app.ts";
import { Empty } from "./parts.tsx";

const MAX_NODES = 16;
const MAX_ROWS = 8;
const ROW_PX = 15;
const WIDTH = 1_120;
const NAMES_PX = 150;
const GAP_PX = 8;
const CHAR_PX = 6;

const KINDS: Readonly<Record<string, string>> = { selfplay: "first", training: "second", evaluation: "third" };

interface Bar {
  readonly job: Job;
  readonly from: number;
  readonly to: number;
  readonly row: number;
}

/** A pause that takes more of the drawing than this is left out, with all before it: the process was away, or nothing was to be done. */
const MAX_PAUSE = 0.4;

/** Where the drawing begins. */
function beginOf(spans: readonly { readonly from: number; readonly to: number }[], end: number): number {
  const sorted = spans.toSorted((a, b) => a.from - b.from);
  let begin = sorted[0]!.from;
  let busyUntil = begin;
  for (const { from, to } of sorted) {
    if (from - busyUntil > MAX_PAUSE * (end - begin)) begin = from;
    busyUntil = Math.max(busyUntil, to);
  }
  return begin;
}

/** Each job in the first row of its node that is free by then. */
function barsOf(jobs: readonly Job[], now: number): Bar[] {
  const ends: number[] = [];
  const begun = (job: Job) => job.started_at ?? job.claimed_at!;
  return jobs
    .toSorted((a, b) => begun(a) - begun(b))
    .flatMap((job) => {
      const [from, to] = [begun(job), job.finished_at ?? now];
      const free = ends.findIndex((end) => end <= from);
      const row = free < 0 ? ends.length : free;
      if (row >= MAX_ROWS) return [];
      ends[row] = to;
      return [{ job, from, to, row }];
    });
}

export function NodeTimeline({ jobs }: { jobs: readonly Job[] }) {
  const now = useNow();
  // A job that came back to the queue is in nobody's hands, and nobody knows until when it was.
  const held = jobs.filter(
    ({ node_id, claimed_at, finished_at, state }) =>
      node_id !== null && claimed_at !== null && (finished_at !== null || state === "claimed" || state === "running"),
  );
  const byNode = [...Map.groupBy(held, ({ node_id }) => node_id!)]
    .map(([node, own]) => ({ node, name: printable(own[0]!.node ?? node), bars: barsOf(own, now) }))
    .sort((a, b) => b.bars.length - a.bars.length || a.name.localeCompare(b.name))
    .slice(0, MAX_NODES);
  const bars = byNode.flatMap((each) => each.bars);
  if (bars.length === 0)
    return (
      <div class="empty">
        <Empty
          title="No node has had one of these jobs yet."
          todo={
            <>
              <a href="/nodes">Nodes</a> shows who could take them, and why of a job says what it waits for.
            </>
          }
        />
      </div>
    );
  const end = Math.max(...bars.map((bar) => bar.to));
  const from = beginOf(bars, end);
  const to = Math.max(from + 1, end);
  const x = (at: number) => NAMES_PX + ((at - from) / (to - from)) * (WIDTH - NAMES_PX - 4);
  let top = 18;
  const placed = byNode.map((each) => {
    const rows = Math.max(...each.bars.map(({ row }) => row)) + 1;
    const here = { ...each, rows, top };
    top += rows * ROW_PX + GAP_PX;
    return here;
  });
  const label = `${plural(bars.length, "job")} on ${plural(byNode.length, "node")} in ${duration(to - from)}`;
  return (
    <>
      <div class="graph" tabIndex={0} role="region" aria-label={label}>
        <svg class="nodes-drawn" viewBox={`0 0 ${WIDTH} ${top}`} role="group" aria-label={label}>
          {[0, 0.25, 0.5, 0.75, 1].map((share) => (
            <text
              key={share}
              class="sub"
              x={x(from + (to - from) * share)}
              y="10"
              text-anchor={share === 1 ? "end" : share === 0 ? "start" : "middle"}
            >
              {share === 1 ? "now" : `${duration(now - from - (to - from) * share)} ago`}
            </text>
          ))}
          {placed.map(({ node, name, bars: own, rows, top: y }) => (
            <g key={node}>
              <a href={`/nodes/${encodeURIComponent(node)}`}>
                <text x={NAMES_PX - 10} y={y + (rows * ROW_PX) / 2} dy="0.34em" text-anchor="end">
                  {name.slice(0, 20)}
                </text>
              </a>
              <rect class="ground" x={NAMES_PX} y={y - 2} width={WIDTH - NAMES_PX} height={rows * ROW_PX + 3} />
              {own
                .filter((bar) => bar.from >= from)
                .map(({ job, from: begun, to: ended, row }) => {
                  const width = Math.max(2, x(ended) - x(begun) - 1);
                  const state = job.state === "failed" ? "bad" : job.finished_at === null ? "going" : "";
                  return (
                    // The table below has the same links for whoever goes by key.
                    <a
                      key={job.work_id}
                      href={`/work/${job.work_id}`}
                      tabIndex={-1}
                      aria-label={`${printable(job.work_type)} ${job.work_id}`}
                    >
                      <title>{`${job.work_id}, ${printable(job.work_type)} ${printable(job.config_key ?? "")}: ${job.state}, ${duration(ended - begun)}`}</title>
                      <rect
                        class={`bar ${KINDS[job.work_type] ?? "other"} ${state}`}
                        x={x(begun)}
                        y={y + row * ROW_PX}
                        width={width}
                        height={ROW_PX - 2}
                        rx="2"
                      />
                      {width > CHAR_PX * (job.work_type.length + 1) && (
                        <text class="in" x={x(begun) + 4} y={y + row * ROW_PX + 9.5}>
                          {printable(job.work_type)}
                        </text>
                      )}
                    </a>
                  );
                })}
            </g>
          ))}
        </svg>
      </div>
      <p class="legend of-bars small">
        {[...Object.entries(KINDS), ["other kinds", "other"] as const].map(([kind, style]) => (
          <span key={kind} class={style}>
            <i />
            {kind}
          </span>
        ))}
      </p>
    </>
  );
}

/** What the queue would hand out next, to whom and why; and what no connected worker may take. */
import { duration, printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { whenNext, whyNext } from "../../src/surfaces/queue/next-words.ts";
import { forecastWork } from "../../src/surfaces/queue/wire.ts";
import { Badge, Empty, Load, Panel, Table } from "./parts.tsx";
import { useAnswer } from "./use-answer.ts";

type Forecast = Answer<typeof forecastWork>;
type Next = Forecast["nodes"][number]["jobs"][number] & Pick<Forecast["nodes"][number], "node" | "after">;

/** It looks at every line of the queue: not after every event. */
const EVERY_MS = 10_000;

export function NextWork() {
  const loaded = useAnswer(forecastWork, {}, { everyMs: EVERY_MS });
  return (
    <Panel title="What comes next" aside={<code class="hint">ringrift queue next</code>}>
      <Load loaded={loaded}>
        {({ nodes, untaken, preemptions }) => (
          <>
            <Table<Next>
              label="What comes next"
              rows={nodes.flatMap(({ node, after, jobs }) => jobs.map((job) => ({ ...job, node, after })))}
              keyOf={({ node, work_id }) => `${node} ${work_id}`}
              empty={
                nodes.length === 0 ? (
                  <Empty
                    title="No worker is connected: nothing will be handed out."
                    todo="'ringrift train' starts workers here; 'ringrift token create <label> --join' lets a machine join."
                  />
                ) : (
                  <Empty
                    title="No waiting job fits a node that is connected."
                    todo={
                      nodes.flatMap(({ node, held }) =>
                        held === null ? [] : [`${printable(node)}: ${printable(held)}`],
                      )[0] ?? "Stages put jobs out as they begin."
                    }
                  />
                )
              }
              columns={[
                { head: "Job", cell: ({ work_id }) => <a href={`/work/${work_id}`}>{work_id}</a> },
                { head: "Kind", cell: (job) => printable(job.work_type) },
                { head: "Config", cell: ({ config_key }) => printable(config_key ?? "") },
                { head: "To", cell: ({ node }) => printable(node) },
                { head: "When", cell: ({ after }) => whenNext(after) },
                { head: "Why", wide: true, cell: (job) => <span class="dim">{whyNext(job)}</span> },
              ]}
            />
            {preemptions.map(({ stop, for: other }) => (
              <p class="more" key={stop}>
                <a href={`/work/${stop}`}>{stop}</a> will be stopped for <a href={`/work/${other}`}>{other}</a>, which
                is more urgent.
              </p>
            ))}
            {untaken.length > 0 && (
              <Table<Forecast["untaken"][number]>
                label="Jobs that no connected worker may take"
                rows={untaken}
                keyOf={({ work_id }) => work_id}
                empty=""
                columns={[
                  {
                    head: "Nobody may take",
                    cell: ({ work_id }) => (
                      <>
                        <Badge tone="warn">waits</Badge> <a href={`/why/${work_id}`}>{work_id}</a>
                      </>
                    ),
                  },
                  { head: "Kind", cell: ({ work_type }) => printable(work_type) },
                  { head: "Waited", right: true, cell: ({ waited_seconds }) => duration(waited_seconds * 1_000) },
                  { head: "Because", wide: true, cell: ({ reason }) => printable(reason) },
                ]}
              />
            )}
          </>
        )}
      </Load>
    </Panel>
  );
}

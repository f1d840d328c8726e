/** What was done for nodes that were ill, newest first: for all of them, or for one. */

import { printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { recoveryHistory } from "../../src/surfaces/recovery/wire.ts";
import { Badge, Empty, Load, Panel, Table, Time } from "./parts.tsx";
import { useAnswer } from "./use-answer.ts";

type RecoveryAct = Answer<typeof recoveryHistory>["acts"][number];

const MAX_ACTS = 50;

export function RecoveryActs({ node }: { node?: string }) {
  const loaded = useAnswer(recoveryHistory, { query: { limit: MAX_ACTS, ...(node === undefined ? {} : { node }) } });
  const title = node === undefined ? "What was done for nodes" : "What was done for it";
  return (
    <Panel title={title} aside={<code class="hint">ringrift recovery history</code>}>
      <Load loaded={loaded}>
        {({ acts }) => (
          <Table<RecoveryAct>
            label={title}
            rows={acts}
            keyOf={({ act_id }) => act_id}
            empty={
              <Empty
                title="Nothing had to be done yet."
                todo="A node that stays silent, slow or wrong is repaired step by step, and each step is written down here."
              />
            }
            columns={[
              { head: "When", cell: ({ begun_at }) => <Time at={begun_at} /> },
              ...(node === undefined
                ? [
                    {
                      head: "Node",
                      cell: ({ node_id, label }: RecoveryAct) => <a href={`/nodes/${node_id}`}>{printable(label)}</a>,
                    },
                  ]
                : []),
              { head: "Step", cell: ({ rung }) => <span class="mono">{rung}</span> },
              {
                head: "State",
                cell: ({ state }) => (
                  <Badge tone={state === "worked" ? "good" : state === "failed" ? "bad" : "accent"}>{state}</Badge>
                ),
              },
              { head: "Because", wide: true, cell: ({ reason, outcome }) => printable(outcome ?? reason) },
            ]}
          />
        )}
      </Load>
    </Panel>
  );
}

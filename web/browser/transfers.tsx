/** What is on its way between machines right now: uploads to the main process, and files that nodes fetch or bring home. */

import { plural, printable } from "../../src/surfaces/cli/text.ts";
import { getResources } from "../../src/surfaces/resources/wire.ts";
import { bytes } from "../../src/surfaces/status/view.ts";
import { deliveryState } from "../../src/surfaces/sync/view.ts";
import { type DeliveriesView, listDeliveries } from "../../src/surfaces/sync/wire.ts";
import { useNow } from "./app.ts";
import { Badge, Empty, Hash, Load, Panel, Progress, Table, Time } from "./parts.tsx";
import { useAnswer } from "./use-answer.ts";

type Delivery = DeliveriesView["deliveries"][number];

/** Progress is no event. */
const EVERY_MS = 2_000;
const MAX_SHOWN = 100;

const Way = ({ delivery: { action, node } }: { delivery: Delivery }) => (
  <>
    {action === "fetch" ? "to" : "home from"} {printable(node)}
  </>
);

export function Transfers() {
  const now = useNow();
  const open = useAnswer(listDeliveries, { query: { view: "open", limit: MAX_SHOWN } }, { everyMs: EVERY_MS });
  const resources = useAnswer(getResources, {}, { everyMs: EVERY_MS });
  const incoming = resources.answer?.transfers.incoming ?? [];
  return (
    <Panel title="On their way" aside={<code class="hint">ringrift sync deliveries</code>}>
      {incoming.length > 0 && (
        <p class="more">
          {plural(incoming.length, "upload")} to the main process:{" "}
          {incoming.map(({ sha256, from }) => (
            <span key={`${sha256} ${from}`}>
              <Hash value={sha256} /> from {printable(from)}{" "}
            </span>
          ))}
        </p>
      )}
      <Load loaded={open}>
        {({ deliveries }) => (
          <Table<Delivery>
            label="On their way"
            rows={deliveries.toSorted((a, b) => Number(b.state === "running") - Number(a.state === "running"))}
            keyOf={({ order_id }) => order_id}
            toneOf={({ error }) => (error === null ? undefined : "warn")}
            empty={
              <Empty
                title="No file is on its way."
                todo="'ringrift sync run models' brings the newest models to all nodes; most files travel by themselves."
              />
            }
            columns={[
              {
                head: "File",
                cell: ({ sha256, kind }) => (
                  <a href={`/artifacts/${sha256}`}>
                    {printable(kind)} <Hash value={sha256} />
                  </a>
                ),
              },
              { head: "Way", cell: (delivery) => <Way delivery={delivery} /> },
              {
                head: "State",
                cell: (delivery) => (
                  <Badge tone={delivery.state === "running" ? "accent" : "plain"}>{deliveryState(delivery, now)}</Badge>
                ),
              },
              {
                head: "Done",
                cell: ({ bytes: all, bytes_done, sha256 }) => (
                  <>
                    <Progress share={all === 0 ? 0 : bytes_done / all} label={`Progress of ${sha256.slice(0, 12)}`} />{" "}
                    {bytes(bytes_done)} of {bytes(all)}
                  </>
                ),
              },
              { head: "Ordered", cell: ({ ordered_at }) => <Time at={ordered_at} /> },
              { head: "For", wide: true, cell: ({ reason, error }) => printable(error ?? reason) },
            ]}
          />
        )}
      </Load>
    </Panel>
  );
}

/** Alerts: what needs a person, told once, with who was told and who deals with it. */

import { type Alert, acknowledgeAlert, closeAlert, getAlert, listAlerts } from "../../src/surfaces/alerts/wire.ts";
import { plural, printable } from "../../src/surfaces/cli/text.ts";
import { Act } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp } from "../browser/app.ts";
import { Badge, Empty, Load, Panel, Table, Tabs, Time, type Tone, ViewHead } from "../browser/parts.tsx";
import { type Loaded, useAnswer } from "../browser/use-answer.ts";

const TONES: Readonly<Record<string, Tone>> = { critical: "bad", error: "bad", warning: "warn" };

const STATUSES = ["open", "acknowledged", "closed"] as const;

export default function Alerts({ query }: { query: URLSearchParams }) {
  const { api } = useApp();
  const id = query.get("id");
  const status = STATUSES.find((each) => each === query.get("status")) ?? (id === null ? "open" : undefined);
  const asked = { ...(status === undefined ? {} : { status }), limit: 1_000 };
  const listed = useAnswer(id === null ? listAlerts : undefined, { query: asked });
  const one = useAnswer(id === null ? undefined : getAlert, { params: { id: id ?? "" } });
  const loaded: Loaded<{ readonly alerts: readonly Alert[] }> =
    id === null ? listed : { ...one, answer: one.answer && { alerts: [one.answer] } };
  const mute = listed.answer?.mute ?? null;
  const note = (reason: string) => (reason === "" ? {} : { note: reason });
  return (
    <>
      <ViewHead title="Alerts" json={addressOf(listAlerts, { query: asked })} command="ringrift alerts" />
      <Tabs
        label="Status"
        tabs={STATUSES.map((each) => ({
          name: each,
          to: each === "open" ? "/alerts" : `/alerts?status=${each}`,
          isHere: each === status,
        }))}
      />
      {mute !== null && (
        <p class="dim">
          Alerts are muted by {printable(mute.actor)}
          {mute.reason === null ? "" : ` (${printable(mute.reason)})`}. They are sent again <Time at={mute.until} />;{" "}
          {plural(mute.waiting, "message")} held back.
        </p>
      )}
      <Panel title="Alerts" aside={loaded.answer !== undefined && plural(loaded.answer.alerts.length, "alert")}>
        <Load loaded={loaded}>
          {({ alerts }) => (
            <Table<Alert>
              label="Alerts"
              rows={alerts}
              keyOf={(alert) => alert.id}
              empty={
                <Empty
                  title={`No alert is ${status ?? "here"}.`}
                  todo="What lasts longer than it should opens one by itself. Set alerts.webhook_url_file to be told elsewhere."
                />
              }
              columns={[
                {
                  head: "Severity",
                  cell: ({ severity }) => <Badge tone={TONES[severity] ?? "plain"}>{severity}</Badge>,
                },
                {
                  head: "Alert",
                  wide: true,
                  cell: ({ title, message, subject }) => (
                    <>
                      <span class="strong">{printable(title)}</span>
                      <p>{printable(message)}</p>
                      {subject !== null && <a href={`/why/${encodeURIComponent(subject)}`}>why {printable(subject)}</a>}
                    </>
                  ),
                },
                { head: "Opened", cell: ({ opened_at }) => <Time at={opened_at} /> },
                { head: "Last", cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
                { head: "Times", right: true, cell: ({ count }) => count },
                {
                  head: "Told",
                  cell: ({ deliveries }) =>
                    deliveries.length === 0 ? (
                      <span class="dim">nobody</span>
                    ) : (
                      deliveries.map(({ sink, status: how }) => (
                        <span class="sub" key={sink}>
                          {printable(sink)} {how}
                        </span>
                      ))
                    ),
                },
                {
                  head: "By",
                  cell: ({ acknowledged_by }) => (acknowledged_by === null ? "" : printable(acknowledged_by)),
                },
                {
                  head: "Do",
                  cell: (alert) =>
                    alert.status === "closed" ? null : (
                      <>
                        {alert.acknowledged_by === null && (
                          <Act
                            name="Acknowledge"
                            about="You deal with it; nobody is told again."
                            perform={(reason) =>
                              api.call(acknowledgeAlert, { params: { id: alert.id }, body: note(reason) })
                            }
                            done={loaded.again}
                          />
                        )}
                        <Act
                          name="Close"
                          about="It is over. It opens again if it comes again."
                          perform={(reason) => api.call(closeAlert, { params: { id: alert.id }, body: note(reason) })}
                          done={loaded.again}
                        />
                      </>
                    ),
                },
              ]}
            />
          )}
        </Load>
      </Panel>
    </>
  );
}

/** Dead letters, those with one cause together: retry them when the cause is gone, or give them up on record. */
import { number, plural, printable } from "../../src/surfaces/cli/text.ts";
import {
  discardDeadLetters,
  listDeadLetters,
  retryDeadLetters,
  summarizeDeadLetters,
} from "../../src/surfaces/dead-letters/wire.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { Act } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp } from "../browser/app.ts";
import { Empty, Load, Num, Panel, Table, Tabs, Time, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

type Group = Answer<typeof summarizeDeadLetters>["groups"][number];
type Letter = Answer<typeof listDeadLetters>["dead_letters"][number];

const MAX_AT_ONCE = 1_000;

/** Both verbs for all letters that fit. */
function Verbs({ filter, done }: { filter: { fingerprint?: string; consumer?: string }; done: () => void }) {
  const { api, session } = useApp();
  const body = (dry_run: boolean) => ({
    ...filter,
    dry_run,
    max_events: MAX_AT_ONCE,
    actor: session?.actor ?? "browser",
  });
  const show = (what: string) => (would: Answer<typeof retryDeadLetters>) => (
    <p>
      {plural(would.dead_letters.length, "dead letter")} would be {what}.
    </p>
  );
  return (
    <>
      <Act
        name="Retry"
        about="They go back to the consumer that failed, and to nobody else."
        takesReason={false}
        attempt={() => api.call(retryDeadLetters, { body: body(true) })}
        perform={() => api.call(retryDeadLetters, { body: body(false) })}
        show={show("sent back to the consumers that failed")}
        done={done}
      />
      <Act
        name="Discard"
        about="They are given up for good, on record."
        takesReason={false}
        attempt={() => api.call(discardDeadLetters, { body: body(true) })}
        perform={() => api.call(discardDeadLetters, { body: body(false) })}
        show={show("discarded")}
        done={done}
        isGrave
      />
    </>
  );
}

const STATUSES = ["pending", "retrying", "recovered", "discarded"] as const;

interface Filter {
  readonly fingerprint?: string;
  readonly consumer?: string;
  readonly id?: number;
  readonly status?: (typeof STATUSES)[number];
}

function Letters({ filter }: { filter: Filter }) {
  const loaded = useAnswer(listDeadLetters, { query: { ...filter, limit: 200 } });
  return (
    <Panel title="Letters" aside="oldest first">
      <Load loaded={loaded}>
        {({ dead_letters }) => (
          <Table<Letter>
            label="Dead letters"
            rows={dead_letters}
            keyOf={({ id }) => id}
            empty={<Empty title="No letter fits." todo={<a href="/dead-letters">Show all that wait, by cause.</a>} />}
            columns={[
              { head: "Id", right: true, cell: ({ id }) => id },
              {
                head: "Event",
                cell: ({ event_type, event_id }) => <a href={`/journal/${event_id}`}>{printable(event_type)}</a>,
              },
              { head: "Consumer", cell: ({ consumer }) => printable(consumer) },
              { head: "Status", cell: ({ status }) => status },
              { head: "Tries", right: true, cell: ({ attempts }) => attempts },
              { head: "Failed", cell: ({ last_failed_at }) => <Time at={last_failed_at} /> },
              { head: "Error", wide: true, cell: ({ error }) => <span class="mono small">{printable(error)}</span> },
            ]}
          />
        )}
      </Load>
    </Panel>
  );
}

export default function DeadLetters({ query }: { query: URLSearchParams }) {
  const loaded = useAnswer(summarizeDeadLetters, {});
  const [fingerprint, consumer] = [query.get("fingerprint") ?? undefined, query.get("consumer") ?? undefined];
  const status = STATUSES.find((each) => each === query.get("status"));
  const id = Number(query.get("id") ?? Number.NaN);
  const filter: Filter = {
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(consumer === undefined ? {} : { consumer }),
    ...(status === undefined ? {} : { status }),
    ...(Number.isInteger(id) && id > 0 ? { id } : {}),
  };
  const isOpen = Object.keys(filter).length > 0;
  return (
    <>
      <ViewHead
        title="Dead letters"
        lead="Deliveries whose tries are spent. They are kept until somebody decides."
        json={addressOf(summarizeDeadLetters)}
        command="ringrift dlq"
      />
      <Load loaded={loaded}>
        {({ counts, groups }) => (
          <>
            <Tabs
              label="Status"
              tabs={STATUSES.map((each) => ({
                name: each,
                to: each === "pending" ? "/dead-letters" : `/dead-letters?status=${each}`,
                isHere: each === status || (each === "pending" && !isOpen),
                count: counts[each] ?? 0,
              }))}
            />
            {status === undefined && filter.id === undefined && (
              <Panel title="By cause" aside={plural(groups.length, "cause")}>
                <Table<Group>
                  label="Dead letters by cause"
                  rows={groups.filter((group) => consumer === undefined || group.consumer === consumer)}
                  keyOf={(group) => `${group.fingerprint} ${group.consumer}`}
                  empty={
                    <Empty
                      title="There are no pending dead letters."
                      todo="Nothing to do. A delivery comes here after its last try."
                    />
                  }
                  columns={[
                    {
                      head: "Cause",
                      cell: (group) => (
                        <a class="mono" href={`/dead-letters?fingerprint=${encodeURIComponent(group.fingerprint)}`}>
                          {printable(group.fingerprint).slice(0, 12)}
                        </a>
                      ),
                    },
                    { head: "Letters", right: true, cell: ({ letters }) => <Num value={letters} /> },
                    { head: "Event", cell: ({ event_type }) => printable(event_type) },
                    { head: "Consumer", cell: (group) => printable(group.consumer) },
                    { head: "First", cell: ({ first_failed_at }) => <Time at={first_failed_at} /> },
                    { head: "Last", cell: ({ last_failed_at }) => <Time at={last_failed_at} /> },
                    {
                      head: "Error",
                      wide: true,
                      cell: ({ error }) => <span class="mono small">{printable(error)}</span>,
                    },
                    {
                      head: "Do",
                      cell: (group) => <Verbs filter={{ fingerprint: group.fingerprint }} done={loaded.again} />,
                    },
                  ]}
                />
              </Panel>
            )}
            {isOpen && <Letters filter={filter} />}
            {isOpen && (
              <p>
                <a href="/dead-letters">all causes ({number(groups.length)})</a>
              </p>
            )}
          </>
        )}
      </Load>
    </>
  );
}

/** Who did what, and who may: the record of writes, and the tokens and sessions that open something. */
import { number, plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { listTokens, listWrites, revokeToken, type Token } from "../../src/surfaces/tokens/wire.ts";
import { Act } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp, useMayWrite } from "../browser/app.ts";
import { Badge, Empty, Load, Older, Panel, Table, Time, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";
import { usePages } from "../browser/use-pages.ts";

type Write = Answer<typeof listWrites>["writes"][number];

function Access() {
  const { api } = useApp();
  const mayWrite = useMayWrite();
  const loaded = useAnswer(mayWrite ? listTokens : undefined, {});
  if (!mayWrite) return null;
  return (
    <Panel title="Who may" aside={<code class="hint">ringrift token list</code>}>
      <Load loaded={loaded}>
        {({ tokens }) => (
          <Table<Token>
            label="Tokens and sessions"
            rows={tokens.filter(({ kind }) => kind !== "code")}
            keyOf={({ id }) => id}
            empty={<Empty title="There is no token." todo="'ringrift token create <label>' makes one." />}
            columns={[
              {
                head: "Label",
                wide: true,
                cell: ({ label, path }) =>
                  path === null ? printable(label) : `${printable(label)}: ${printable(path)}`,
              },
              { head: "Kind", cell: ({ kind }) => kind },
              {
                head: "Scope",
                cell: ({ scope, join_uses }) => (join_uses === null ? scope : `join ${number(join_uses)}`),
              },
              {
                head: "Status",
                cell: ({ status }) => <Badge tone={status === "active" ? "good" : "plain"}>{status}</Badge>,
              },
              { head: "Expires", cell: ({ expires_at }) => <Time at={expires_at} /> },
              { head: "Used", cell: ({ last_used_at }) => <Time at={last_used_at} /> },
              {
                head: "Do",
                cell: ({ id, status }) =>
                  status !== "active" ? null : (
                    <Act
                      name="Revoke"
                      about="It opens nothing any more, and what is open under it ends."
                      takesReason={false}
                      perform={() => api.call(revokeToken, { params: { id } })}
                      done={loaded.again}
                      isGrave
                    />
                  ),
              },
            ]}
          />
        )}
      </Load>
    </Panel>
  );
}

export default function Writes() {
  const { loaded, rows, more } = usePages(listWrites, {
    query: {},
    rowsOf: ({ writes }) => writes,
    placeOf: ({ id = 0 }) => id,
    before: ({ id }) => ({ before: id }),
  });
  return (
    <>
      <ViewHead
        title="Writes"
        lead="Who changed what through this process, and why."
        json={addressOf(listWrites)}
        command="ringrift handover"
      />
      <Panel
        title="Who did what"
        aside={loaded.answer !== undefined && `${plural(rows.length, "write")}, newest first`}
      >
        <Load loaded={loaded}>
          {() => (
            <Table<Write>
              label="Writes"
              rows={rows}
              keyOf={({ id, request_id }) => `${id} ${request_id}`}
              toneOf={({ status }) => (status >= 500 ? "bad" : undefined)}
              empty={
                <Empty
                  title="Nothing was changed yet."
                  todo="What you change here, by a command or by a program comes here, with who and why."
                />
              }
              columns={[
                { head: "When", cell: ({ at }) => <Time at={at} /> },
                { head: "Who", cell: ({ actor }) => printable(actor) },
                {
                  head: "What",
                  wide: true,
                  cell: ({ method, path, dry_run }) => (
                    <span class="mono">
                      {method} {printable(path)} {dry_run && <Badge tone="plain">dry run</Badge>}
                    </span>
                  ),
                },
                {
                  head: "Answer",
                  right: true,
                  cell: ({ status }) => <span class={status >= 400 ? "bad" : ""}>{status}</span>,
                },
                { head: "From", cell: ({ from }) => printable(from) },
                { head: "Reason", cell: ({ reason }) => printable(reason ?? "") },
              ]}
            />
          )}
        </Load>
        <Older more={more} />
      </Panel>
      <Access />
    </>
  );
}

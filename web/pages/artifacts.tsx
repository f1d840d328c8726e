/** Artifacts: where everything is, what is at risk, and all that is known of one file. */

import {
  type Artifact,
  type ArtifactDetails,
  type CopiesReport,
  freeArtifact,
  getArtifact,
  getCopies,
  listArtifacts,
  pinArtifact,
  showArtifact,
  verifyArtifact,
} from "../../src/surfaces/artifacts/wire.ts";
import { number, plural, printable } from "../../src/surfaces/cli/text.ts";
import { getLineage } from "../../src/surfaces/pipeline/wire.ts";
import { bytes } from "../../src/surfaces/status/view.ts";
import { Act } from "../browser/act.tsx";
import { addressOf } from "../browser/api.ts";
import { useApp } from "../browser/app.ts";
import { LineageGraph } from "../browser/lineage.tsx";
import { Badge, Empty, Facts, Hash, Load, Num, Older, Panel, Table, Tabs, Time, ViewHead } from "../browser/parts.tsx";
import { Transfers } from "../browser/transfers.tsx";
import { useAnswer } from "../browser/use-answer.ts";
import { usePages } from "../browser/use-pages.ts";

const Safety = ({ lines, places }: CopiesReport) => (
  <Panel title="How safe" aside={`${plural(places, "node")} whose copies count`}>
    <Table<CopiesReport["lines"][number]>
      label="Copies by kind and config"
      rows={lines}
      keyOf={({ kind, config_key }) => `${kind} ${config_key}`}
      toneOf={({ at_risk, short }) => (at_risk.files > 0 ? "bad" : short.files > 0 ? "warn" : undefined)}
      empty={
        <Empty
          title="There is no file yet."
          todo="Jobs bring files by themselves. 'ringrift import <folder>' brings games that were played elsewhere."
        />
      }
      columns={[
        { head: "Kind", cell: ({ kind }) => <a href={`/artifacts?kind=${kind}`}>{kind}</a> },
        { head: "Config", cell: ({ config_key }) => config_key ?? "" },
        {
          head: "Copies wanted",
          right: true,
          cell: ({ required, factor }) => (required === factor ? required : `${required} of ${factor}`),
        },
        { head: "Safe", right: true, cell: ({ safe }) => <Num value={safe.files} /> },
        { head: "Size", right: true, cell: ({ safe, short }) => bytes(safe.bytes + short.bytes) },
        {
          head: "Too few",
          right: true,
          cell: ({ short }) => (short.files === 0 ? "0" : <Badge tone="warn">{number(short.files)}</Badge>),
        },
        {
          head: "At risk",
          right: true,
          cell: ({ at_risk }) => (at_risk.files === 0 ? "0" : <Badge tone="bad">{number(at_risk.files)}</Badge>),
        },
        { head: "Games", right: true, cell: ({ safe, short }) => <Num value={safe.games + short.games} /> },
      ]}
    />
  </Panel>
);

const Places = ({ nodes }: CopiesReport) => (
  <Panel title="Where" aside={plural(nodes.length, "node")}>
    <Table<CopiesReport["nodes"][number]>
      label="Copies by node"
      rows={nodes}
      keyOf={({ node_id }) => node_id}
      empty={
        <Empty
          title="No node holds copies."
          todo="The main process has every file. Nodes that join take copies: 'ringrift token create <label> --join'."
        />
      }
      columns={[
        {
          head: "Node",
          cell: ({ node_id, name }) => <a href={`/nodes/${encodeURIComponent(node_id)}`}>{printable(name)}</a>,
        },
        {
          head: "Counts",
          cell: ({ there, rented, leaving, confirmed }) =>
            there && !rented && !leaving && confirmed ? (
              <Badge tone="good">yes</Badge>
            ) : (
              <Badge tone="warn">
                {!there ? "offline" : rented ? "rented" : leaving ? "drained" : "not confirmed"}
              </Badge>
            ),
        },
        { head: "Copies", right: true, cell: ({ copies }) => <Num value={copies} /> },
        { head: "Size", right: true, cell: (node) => bytes(node.bytes) },
        { head: "Free", right: true, cell: ({ free_bytes }) => (free_bytes === null ? "" : bytes(free_bytes)) },
        {
          head: "Waiting there",
          wide: true,
          cell: ({ waiting }) =>
            waiting === null || waiting.files === 0 ? (
              ""
            ) : (
              <>
                {plural(waiting.files, "file")}, {bytes(waiting.bytes)}, the oldest <Time at={waiting.oldest_at} />
              </>
            ),
        },
      ]}
    />
  </Panel>
);

const stateTone = (state: string) => (state === "durable" ? "good" : state === "rejected" ? "bad" : "plain");
function List({ query }: { query: URLSearchParams }) {
  const copies = useAnswer(getCopies, {});
  const kind = query.get("kind") ?? undefined;
  const asked = kind === undefined ? {} : { kind };
  const files = usePages(listArtifacts, {
    query: asked,
    rowsOf: ({ artifacts }) => artifacts,
    placeOf: ({ seq }) => seq,
    before: ({ seq }) => ({ after: seq }),
  });
  const kinds = [...new Set(copies.answer?.lines.map((line) => line.kind))].sort();
  return (
    <>
      <ViewHead title="Artifacts" json={addressOf(listArtifacts, { query: asked })} command="ringrift artifacts" />
      <Load loaded={copies}>
        {(report) => (
          <>
            <Safety {...report} />
            <Places {...report} />
          </>
        )}
      </Load>
      <Transfers />
      <Tabs
        label="Kind"
        tabs={[
          { name: "all", to: "/artifacts", isHere: kind === undefined },
          ...kinds.map((each) => ({ name: each, to: `/artifacts?kind=${each}`, isHere: each === kind })),
        ]}
      />
      <Panel title="Files" aside="newest first">
        <Load loaded={files.loaded}>
          {() => (
            <Table<Artifact>
              label="Files"
              rows={files.rows}
              keyOf={({ sha256 }) => sha256}
              toneOf={({ at_risk }) => (at_risk ? "bad" : undefined)}
              empty={<Empty title="No file fits." todo={<a href="/artifacts">Show files of all kinds.</a>} />}
              columns={[
                {
                  head: "File",
                  cell: ({ sha256 }) => (
                    <a class="mono" href={`/artifacts/${sha256}`}>
                      {sha256.slice(0, 12)}
                    </a>
                  ),
                },
                { head: "Kind", cell: (file) => file.kind },
                { head: "Config", cell: ({ config_key }) => config_key ?? "" },
                {
                  head: "State",
                  cell: ({ state }) => <Badge tone={stateTone(state)}>{state.replaceAll("_", " ")}</Badge>,
                },
                { head: "Size", right: true, cell: (file) => bytes(file.bytes) },
                { head: "Games", right: true, cell: ({ games }) => (games === 0 ? "" : <Num value={games} />) },
                { head: "Copies", right: true, cell: ({ copies: count, required }) => `${count}/${required}` },
                {
                  head: "Job",
                  cell: ({ work_id }) => (work_id === null ? "" : <a href={`/work/${work_id}`}>{work_id}</a>),
                },
                { head: "Made", cell: ({ created_at }) => <Time at={created_at} /> },
              ]}
            />
          )}
        </Load>
        <Older more={files.more} />
      </Panel>
    </>
  );
}

function Verbs({ file, done }: { file: ArtifactDetails; done: () => void }) {
  const { api } = useApp();
  const params = { id: file.sha256 };
  return (
    <>
      <Act
        name="Verify"
        about="Its bytes are hashed again here, and the nodes that hold it are asked to do the same."
        takesReason={false}
        perform={() => api.call(verifyArtifact, { params })}
        done={done}
      />
      <Act
        name="Pin"
        about="It is kept until somebody lets go of it by hand."
        takesReason={false}
        attempt={() => api.call(pinArtifact, { params, body: { dry_run: true } })}
        perform={() => api.call(pinArtifact, { params, body: {} })}
        show={({ pins }) => <p>Needed by {pins.length === 0 ? "nobody" : pins.join(", ")} now.</p>}
        done={done}
      />
      <Act
        name="Free"
        about="It is given up at once, with all its copies, if nothing needs it. Its games stay in the books."
        takesReason={false}
        attempt={() => api.call(freeArtifact, { params, body: { dry_run: true } })}
        perform={() => api.call(freeArtifact, { params, body: {} })}
        show={({ bytes: size, nodes }) => (
          <p>
            {bytes(size)} would go, from {nodes.join(", ") || "nowhere else"}.
          </p>
        )}
        done={done}
        isGrave
      />
    </>
  );
}

function One({ id }: { id: string }) {
  const loaded = useAnswer(showArtifact, { params: { id } });
  const lineage = useAnswer(loaded.answer === undefined ? undefined : getLineage, {
    params: { id: loaded.answer?.sha256 ?? id },
  });
  return (
    <Load loaded={loaded}>
      {(file) => (
        <>
          <ViewHead
            title={
              <>
                File <Hash value={file.sha256} />
              </>
            }
            lead={[file.kind, file.config_key].filter(Boolean).join(", ")}
            json={addressOf(showArtifact, { params: { id } })}
            command={`ringrift artifacts show ${file.sha256.slice(0, 12)}`}
          >
            {file.removed_at === null && (
              <a
                class="button"
                href={addressOf(getArtifact, { params: { sha256: file.sha256 } })}
                download={file.sha256}
              >
                Download
              </a>
            )}
            <Verbs file={file} done={loaded.again} />
          </ViewHead>
          <div class="columns">
            <Panel title="File">
              <Facts
                rows={[
                  ["SHA-256", <span class="mono">{file.sha256}</span>],
                  ["state", <Badge tone={stateTone(file.state)}>{file.state.replaceAll("_", " ")}</Badge>],
                  ...(file.reason === null ? [] : [["reason", printable(file.reason)] as const]),
                  ["size", bytes(file.bytes)],
                  ...(file.games === 0 ? [] : [["games", number(file.games)] as const]),
                  [
                    "made",
                    <>
                      <Time at={file.created_at} /> by {printable(file.producer)}
                    </>,
                  ],
                  ["job", file.work_id === null ? "none" : <a href={`/work/${file.work_id}`}>{file.work_id}</a>],
                  ["verified", <Time at={file.verified_at} />],
                  ["needed by", file.pins.length === 0 ? "nobody" : file.pins.map(printable).join(", ")],
                ]}
              />
            </Panel>
            <Panel title="Copies" aside={`${file.copies} of ${file.required} wanted`}>
              <Table<ArtifactDetails["holders"][number]>
                label="Who holds it"
                rows={file.holders}
                keyOf={({ node_id }) => node_id}
                empty={
                  <Empty
                    title="Nobody holds it."
                    todo="It was given up, or its bytes were lost. Its games stay in the books."
                  />
                }
                columns={[
                  {
                    head: "Node",
                    cell: ({ name, node_id }) => (
                      <a href={`/nodes/${encodeURIComponent(node_id)}`}>{printable(name)}</a>
                    ),
                  },
                  { head: "State", cell: ({ state }) => state },
                  { head: "Verified", cell: ({ verified_at }) => <Time at={verified_at} /> },
                  {
                    head: "Counts",
                    wide: true,
                    cell: ({ counts, why }) =>
                      counts ? <Badge tone="good">yes</Badge> : <Badge tone="warn">{why ?? "no"}</Badge>,
                  },
                ]}
              />
            </Panel>
          </div>
          <Panel title="Lineage" aside={<code class="hint">ringrift trace {file.sha256.slice(0, 12)}</code>}>
            <Load loaded={lineage}>{(found) => <LineageGraph lineage={found} />}</Load>
          </Panel>
        </>
      )}
    </Load>
  );
}

export default function Artifacts({
  params: { id },
  query,
}: {
  params: Record<string, string>;
  query: URLSearchParams;
}) {
  return id === undefined ? <List query={query} /> : <One id={id} />;
}

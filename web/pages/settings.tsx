/** Settings: what this process was started with, and where each value came from. */
import { useState } from "preact/hooks";
import { plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { compareNodeSettings } from "../../src/surfaces/nodes/wire.ts";
import { getSettings } from "../../src/surfaces/system/wire.ts";
import { addressOf } from "../browser/api.ts";
import { useMayWrite } from "../browser/app.ts";
import { Badge, Empty, Field, Load, Panel, Table, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

type Compared = Answer<typeof compareNodeSettings>;
type Difference = Compared["differences"][number];

/** What is set on one machine and not on another, or otherwise. */
const Differences = () => {
  const loaded = useAnswer(compareNodeSettings, {});
  return (
    <Panel title="Where nodes differ" aside={<code class="hint">ringrift config diff --nodes</code>}>
      <Load loaded={loaded}>
        {({ nodes, differences, unknown }) => (
          <>
            <Table<Difference>
              label="Where nodes differ"
              rows={differences}
              keyOf={({ key }) => key}
              empty={
                nodes.length > 1 ? (
                  <Empty
                    title={`${plural(nodes.length - 1, "node")} and the main process have the same settings.`}
                    todo="A setting that is set on one of them alone comes here."
                  />
                ) : (
                  <Empty
                    title="No node has reported its settings."
                    todo="Nodes that join do: 'ringrift token create <label> --join' prints what to type there."
                  />
                )
              }
              columns={[
                { head: "Setting", cell: ({ key }) => <span class="mono">{printable(key)}</span> },
                ...nodes.slice(0, MAX_NODES).map(({ node }, i) => ({
                  head: printable(node),
                  cell: ({ values }: Difference) => {
                    const value = values[i]?.value;
                    return value === undefined ? (
                      <span class="dim">default</span>
                    ) : (
                      printable(String(value ?? "(none)"))
                    );
                  },
                })),
              ]}
            />
            {nodes.length > MAX_NODES && (
              <p class="more dim">
                The first {MAX_NODES} of {nodes.length}; the command has all.
              </p>
            )}
            {unknown.length > 0 && (
              <p class="more dim">Not known, since they have not reported them: {unknown.map(printable).join(", ")}.</p>
            )}
          </>
        )}
      </Load>
    </Panel>
  );
};

type Setting = Answer<typeof getSettings>["settings"][number];

/** More columns nobody reads. */
const MAX_NODES = 8;

const wordsOf = ({ value, unit }: Setting): string =>
  value === null ? "not set" : `${printable(String(value))}${unit === null ? "" : ` ${unit}`}`;

export default function Settings() {
  const mayWrite = useMayWrite();
  const loaded = useAnswer(mayWrite ? getSettings : undefined, {}, { once: true });
  const [text, setText] = useState("");
  const [changed, setChanged] = useState(false);
  return (
    <>
      <ViewHead title="Settings" json={addressOf(getSettings)} command="ringrift config" />
      {!mayWrite ? (
        <Panel title="Settings">
          <div class="empty">
            <Empty
              title="Settings are for operators."
              todo="'ringrift open' lets you see them here; 'ringrift config' prints them."
            />
          </div>
        </Panel>
      ) : (
        <Load loaded={loaded}>
          {({ settings, file, problems }) => {
            const shown = settings
              .filter(({ key, variable }) => `${key} ${variable}`.toLowerCase().includes(text.toLowerCase()))
              .filter(({ origin }) => !changed || origin.kind !== "default");
            return (
              <>
                <div class="filters">
                  <Field label="Setting" value={text} onInput={setText} placeholder="work." />
                  <label class="check">
                    <input
                      type="checkbox"
                      checked={changed}
                      onInput={({ currentTarget }) => setChanged(currentTarget.checked)}
                    />
                    only those that somebody set
                  </label>
                </div>
                <Panel
                  title="Settings"
                  aside={`${plural(shown.length, "setting")}; ${file === null ? "no file" : printable(file)}`}
                >
                  {problems.map(({ place, message }) => (
                    <p class="more" key={`${place} ${message}`}>
                      <Badge tone="bad">{printable(place)}</Badge> {printable(message)}
                    </p>
                  ))}
                  <Table<Setting>
                    label="Settings"
                    rows={shown}
                    keyOf={({ key }) => key}
                    empty={
                      <Empty title="No setting fits." todo="Shorten what you look for, or show the defaults as well." />
                    }
                    columns={[
                      { head: "Setting", cell: ({ key }) => <span class="mono">{key}</span> },
                      {
                        head: "Value",
                        cell: (setting) => <span class={setting.sound ? "" : "bad"}>{wordsOf(setting)}</span>,
                      },
                      {
                        head: "From",
                        cell: ({ origin }) =>
                          origin.kind === "default" ? (
                            <span class="dim">default</span>
                          ) : (
                            <Badge tone="accent">{origin.kind}</Badge>
                          ),
                      },
                      { head: "Place", cell: ({ origin }) => <span class="dim">{printable(origin.place ?? "")}</span> },
                      {
                        head: "Variable",
                        wide: true,
                        cell: ({ variable }) => <span class="mono dim">{variable}</span>,
                      },
                    ]}
                  />
                </Panel>
                <Differences />
              </>
            );
          }}
        </Load>
      )}
    </>
  );
}

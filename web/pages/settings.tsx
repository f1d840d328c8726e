/** Settings: what this process was started with, and where each value came from. */
import { useState } from "preact/hooks";
import { plural, printable } from "../../src/surfaces/cli/text.ts";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { getSettings } from "../../src/surfaces/system/wire.ts";
import { addressOf } from "../browser/api.ts";
import { useMayWrite } from "../browser/app.ts";
import { Badge, Empty, Field, Load, Panel, Table, ViewHead } from "../browser/parts.tsx";
import { useAnswer } from "../browser/use-answer.ts";

type Setting = Answer<typeof getSettings>["settings"][number];

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
                    empty={<Empty title="No setting fits." />}
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
              </>
            );
          }}
        </Load>
      )}
    </>
  );
}

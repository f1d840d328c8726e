/** A link to the view that is looked at, for somebody who shall only look. */
import { useRef, useState } from "preact/hooks";
import { createShare } from "../../src/surfaces/shares/wire.ts";
import { Refused } from "./api.ts";
import { useApp } from "./app.ts";
import { ErrorBox } from "./parts.tsx";

const DAY_SECONDS = 86_400;
const LENGTHS = [
  { name: "1 day", days: 1 },
  { name: "7 days", days: 7 },
  { name: "30 days", days: 30 },
] as const;

export function ShareButton() {
  const { api } = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  const [path, setPath] = useState("/");
  const [days, setDays] = useState(7);
  const [url, setUrl] = useState<string>();
  const [refused, setRefused] = useState<Refused>();
  const open = () => {
    setPath(location.pathname);
    setUrl(undefined);
    setRefused(undefined);
    dialog.current?.showModal();
  };
  const make = async () => {
    try {
      const made = await api.call(createShare, { body: { path, expires_in_seconds: days * DAY_SECONDS } });
      setUrl(made.url);
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
      setRefused(thrown);
    }
  };
  return (
    <>
      <button type="button" class="quiet" onClick={open}>
        Share
      </button>
      <dialog ref={dialog} class="act" aria-label="Share this view">
        <h2>Share this view</h2>
        <p>
          Whoever has the link can look at what is below this address, and change nothing. Writes lists it and ends it.
        </p>
        <label class="field">
          <span>Address</span>
          <input value={path} onInput={({ currentTarget }) => setPath(currentTarget.value)} />
        </label>
        <label class="field">
          <span>Good for</span>
          <select value={days} onChange={({ currentTarget }) => setDays(Number(currentTarget.value))}>
            {LENGTHS.map((each) => (
              <option key={each.days} value={each.days}>
                {each.name}
              </option>
            ))}
          </select>
        </label>
        {refused !== undefined && <ErrorBox refused={refused} />}
        {url !== undefined && (
          <label class="field">
            <span>The link; it is shown this once</span>
            <input readOnly value={url} class="mono" onFocus={({ currentTarget }) => currentTarget.select()} />
          </label>
        )}
        <div class="act-buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
          <button type="button" class="primary" onClick={() => void make()}>
            Make a link
          </button>
        </div>
      </dialog>
    </>
  );
}

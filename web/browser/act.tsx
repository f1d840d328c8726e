/** Whatever changes something: first it is tried, what would change is shown, and then it is meant. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Refused } from "./api.ts";
import { useMayWrite } from "./app.ts";
import { ErrorBox } from "./parts.tsx";

interface ActProps<T> {
  readonly name: string;
  /** What it does, in a sentence. */
  readonly about: ComponentChildren;
  /** Only asks what would change; undefined for what has no dry run, which then asks just once more. */
  readonly attempt?: (reason: string) => Promise<T>;
  readonly perform: (reason: string) => Promise<unknown>;
  /** What the attempt says would change. */
  readonly show?: (would: T) => ComponentChildren;
  readonly needsReason?: boolean;
  readonly takesReason?: boolean;
  readonly done: () => void;
  readonly isGrave?: boolean;
}

export function Act<T>({
  name,
  about,
  attempt,
  perform,
  show,
  done,
  takesReason = true,
  needsReason = false,
  isGrave,
}: ActProps<T>) {
  const mayWrite = useMayWrite();
  const dialog = useRef<HTMLDialogElement>(null);
  const [would, setWould] = useState<T | undefined>();
  const [refused, setRefused] = useState<Refused | undefined>();
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);

  const guarded = async (run: () => Promise<void>) => {
    setBusy(true);
    setRefused(undefined);
    try {
      await run();
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
      setRefused(thrown);
    } finally {
      setBusy(false);
    }
  };
  const open = () => {
    setWould(undefined);
    setReason("");
    dialog.current?.showModal();
    if (attempt !== undefined) void guarded(async () => setWould(await attempt(needsReason ? "dry run" : "")));
  };
  const mean = () =>
    guarded(async () => {
      await perform(reason);
      dialog.current?.close();
      done();
    });
  if (!mayWrite) return null;
  const isReady = !busy && (!needsReason || reason.trim() !== "") && (attempt === undefined || would !== undefined);
  return (
    <>
      <button type="button" onClick={open} class={isGrave ? "grave" : ""}>
        {name}
      </button>
      <dialog ref={dialog} aria-label={name} class="act">
        <h2>{name}</h2>
        <p>{about}</p>
        {refused !== undefined && <ErrorBox refused={refused} />}
        {would !== undefined && show !== undefined && <div class="would">{show(would)}</div>}
        {takesReason && (
          <label class="field">
            <span>Reason, kept on record{needsReason ? "" : " (may be empty)"}</span>
            <input value={reason} maxLength={500} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
          </label>
        )}
        <div class="act-buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Leave it
          </button>
          <button type="button" class="primary" disabled={!isReady} onClick={() => void mean()}>
            {name}
          </button>
        </div>
      </dialog>
    </>
  );
}

/** `champion: 1a2b → 3c4d`. */
export const Changes = ({
  changes,
}: {
  changes: readonly {
    readonly what: string;
    readonly before: string | number | null;
    readonly after: string | number | null;
  }[];
}) =>
  changes.length === 0 ? (
    <p class="dim">There is nothing to do.</p>
  ) : (
    <ul>
      {changes.map(({ what, before, after }) => (
        <li key={what}>
          <span class="dim">{what}:</span> <span class="mono">{String(before ?? "none").slice(0, 12)}</span> →{" "}
          <span class="mono">{String(after ?? "none").slice(0, 12)}</span>
        </li>
      ))}
    </ul>
  );

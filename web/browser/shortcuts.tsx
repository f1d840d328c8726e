/** Keys for everything: `g` and a letter goes to a view, `/` searches, `j` and `k` walk through rows, `?` tells of it. */
import { useEffect, useRef } from "preact/hooks";
import type { NavGroup } from "../../src/surfaces/web/nav.ts";
import { useApp } from "./app.ts";

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** A letter counts as the second one for so long. */
const PAIR_MS = 1_500;

/** The first link of the next row, or of the one before. */
function walkRows(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("main .rows tbody tr")].flatMap(
    (row) => row.querySelector<HTMLElement>("a, button") ?? [],
  );
  const row = document.activeElement?.closest("tr");
  const at = links.findIndex((link) => link.closest("tr") === row);
  links[at === -1 ? (step === 1 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
}

export function Shortcuts({ groups }: { groups: readonly NavGroup[] }) {
  const { go } = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let pairUntil = 0;
    const hear = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const { key } = event;
      if (performance.now() < pairUntil) {
        pairUntil = 0;
        const item = groups.flatMap(({ items }) => items).find((each) => each.key === key);
        if (item !== undefined) {
          event.preventDefault();
          go(item.to);
        }
      } else if (key === "g") pairUntil = performance.now() + PAIR_MS;
      else if (key === "?") dialog.current?.showModal();
      else if (key === "j") walkRows(1);
      else if (key === "k") walkRows(-1);
      else if (key === "/") {
        event.preventDefault();
        document.querySelector<HTMLInputElement>("#search")?.focus();
      }
    };
    document.addEventListener("keydown", hear);
    return () => document.removeEventListener("keydown", hear);
  }, [groups, go]);
  return (
    <dialog ref={dialog} id="keys" aria-label="Keys">
      <h2>Keys</h2>
      <dl class="keys">
        {[
          ["/", "search by any id or name"],
          ["j  k", "next row, row before"],
          ["Enter", "open what has the focus"],
          ["?", "this list"],
          ...groups.flatMap(({ items }) => items.map(({ key, name }) => [`g ${key}`, name] as const)),
        ].map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

export const ShortcutsButton = () => (
  <button type="button" class="quiet" onClick={() => document.querySelector<HTMLDialogElement>("#keys")?.showModal()}>
    Keys <kbd>?</kbd>
  </button>
);

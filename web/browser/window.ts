/** Of a long list only what is near the eye is drawn: a thousand rows cost as much as a hundred. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Lists up to here are drawn whole: the browser's own search finds everything in them. */
const WHOLE = 150;
/** Drawn above and below what is seen, in heights of the window. */
const MARGIN = 1;
const FIRST_GUESS_PX = 36;

export interface Window {
  readonly body: RefObject<HTMLTableSectionElement | null>;
  /** The rows that are drawn: from this one to before that one. */
  readonly from: number;
  readonly to: number;
  /** Room for those that are not, in pixels. */
  readonly above: number;
  readonly below: number;
}

/** Which of so many rows are drawn. Rows may differ in height: what is measured is their mean. */
export function useWindow(count: number): Window {
  const body = useRef<HTMLTableSectionElement>(null);
  const height = useRef(FIRST_GUESS_PX);
  const [range, setRange] = useState({ from: 0, to: WHOLE });
  const isWhole = count <= WHOLE;
  const from = isWhole ? 0 : Math.min(range.from, Math.max(0, count - 1));
  const to = isWhole ? count : Math.min(count, Math.max(range.to, from + 1));

  useLayoutEffect(() => {
    const rows = body.current?.querySelectorAll<HTMLElement>("tr:not(.space)");
    if (isWhole || rows === undefined || rows.length === 0) return;
    const px = rows[rows.length - 1]!.getBoundingClientRect().bottom - rows[0]!.getBoundingClientRect().top;
    const mean = px / rows.length;
    if (px <= 0 || Math.abs(mean - height.current) < 1) return;
    height.current = mean;
    // What was drawn by another height may be too little: look again.
    dispatchEvent(new Event("resize"));
  });
  useEffect(() => {
    if (isWhole) return;
    let due = 0;
    const look = () => {
      due = 0;
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const seen = window.innerHeight;
      const first = Math.max(0, Math.floor((-top - seen * MARGIN) / height.current));
      const last = Math.min(count, Math.ceil((-top + seen * (1 + MARGIN)) / height.current));
      setRange((before) => (before.from === first && before.to === last ? before : { from: first, to: last }));
    };
    const soon = () => {
      if (due === 0) due = requestAnimationFrame(look);
    };
    soon();
    // Also what scrolls inside of the page, hence before it bubbles.
    document.addEventListener("scroll", soon, { passive: true, capture: true });
    window.addEventListener("resize", soon);
    return () => {
      cancelAnimationFrame(due);
      document.removeEventListener("scroll", soon, { capture: true });
      window.removeEventListener("resize", soon);
    };
  }, [count, isWhole]);
  return { body, from, to, above: from * height.current, below: (count - to) * height.current };
}

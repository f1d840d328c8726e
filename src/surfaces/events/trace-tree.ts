import type { EventNote } from "../cli/journal-view.port.ts";

/** One line of a printed tree: the event, and how the lines before it hang together. */
export interface TreeLine {
  readonly note: EventNote;
  readonly depth: number;
  /** The branches that pass by on the left; from some depth on they no longer grow. */
  readonly stem: string;
  readonly isLast: boolean;
  readonly hasChildren: boolean;
  /** Why it stands at the left edge although something caused it. */
  readonly cut: "parent_missing" | "cycle" | null;
}

/** Deeper than this nothing is indented any more: a line has to stay readable. */
export const MAX_INDENTED = 16;

/**
 * Orders the events of a trace as a tree of causes and effects, each event exactly once. A cause that the journal no
 * longer holds makes its effects roots of their own; causes that go round in a circle (only a foreign publisher can say
 * that) are cut at the oldest event.
 */
export function traceTree(notes: readonly EventNote[]): TreeLine[] {
  const sorted = [...notes].sort((a, b) => (a.event.seq ?? 0) - (b.event.seq ?? 0));
  const known = new Set(sorted.map(({ event }) => event.eventId));
  const isRoot = ({ event }: EventNote) => event.parentEventId === null || !known.has(event.parentEventId);
  const childrenOf = Map.groupBy(
    sorted.filter((note) => !isRoot(note)),
    ({ event }) => event.parentEventId!,
  );
  const lines: TreeLine[] = [];
  const placed = new Set<string>();

  /** Depth first without recursion: a chain may be as long as a trace. */
  const place = (root: EventNote, cut: TreeLine["cut"]) => {
    const stack = [{ note: root, depth: 0, stem: "", isLast: true }];
    placed.add(root.event.eventId);
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { note, depth, stem, isLast } = next;
      const children = (childrenOf.get(note.event.eventId) ?? []).filter(({ event }) => !placed.has(event.eventId));
      for (const { event } of children) placed.add(event.eventId);
      lines.push({ note, depth, stem, isLast, hasChildren: children.length > 0, cut: depth === 0 ? cut : null });
      const below = depth === 0 || depth >= MAX_INDENTED ? stem : stem + (isLast ? "   " : "│  ");
      for (const [i, child] of [...children.entries()].reverse())
        stack.push({ note: child, depth: depth + 1, stem: below, isLast: i === children.length - 1 });
    }
  };

  for (const note of sorted) if (isRoot(note)) place(note, note.event.parentEventId === null ? null : "parent_missing");
  for (const note of sorted) if (!placed.has(note.event.eventId)) place(note, "cycle");
  return lines;
}

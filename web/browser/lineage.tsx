/** Where something comes from and what came of it, as a drawing. */
import { printable } from "../../src/surfaces/cli/text.ts";
import type { Lineage } from "../../src/surfaces/pipeline/wire.ts";
import { shortModel } from "../../src/surfaces/pipeline/words.ts";
import { Graph } from "./graph.tsx";
import { Empty } from "./parts.tsx";

/** A drawing of more says nothing; the nearest are shown. */
const MAX_DRAWN = 60;

const VIEW: Readonly<Record<string, string>> = { model: "/models/", job: "/work/" };
const viewOf = (kind: string, id: string): string => `${VIEW[kind] ?? "/artifacts/"}${encodeURIComponent(id)}`;

/** Those nearest to what was asked, in both directions. */
function nearest({ asked, nodes, edges }: Lineage): Set<string> {
  const near = new Set([asked]);
  for (const id of near) {
    if (near.size >= MAX_DRAWN) break;
    for (const { from, to } of edges) {
      if (from === id) near.add(to);
      if (to === id) near.add(from);
      if (near.size >= MAX_DRAWN) break;
    }
  }
  return nodes.length <= MAX_DRAWN ? new Set(nodes.map(({ id }) => id)) : near;
}

export function LineageGraph({ lineage }: { lineage: Lineage }) {
  const shown = nearest(lineage);
  const nodes = lineage.nodes.filter(({ id }) => shown.has(id));
  if (nodes.length < 2)
    return (
      <div class="empty">
        <Empty
          title="Nothing is known of where it comes from or what came of it."
          todo="Jobs write down what they take and what they make; a file that was brought in from elsewhere has no past here."
        />
      </div>
    );
  return (
    <>
      <Graph
        label="Lineage"
        nodes={nodes.map(({ id, kind, about }) => ({
          id,
          label: `${printable(kind)} ${shortModel(id)}`,
          sub: printable(about),
          to: viewOf(kind, id),
          isHere: id === lineage.asked,
        }))}
        edges={lineage.edges}
      />
      {nodes.length < lineage.nodes.length && (
        <p class="more dim">
          The {nodes.length} nearest of {lineage.nodes.length}; the JSON has all.
        </p>
      )}
    </>
  );
}

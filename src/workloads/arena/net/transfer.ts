import type { Layout } from "./layout.ts";
import type { Network } from "./network.ts";

/** Layers of a network: what must be equal for one to fit another, and where its weights lie. */
const LAYERS: readonly {
  readonly name: string;
  readonly fits: (layout: Layout) => readonly unknown[];
  readonly place: (layout: Layout) => readonly [number, number];
}[] = [
  {
    name: "tables",
    // A pattern means the same only on the same cells.
    fits: ({ shape: { wide, cells, codes, tuples }, rows }) => [wide, cells, codes, rows, JSON.stringify(tuples)],
    place: ({ wideBias }) => [0, wideBias],
  },
  {
    name: "wide",
    fits: ({ shape }) => [shape.wide],
    place: ({ wideBias, narrowWeights }) => [wideBias, narrowWeights],
  },
  {
    name: "narrow",
    fits: ({ shape: { wide, narrow } }) => [wide, narrow],
    place: ({ narrowWeights, policyWeights }) => [narrowWeights, policyWeights],
  },
  {
    name: "policy",
    fits: ({ shape: { narrow, moves, cells } }) => [narrow, moves, cells],
    place: ({ policyWeights, valueWeights }) => [policyWeights, valueWeights],
  },
  {
    name: "value",
    fits: ({ shape: { narrow, players } }) => [narrow, players],
    place: ({ valueWeights, length }) => [valueWeights, length],
  },
];

/** Copies into a network every layer of another that has the same shape; answers the names of those. */
export function takeLayers(from: Network, into: Network): string[] {
  return LAYERS.flatMap(({ name, fits, place }) => {
    const [there, here] = [fits(from.layout), fits(into.layout)];
    if (there.some((value, i) => value !== here[i])) return [];
    const [first, end] = place(from.layout);
    into.weights.set(from.weights.subarray(first, end), place(into.layout)[0]);
    return [name];
  });
}

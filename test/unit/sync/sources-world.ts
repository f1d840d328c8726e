/** A coordinator that holds files, and nodes that hold none of them yet and say where they serve. */
import type { KeyPairKeyObjectResult } from "node:crypto";
import { type Clock, defined } from "../../../src/kernel/index.ts";
import { createCopies } from "../../../src/sync/copies/copies.ts";
import { confirmCopies, noteCopies } from "../../../src/sync/copies/copy-operations.ts";
import { createSources, type Serving } from "../../../src/sync/sources/sources.ts";
import { catalogWorld, entryOf, oneNode, sha256Of } from "./sync-world.ts";

export const servingAt = (port: number): Serving => ({
  host: "127.0.0.1",
  port,
  tls: false,
  fingerprint: null,
  relayed: false,
});

export interface SourcesWorldOptions {
  /** The coordinator's id. */
  readonly home?: string;
  /** The hashes of files that are not those of their texts. */
  readonly names?: Readonly<Record<string, string>>;
  /** Virtual unless given. */
  readonly clock?: Clock;
}

export async function sourcesWorld(
  sizes: Readonly<Record<string, number>>,
  nodeIds: readonly string[],
  office: KeyPairKeyObjectResult,
  { home: homeId = "n1", names = {}, clock }: SourcesWorldOptions = {},
) {
  const shaOf = (text: string): string => names[text] ?? sha256Of(text);
  const w = catalogWorld();
  const texts = Object.keys(sizes);
  await w.change((artifacts) => {
    artifacts.record(
      texts.map((text) => entryOf(text, { sha256: shaOf(text), bytes: sizes[text]!, work_id: `w ${text}` })),
    );
    artifacts.accept(texts.map(shaOf));
  });
  const facts = { isThere: true, isRented: false, incarnation: 1, kinds: [], freeCpus: 1 };
  const nodes = () => [
    { ...oneNode.nodes()[0]!, node_id: homeId },
    ...nodeIds.map((node_id) => ({ node_id, name: node_id, address: "192.0.2.7", ...facts })),
  ];
  const copies = createCopies({ ...w, nodeId: homeId, copies: oneNode.copies, nodes });
  const home = () => ({ port: 1, tls: false, fingerprint: null });
  const sources = createSources({
    ...w,
    ...defined({ clock }),
    nodeId: homeId,
    copies,
    nodes,
    ticketKey: office.privateKey,
    home,
  });
  const hold = (node_id: string, ...held: string[]) =>
    w.store.commit([noteCopies({ node_id, sha256s: held.map(shaOf), by: node_id, at: 1 })]);
  await hold(homeId, ...texts);
  for (const [i, node_id] of nodeIds.entries()) {
    await w.store.commit([confirmCopies({ node_id, incarnation: 1, upto: 0, present: [], at: 1 })]);
    sources.announce(node_id, servingAt(1_000 + i));
  }
  const first = (to: string, text: string) => sources.planNamed(to, [shaOf(text)])[0]!.sources[0]!.node_id;
  return { ...w, sources, copies, hold, first, shaOf };
}

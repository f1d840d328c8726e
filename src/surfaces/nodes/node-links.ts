/** By which of its addresses a node with several is reached, as those say who fetch from it. */
import type { NodeRegistry } from "../../cluster/index.ts";
import type { NodeDesk } from "../../sync/index.ts";

export interface NodeLinks {
  /** In the order in which it named them. */
  readonly addresses: readonly string[];
  /** Who reaches it at which; an empty one where none answers. */
  readonly used: readonly { readonly by: string; readonly host: string }[];
}

/** Undefined of a node with one address. `desk` is not there where nothing runs. */
export function linksOf(
  nodeId: string,
  book: Pick<NodeRegistry, "list" | "row" | "nameOf">,
  desk: Pick<NodeDesk, "transfersOf"> | undefined,
): NodeLinks | undefined {
  const serving = desk?.transfersOf(nodeId)?.serving;
  if (desk === undefined || serving == null || serving.further === undefined) return undefined;
  const first = serving.host ?? book.row(nodeId)?.address ?? null;
  return {
    addresses: [...new Set([...(first === null ? [] : [first]), ...serving.further])],
    used: book
      .list()
      .flatMap(({ node_id }) =>
        (desk.transfersOf(node_id)?.links ?? [])
          .filter((link) => link.node_id === nodeId)
          .map(({ host }) => ({ by: book.nameOf(node_id), host })),
      ),
  };
}

/** Each address with who uses it. */
export function linksWords({ addresses, used }: NodeLinks): string {
  const users = (host: string) => used.filter((each) => each.host === host).map(({ by }) => by);
  const words = addresses.map((host) => {
    const by = users(host);
    return by.length === 0 ? host : `${host} (used by ${by.join(", ")})`;
  });
  const lost = users("");
  return `${words.join(", ")}${lost.length === 0 ? "" : `; none of them answers ${lost.join(", ")}`}`;
}

/** How a machine becomes a node: what is told to it when it is made, and nothing that opens an account. */
export interface NodeStart {
  /** The coordinator. */
  readonly url: string;
  /** SHA-256 of its certificate; null over plain HTTP. */
  readonly fingerprint: string | null;
  /** Lets one machine join, once, until the order's deadline. */
  readonly token: string;
  /** The node's label, and the name of the machine. */
  readonly label: string;
  readonly tags: readonly string[];
  /** Without a word from its coordinator for so long it ends itself. */
  readonly deadManMs: number;
  /** What `npm install` is given for the program: a package of the registry, or the address of a packed one. */
  readonly program: { readonly install: string };
}

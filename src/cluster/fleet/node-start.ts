/** How a machine becomes a node: what is told to it when it is made, and nothing that opens an account. */

/** Where the program of a node comes from. */
export type ProgramSource =
  /** The registry of npm, by the version that the coordinator has. */
  | { readonly from: "npm"; readonly version: string }
  /** A packed program that the coordinator serves to whoever has the ticket, known by its hash. */
  | { readonly from: "coordinator"; readonly url: string; readonly sha256: string };

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
  readonly program: ProgramSource;
}

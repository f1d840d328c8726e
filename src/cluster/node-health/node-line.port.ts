/** The ways of a node to the others, as its own process sees them. */
export interface NodeLine {
  /** Others that it reaches now, of those that it should. */
  reach(): { readonly peers: number; readonly expected: number };
  /** Tries in a row that the line to the coordinator did not answer; null where there is no such line. */
  failures(): number | null;
  /** Begins that line anew. */
  reopen(): void;
}

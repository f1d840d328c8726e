/** A way for small messages between nodes: each arrives or does not, and nobody is told which. */
export interface Datagrams {
  /** Where others reach it. */
  readonly port: number;
  send(to: { readonly host: string; readonly port: number }, bytes: Buffer): void;
  /** Who hears what comes; the last one given. */
  listen(hear: (bytes: Buffer) => void): void;
  close(): Promise<void>;
}

export interface HttpDoor {
  readonly door: string;
  readonly address: string;
  readonly ok: boolean;
  /** Surely not ours any more, and not just slow to answer. */
  readonly gone: boolean;
  /** What is wrong with it; also for one that answers and could be better. */
  readonly message: string;
}

/** The surface that this unit keeps up. `app` connects it. */
export interface HttpSurfacePort {
  /** Asks each door over itself whether it answers. */
  check(): Promise<readonly HttpDoor[]>;
  reopen(door: string): Promise<void>;
  /** Newest values of what a node measures, for whoever collects them. */
  sample(nodeId: string, values: Readonly<Record<string, number>>): void;
}

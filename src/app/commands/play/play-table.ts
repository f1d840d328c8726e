import type { ArenaConsole, Table } from "../../../workloads/arena/index.ts";

export type TableRequest = Parameters<ArenaConsole["open"]>[0];

/** A table whose players may be in another process. */
export interface PlayTable extends Omit<Table, "play" | "reply" | "undo"> {
  play(text: string): boolean | Promise<boolean>;
  reply(): string | Promise<string>;
  undo(): boolean | Promise<boolean>;
  close?(): Promise<void>;
}

import type { AttackedMain } from "./attacked-main.ts";

/** One way to do harm. It throws where the harm is done. */
export interface Attack {
  readonly what: string;
  /** How often, at full size. */
  readonly times: number;
  run(attacked: AttackedMain, times: number): Promise<void>;
}

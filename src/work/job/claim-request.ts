import type { Offer } from "./needs.ts";

/** What a node asks for when it asks for work. */
export interface ClaimRequest {
  readonly node_id: string;
  /** Jobs it would take at once. */
  readonly most: number;
  /** What it has free. */
  readonly offer: Offer;
  /** Kinds it has executors for; all unless said. */
  readonly kinds?: readonly string[] | undefined;
  /**
   * What the node calls this request: said again, because the answer was lost, it gets what it got. What it did not ask to be
   * started it gets until that began.
   */
  readonly claim_id?: string | undefined;
  /** It begins with them at once, and need not say so. */
  readonly start?: boolean | undefined;
  /** When it was asked, in milliseconds since the epoch, where it has waited since; now unless said. */
  readonly asked_at?: number | undefined;
}

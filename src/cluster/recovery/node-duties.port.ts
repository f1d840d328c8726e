/** What a node is entrusted with, and how it is taken from it. `app` connects it with the queue and the copies. */
export interface NodeDuties {
  /** Jobs in its hands, and how many of them make progress. */
  held(nodeId: string): { readonly jobs: number; readonly moving: number };
  /** Asks it to stop and give back what it holds. */
  release(nodeId: string, reason: string): Promise<void>;
  /** Takes everything that it holds and gives it to others: whatever it says of it after this comes too late, or second. */
  fence(nodeId: string, reason: string): Promise<void>;
  /** Files that lie nowhere but there; with `order`, they are brought home. */
  alone(nodeId: string, how: { readonly order: boolean }): Promise<number>;
}

/** Where nobody works, nobody has anything. */
export const noDuties: NodeDuties = {
  held: () => ({ jobs: 0, moving: 0 }),
  release: async () => undefined,
  fence: async () => undefined,
  alone: async () => 0,
};

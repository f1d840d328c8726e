/** Locks as a program beside the main process sees them. */
import { callTo, type Sender } from "../client/call.ts";
import { acquireLock, listLocks, releaseLock, renewLock } from "./wire.ts";

/** Beyond the time that a request waits for its lock. */
const SPARE_MS = 15_000;

export interface LockAsked {
  readonly name: string;
  /** Who you are. Who waits for whom is known by these names. */
  readonly holder: string;
  readonly ttlMs: number;
  /** At most 30 s; 0 asks once. */
  readonly waitMs?: number;
}

export function locksOver(sender: Sender<{ timeoutMs?: number }>) {
  return {
    /** Its `fence` goes to whatever the lock protects. Throws LOCK_HELD, LOCK_TIMEOUT or DEADLOCK_DETECTED. */
    acquire: ({ name, holder, ttlMs, waitMs = 0 }: LockAsked) => {
      const body = { name, holder, ttl_seconds: ttlMs / 1_000, wait_seconds: waitMs / 1_000 };
      return callTo(sender, acquireLock, { body }, { timeoutMs: waitMs + SPARE_MS });
    },
    /** Throws LOCK_LOST when it is somebody else's by now. */
    renew: async ({ name, fence }: { readonly name: string; readonly fence: number }): Promise<void> => {
      await callTo(sender, renewLock, { body: { name, fence } });
    },
    release: async ({ name, fence }: { readonly name: string; readonly fence: number }): Promise<void> => {
      await callTo(sender, releaseLock, { body: { name, fence } });
    },
    list: async () => (await callTo(sender, listLocks)).locks,
  };
}

export type LocksClient = ReturnType<typeof locksOver>;

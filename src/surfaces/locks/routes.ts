import type { LockView } from "../../cluster/index.ts";
import { defined, OperatingError } from "../../kernel/index.ts";
import { handle, type Route } from "../http/route.ts";
import { acquireLock, breakLock, listLocks, releaseLock, renewLock } from "./wire.ts";

const shown = ({ name, holder, fence, acquired_at, ttl_ms }: Omit<LockView, "left_ms" | "waiting">) => ({
  name,
  holder,
  fence,
  acquired_at,
  ttl_seconds: ttl_ms / 1_000,
});

export const lockRoutes: readonly Route[] = [
  handle(listLocks, ({ ports, query: { name, limit } }) => ({
    locks: ports.locks
      .list()
      .filter((lock) => name === undefined || lock.name === name)
      .slice(0, limit)
      .map((lock) => ({ ...shown(lock), left_seconds: lock.left_ms / 1_000, waiting: [...lock.waiting] })),
  })),
  handle(acquireLock, async (call) => {
    const { name, holder, ttl_seconds, wait_seconds, asks_again } = call.body;
    const signal = wait_seconds > 0 ? call.signal : undefined;
    const request = { name, holder, ttlMs: ttl_seconds * 1_000, waitMs: wait_seconds * 1_000, asksAgain: asks_again };
    return shown(await call.ports.locks.acquire({ ...request, ...defined({ signal }) }));
  }),
  handle(renewLock, ({ ports, body }) => {
    ports.locks.renew(body);
    return body;
  }),
  handle(releaseLock, async ({ ports, body }) => {
    await ports.locks.release(body);
    return body;
  }),
  handle(breakLock, async ({ ports, body: { name, reason, dry_run }, caller: { actor } }) => {
    if (!dry_run) {
      const broken = await ports.locks.break(name);
      ports.log.warn(`the lock '${name}' was taken from '${broken.holder}'`, { reason, actor });
      return { ...shown(broken), applied: true };
    }
    const held = ports.locks.list().find((lock) => lock.name === name);
    if (held === undefined) throw OperatingError.notFound("LOCK_UNKNOWN", `nobody holds a lock '${name}'`);
    return { ...shown(held), applied: false };
  }),
];

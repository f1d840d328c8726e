import { AsyncLocalStorage } from "node:async_hooks";
import type { Store } from "../../router/index.ts";
import type { ErasedContext, Unit } from "../unit/shape.ts";

/** What one handler, tick or health check of a unit did so far. Things are tables, and fields of a unit's cache. */
export interface Use {
  readonly unit: string;
  /** An event, or one of `tick`, `health` and `start`. */
  readonly trigger: string;
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
  /** It emitted, changed tables of a room, or had a service change something. */
  readonly acts: boolean;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

export interface Uses {
  readonly uses: readonly Use[];
  /** Tables that views, routes and commands have read. */
  readonly outside: ReadonlySet<string>;
}

interface Frame {
  readonly unit: string;
  readonly trigger: string;
  readonly reads: Set<string>;
  readonly writes: Set<string>;
  acts: boolean;
  readonly since: number;
}

const WRITERS = new Set<PropertyKey>(["set", "add", "delete", "clear", "push", "splice", "shift"]);

/** A field of a cache that says whether it was read or changed; its methods work on the field itself. */
const watched = <T extends object>(field: T, read: () => void, write: () => void): T =>
  new Proxy(field, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") {
        read();
        return value;
      }
      return (...args: unknown[]) => {
        (WRITERS.has(name) ? write : read)();
        return Reflect.apply(value, target, args) as unknown;
      };
    },
    set(target, name, value) {
      write();
      return Reflect.set(target, name, value, target);
    },
  });

const isWatchable = (value: unknown): value is object =>
  value instanceof Map || value instanceof Set || Array.isArray(value);

/**
 * Records what units read and change while they work, and what others read of their tables: what a declaration says may be
 * wished for, what was recorded has happened.
 */
export function createUses(now: () => number) {
  const frames = new Map<string, Frame>();
  const outside = new Set<string>();
  const within = new AsyncLocalStorage<Frame>();
  /** What stands behind a watched field: one that is put back is put back bare. */
  const bare = new WeakMap<object, object>();

  const frameOf = (unit: string, trigger: string): Frame => {
    const key = `${unit}/${trigger}`;
    const known = frames.get(key);
    if (known !== undefined) return known;
    const frame = { unit, trigger, reads: new Set<string>(), writes: new Set<string>(), acts: false, since: now() };
    frames.set(key, frame);
    return frame;
  };

  const cacheOf = (frame: Frame, cache: unknown): unknown => {
    if (typeof cache !== "object" || cache === null) return cache;
    const thing = (name: PropertyKey) => `${frame.unit}.${String(name)}`;
    return new Proxy(cache, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        const read = () => void frame.reads.add(thing(name));
        if (isWatchable(value)) {
          const shown = watched(value, read, () => void frame.writes.add(thing(name)));
          bare.set(shown, value);
          return shown;
        }
        read();
        return typeof value === "function" ? value.bind(target) : value;
      },
      set(target, name, value) {
        frame.writes.add(thing(name));
        return Reflect.set(target, name, bare.get(value) ?? value, target);
      },
    });
  };

  const contextOf = (frame: Frame, context: ErasedContext): ErasedContext => {
    const { rows, emit } = context;
    return {
      ...context,
      emit: new Proxy(emit, {
        get: (target, name: string) => {
          const emitOne = target[name];
          if (emitOne === undefined) return undefined;
          return (...args: Parameters<typeof emitOne>) => {
            frame.acts = true;
            return emitOne(...args);
          };
        },
      }),
      rows: {
        get: (table, key) => {
          frame.reads.add(table.table);
          return rows.get(table, key);
        },
        list: (table) => {
          frame.reads.add(table.table);
          return rows.list(table);
        },
        put: (table, key, row) => {
          frame.writes.add(table.table);
          rows.put(table, key, row);
        },
        delete: (table, key) => {
          frame.writes.add(table.table);
          rows.delete(table, key);
        },
        apply: (operation) => {
          frame.acts = true;
          rows.apply(operation);
        },
      },
      cache: cacheOf(frame, context.cache),
      afterCommit: (run) => context.afterCommit(() => within.run(frame, run)),
    };
  };

  return {
    wrap(unit: Unit): Unit {
      const { behaviour, name } = unit;
      const inside = <T>(trigger: string, run: (frame: Frame) => T): T => {
        const frame = frameOf(name, trigger);
        return within.run(frame, () => run(frame));
      };
      return {
        ...unit,
        behaviour: {
          ...behaviour,
          handle: (event, context) =>
            inside(event.eventType, (frame) => behaviour.handle(event, contextOf(frame, context))),
          tick: (context) => inside("tick", (frame) => behaviour.tick(contextOf(frame, context))),
          rebuild: (rows) => inside("start", () => behaviour.rebuild(rows)),
          health: (view) =>
            inside("health", (frame) => behaviour.health({ ...view, cache: cacheOf(frame, view.cache) })),
        },
      };
    },
    /** The store beneath: reads of tables of units, and commits that a handler has had somebody make. */
    tap: (store: Store): Store => ({
      commit(operations) {
        const frame = within.getStore();
        if (frame !== undefined) frame.acts = true;
        return store.commit(operations);
      },
      read(sql, ...params) {
        const [table] = params;
        if (typeof table === "string" && sql.includes("FROM state_rows")) {
          const frame = within.getStore();
          if (frame === undefined) outside.add(table);
          else frame.reads.add(table);
        }
        return store.read(sql, ...params);
      },
      scan: (sql, params, signal) => store.scan(sql, params, signal),
      get fault() {
        return store.fault;
      },
      onFault: (listen) => store.onFault(listen),
      close: () => store.close(),
    }),
    seen: (): Uses => ({ uses: [...frames.values()], outside }),
  };
}

export type UsesRecorder = ReturnType<typeof createUses>;

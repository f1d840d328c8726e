import type { TransferTry, WrongBytes } from "../transport.port.ts";

/** A copy of games that came. */
export interface ArrivedCopy {
  readonly sha256: string;
  readonly games: number;
  readonly configKey: string | null;
  /** The node that gave it. */
  readonly from: string;
}

/** What a transfer was for. */
export interface TransferPurpose {
  readonly syncId: string;
  readonly kinds: readonly string[];
}

/** A way that did not do what it should. */
export interface WayTrouble extends TransferPurpose {
  readonly transport: TransferTry["transport"];
  /** The node on the other side; null for a disk or a store. */
  readonly nodeId: string | null;
  readonly message: string;
  readonly bytes: number;
}

/** Bytes that are not what their name says, and who sent them. */
export interface WrongCopy extends WrongBytes {
  readonly transport: TransferTry["transport"];
  readonly nodeId: string | null;
  /** What is wrong with its structure, where the bytes are what the name says. */
  readonly fault?: string;
}

const MAX_KEPT = 500;
const MAX_MESSAGE = 2_000;

/** The node that a place is, as transports name it. */
export const nodeIn = (place: string): string | null => /^node (.+)$/.exec(place)?.[1] ?? null;

/** Kept until somebody has told of it. The same again is one; what is too much is left out, and the way book counts it. */
function createList<T>() {
  const kept = new Map<string, T>();
  return {
    note(key: string, one: T): void {
      if (kept.size < MAX_KEPT && !kept.has(key)) kept.set(key, one);
    },
    /** The oldest ones, and how to forget them once what was made of them is committed. */
    next(max: number): { readonly all: readonly T[]; readonly forget: () => void } {
      const some = [...kept].slice(0, max);
      const forget = () => {
        for (const [key] of some) kept.delete(key);
      };
      return { all: some.map(([, one]) => one), forget };
    },
  };
}

/** What came of the transfers of a node, for the units that tell of it. */
export function createTransferNews() {
  const arrived = createList<ArrivedCopy>();
  const stalls = createList<WayTrouble>();
  const unreachable = createList<WayTrouble & { readonly nodeId: string }>();
  const wrong = createList<WrongCopy>();
  const noteWrong = (one: WrongCopy): void => wrong.note(`${one.sha256} ${one.transport} ${one.nodeId}`, one);
  return {
    arrived,
    stalls,
    unreachable,
    wrong,
    noteWrong,
    noteArrived: (one: ArrivedCopy): void => arrived.note(one.sha256, one),
    noteTries(tries: readonly TransferTry[], purpose: TransferPurpose): void {
      for (const { transport, place, bytes, error, wrong: found = [] } of tries) {
        const nodeId = nodeIn(place);
        for (const { sha256, actual } of found) noteWrong({ sha256, actual, transport, nodeId });
        if (error === undefined) continue;
        const trouble = { ...purpose, transport, nodeId, message: error.message.slice(0, MAX_MESSAGE), bytes };
        if (error.code === "TRANSFER_STALLED") stalls.note(`${purpose.syncId} ${transport} ${place}`, trouble);
        if (error.code === "PLACE_UNREACHABLE" && nodeId !== null) unreachable.note(nodeId, { ...trouble, nodeId });
      }
    },
  };
}

export type TransferNews = ReturnType<typeof createTransferNews>;

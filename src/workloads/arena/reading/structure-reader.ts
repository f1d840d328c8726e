import { stat } from "node:fs/promises";
import { createAskedThread, isOperatingError, moduleBeside, OperatingError } from "../../../kernel/index.ts";
import type { ModelFormat } from "../files/foreign-model.ts";
import type { ReadFile } from "../files/structure.ts";
import type { MadeSegment } from "./segments.ts";

/** What a look at a file came to: what it is, or what is wrong with it. */
export type Structure = ({ readonly sound: true } & ReadFile) | FileRefusal;

/** What is wrong with a file. */
export interface FileRefusal {
  readonly sound: false;
  readonly code: string;
  readonly message: string;
}

/** A file, or bytes in the midst of one. */
export interface FilePlace {
  readonly path: string;
  readonly at?: number;
  readonly bytes?: number;
}

/** What the thread found at a place: nothing, a fault, or neither. */
export type FrameFound = "missing" | { readonly code: string; readonly message: string } | null;

/** What the thread is asked. */
export type FileQuestion =
  | {
      readonly ask: "structure";
      readonly path: string;
      readonly replay: boolean;
      readonly maxBytes?: number | undefined;
    }
  | { readonly ask: "frames"; readonly places: readonly FilePlace[]; readonly maxBytes: number }
  | { readonly ask: "model"; readonly path: string; readonly format: ModelFormat; readonly maxBytes: number }
  | { readonly ask: "segments"; readonly path: string; readonly scratch: string }
  | { readonly ask: "rows"; readonly path: string; readonly games: string };

/** What a model or checkpoint of another program has to be. */
export interface ModelRule {
  readonly format: ModelFormat;
  readonly minBytes: number;
  readonly maxBytes: number;
}

/** Larger ones are known by their hash alone. */
const MAX_FRAME_BYTES = 256 * 1_024 * 1_024;
const FRAMES_AT_ONCE = 256;
/** What no version of ours writes. Another version or kind may be that of a newer node. */
const BROKEN: ReadonlySet<string> = new Set(["ARENA_FILE_CORRUPT", "ARENA_FILE_TRUNCATED", "ARENA_FILE_TOO_LARGE"]);
const FAULT = /^(ARENA_FILE_(?!NOT_FOUND)|UNKNOWN_GAME)/;
const PREFIX = "a file could not be read: ";

/** Reads files of others on a thread of its own. It rejects where a file could not be looked at, which says nothing of it. */
export function createStructureReader() {
  const thread = createAskedThread<FileQuestion, unknown>(
    moduleBeside(import.meta.url, "./structure.thread"),
    (message, code) => OperatingError.internal(code ?? "FILE_UNREADABLE", `${PREFIX}${message}`, { retryable: true }),
  );
  const ask = async <T>(question: FileQuestion, signal?: AbortSignal): Promise<T | FileRefusal> => {
    try {
      return (await thread.ask(question, signal)) as T;
    } catch (thrown) {
      if (!isOperatingError(thrown) || !FAULT.test(thrown.code)) throw thrown;
      return { sound: false, code: thrown.code, message: thrown.message.replace(PREFIX, "") };
    }
  };
  /**
   * What is wrong with the frames of files that came from elsewhere, in their order; null where nothing is, or where it is not ours to judge,
   * undefined where there is no file. A few hundred at once cost one question.
   */
  const faultsOf = async (
    places: readonly FilePlace[],
    signal?: AbortSignal,
  ): Promise<(string | null | undefined)[]> => {
    const found: FrameFound[] = [];
    for (let from = 0; from < places.length; from += FRAMES_AT_ONCE) {
      const some = places.slice(from, from + FRAMES_AT_ONCE);
      const question = { ask: "frames", places: some, maxBytes: MAX_FRAME_BYTES } as const;
      found.push(...((await thread.ask(question, signal)) as FrameFound[]));
    }
    return found.map((one) => {
      if (one === "missing") return undefined;
      return one !== null && BROKEN.has(one.code) ? `${one.code}: ${one.message}` : null;
    });
  };
  return {
    /** What a file is; with `replay` its games are played through by the rules, and its network is built. */
    async read(
      path: string,
      { replay = false, maxBytes, signal }: { replay?: boolean; maxBytes?: number; signal?: AbortSignal } = {},
    ): Promise<Structure> {
      const found = await ask<ReadFile>({ ask: "structure", path, replay, maxBytes }, signal);
      return "sound" in found ? found : { sound: true, ...found };
    },
    faultsOf,
    /** The same of one file. */
    async faultOf(path: string, signal?: AbortSignal): Promise<string | null> {
      await stat(path);
      return (await faultsOf([{ path }], signal))[0] ?? null;
    },
    /** What is wrong with a model of another program, in words that follow its name; undefined where nothing is. */
    async faultOfModel(path: string, rule: ModelRule, signal?: AbortSignal): Promise<string | undefined> {
      const { size } = await stat(path);
      if (size < rule.minBytes)
        return size === 0 ? "is empty" : `has ${size} bytes; at least ${rule.minBytes} are declared`;
      if (size > rule.maxBytes) return `has ${size} bytes; at most ${rule.maxBytes} are declared`;
      // One that is too large to be read here is known by its size and its hash.
      if (rule.format === "any" || size > MAX_FRAME_BYTES) return undefined;
      const found = await ask<{ readonly fault: string | undefined }>(
        { ask: "model", path, format: rule.format, maxBytes: MAX_FRAME_BYTES },
        signal,
      );
      return "sound" in found ? `cannot be read: ${found.message}` : found.fault;
    },
    /** The segments that a file of somebody else's becomes; files that are made lie in `scratch`. */
    segments: (path: string, scratch: string, signal?: AbortSignal) =>
      ask<readonly MadeSegment[]>({ ask: "segments", path, scratch }, signal),
    /** What is wrong with rows that are said to be of these games. */
    faultOfRows: (path: string, games: string, signal?: AbortSignal) =>
      ask<{ readonly fault: string | null }>({ ask: "rows", path, games }, signal),
    close: thread.close,
  };
}

export type StructureReader = ReturnType<typeof createStructureReader>;

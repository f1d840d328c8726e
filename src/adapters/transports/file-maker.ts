/** Small files that are made on a thread, while the next ones come and are hashed. */
import { createAskedThread, moduleBeside } from "../../kernel/index.ts";
import { type FileMaker, type NewFile, PACKED_BYTES } from "../../sync/transfer/index.ts";

/** Bytes that are on their way to the thread, in so many pieces; the largest file of a pack fits into one. */
const PIECES = 4;
const PIECE_BYTES = PACKED_BYTES + 256 * 1_024;

/** What the thread is asked to do. The bytes of the files stand in the piece one after the other. */
export type MakeQuestion =
  | { readonly piece: SharedArrayBuffer; readonly paths: readonly string[]; readonly lengths: readonly number[] }
  | { readonly names: readonly (readonly [string, string])[] };

/** Files that go together: as many as one piece holds. */
function* fitting(files: readonly NewFile[]): Iterable<readonly NewFile[]> {
  let run: NewFile[] = [];
  let bytes = 0;
  for (const file of files) {
    if (run.length > 0 && bytes + file.content.length > PIECE_BYTES) {
      yield run;
      [run, bytes] = [[], 0];
    }
    run.push(file);
    bytes += file.content.length;
  }
  if (run.length > 0) yield run;
}

export function createFileMaker(): FileMaker & { close(): Promise<void> } {
  const thread = createAskedThread<MakeQuestion, number>(
    moduleBeside(import.meta.url, "./file-maker.thread"),
    (message, code) => Object.assign(new Error(message), { code }),
  );
  const free: SharedArrayBuffer[] = [];
  const waiting: ((piece: SharedArrayBuffer) => void)[] = [];
  let made = 0;
  const take = (): SharedArrayBuffer | Promise<SharedArrayBuffer> => {
    const piece = free.pop();
    if (piece !== undefined) return piece;
    if (made >= PIECES) return new Promise((resolve) => void waiting.push(resolve));
    made += 1;
    return new SharedArrayBuffer(PIECE_BYTES);
  };
  const give = (piece: SharedArrayBuffer): void => {
    const next = waiting.shift();
    if (next === undefined) free.push(piece);
    else next(piece);
  };
  return {
    async write(files) {
      const runs: Promise<unknown>[] = [];
      for (const run of fitting(files)) {
        const piece = await take();
        const room = new Uint8Array(piece);
        let at = 0;
        for (const { content } of run) {
          room.set(content, at);
          at += content.length;
        }
        const question = {
          piece,
          paths: run.map(({ path }) => path),
          lengths: run.map(({ content }) => content.length),
        };
        runs.push(thread.ask(question).finally(() => give(piece)));
      }
      const done = Promise.all(runs).then(() => undefined);
      done.catch(() => undefined);
      return { done };
    },
    async rename(names) {
      await thread.ask({ names });
    },
    close: thread.close,
  };
}

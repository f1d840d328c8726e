/** Copies a database on a thread of its own: all of it is read. */
import { answerQuestions } from "../../../kernel/index.ts";
import { takeSnapshot } from "./snapshot.ts";

export interface SnapshotQuestion {
  readonly path: string;
  readonly into: string;
}

answerQuestions<SnapshotQuestion>(({ path, into }) => takeSnapshot(path, into));

/** The body of a thread that makes small files and gives them their names, in the order in which it is asked. */
import { renameSync } from "node:fs";
import { answerQuestions } from "../../kernel/index.ts";
import { writeWhole } from "../../sync/transfer/index.ts";
import type { MakeQuestion } from "./file-maker.ts";

answerQuestions((question: MakeQuestion) => {
  if ("names" in question) {
    for (const [from, to] of question.names) renameSync(from, to);
    return question.names.length;
  }
  const { piece, paths, lengths } = question;
  let at = 0;
  for (const [i, path] of paths.entries()) {
    writeWhole({ path, content: new Uint8Array(piece, at, lengths[i]) });
    at += lengths[i]!;
  }
  return paths.length;
});

/** The body of a thread that reads files of others: what takes long, or breaks, does so here. */
import { answerQuestions } from "../../../kernel/index.ts";
import { faultOfModel } from "../files/foreign-model.ts";
import { checkFrame, readPlainFile, readStructure } from "../files/structure.ts";
import { faultOfRows, segmentsIn } from "./segments.ts";
import type { FileQuestion } from "./structure-reader.ts";

answerQuestions(async (question: FileQuestion) => {
  if (question.ask === "segments") return segmentsIn(question.path, question.scratch);
  if (question.ask === "rows") return { fault: await faultOfRows(question.games, question.path) };
  if (question.ask === "frame") return checkFrame(question.path, question.maxBytes);
  if (question.ask === "model")
    return { fault: faultOfModel(await readPlainFile(question.path, question.maxBytes), question.format) };
  return readStructure(question.path, question.replay, question.maxBytes);
});

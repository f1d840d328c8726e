/** The body of a thread that reads files of others: what takes long, or breaks, does so here. */
import { answerQuestions, isOperatingError, systemCode } from "../../../kernel/index.ts";
import { faultOfModel } from "../files/foreign-model.ts";
import { checkFrame, readPlainFile, readStructure } from "../files/structure.ts";
import { createPlaceReader } from "./read-place.ts";
import { faultOfRows, segmentsIn } from "./segments.ts";
import type { FileQuestion, FrameFound } from "./structure-reader.ts";

async function framesOf({ places, maxBytes }: FileQuestion & { readonly ask: "frames" }): Promise<FrameFound[]> {
  const found: FrameFound[] = [];
  const reader = createPlaceReader(maxBytes);
  try {
    for (const place of places)
      try {
        const bytes = await reader.read(place);
        if (bytes !== undefined) checkFrame(bytes);
        found.push(null);
      } catch (thrown) {
        if (systemCode(thrown) === "ENOENT") found.push("missing");
        else if (isOperatingError(thrown)) found.push({ code: thrown.code, message: thrown.message });
        else throw thrown;
      }
  } finally {
    reader.close();
  }
  return found;
}

answerQuestions(async (question: FileQuestion) => {
  if (question.ask === "segments") return segmentsIn(question.path, question.scratch);
  if (question.ask === "rows") return { fault: await faultOfRows(question.games, question.path) };
  if (question.ask === "frames") return framesOf(question);
  if (question.ask === "model")
    return { fault: faultOfModel(await readPlainFile(question.path, question.maxBytes), question.format) };
  return readStructure(question.path, question.replay, question.maxBytes);
});

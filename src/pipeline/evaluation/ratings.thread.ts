/** The body of a thread that computes ratings: hundreds of players must not hold up the loop of the process. */
import { answerQuestions } from "../../kernel/index.ts";
import { rateLadder } from "./rate-ladder.ts";

answerQuestions(rateLadder);

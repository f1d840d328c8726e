/**
 * faulty: the built-in games as a program that does harm, to prove that the rest of the house notices. Nothing but tests
 * and `--chaos` declares it; no setting and no parameter of the honest program leads here.
 *
 * It guarantees that its files are sound in form, so that only a judgement of their content can find them out, and that it
 * does the same harm for the same job.
 */
export { poisonedArenaDeclaration } from "./declaration.ts";

/** Names of what lies on a shelf: an artifact by its hash, or a document in a folder of one level. */
import { OperatingError } from "../../kernel/index.ts";

const ARTIFACT = /^([0-9a-f]{2})\/\1[0-9a-f]{62}$/;
const DOCUMENT = /^[a-z]{3,20}\/[\w-]{1,150}$/;

/** Folders of documents, beside the 256 of artifacts. */
export const DOCUMENT_FOLDERS: readonly string[] = ["backups"];

/** More than any place of ours holds; whoever has more is told, and nothing is concluded from a part. */
export const MAX_SHELVED = 2_000_000;

export const isShelfName = (name: string): boolean => ARTIFACT.test(name) || isDocumentName(name);

export const isDocumentName = (name: string): boolean =>
  DOCUMENT.test(name) && DOCUMENT_FOLDERS.includes(name.slice(0, name.indexOf("/")));

export const notAName = (name: string) =>
  OperatingError.invalid("INVALID_REQUEST", `'${name.slice(0, 200)}' is no name of an artifact or a document`);

export const noDocument = (place: string, name: string) =>
  OperatingError.notFound("DOCUMENT_NOT_FOUND", `${place} has no ${name}`);

export const tooLarge = (place: string, name: string, maxBytes: number) =>
  OperatingError.invalid("DOCUMENT_TOO_LARGE", `${name} at ${place} has more than ${maxBytes} bytes`);

export const nameTaken = (place: string, name: string) =>
  OperatingError.conflict("NAME_TAKEN", `${place} has another ${name}`, {
    hint: "What lies there is left as it is.",
  });

export const tooMany = (place: string) =>
  OperatingError.invalid("PLACE_TOO_LARGE", `${place} holds more than ${MAX_SHELVED} files`);

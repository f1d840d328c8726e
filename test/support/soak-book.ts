/** A book in which a soak keeps the sums of what it has run, so that the next run goes on where the last one stopped. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const FOLDER = ".soak";

export interface BookOptions {
  /** Begins at nothing again. */
  readonly anew?: boolean | undefined;
  /** Writes no book. */
  readonly unbooked?: boolean | undefined;
}

export function soakBook<Sums extends object>(name: string, nothing: Sums, { anew, unbooked }: BookOptions) {
  const file = `${FOLDER}/${name}-book.json`;
  const before: Sums = anew || unbooked || !existsSync(file) ? nothing : JSON.parse(readFileSync(file, "utf8"));
  return {
    before,
    keep(sums: Sums): void {
      if (unbooked) return;
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(file, JSON.stringify(sums));
    },
  };
}

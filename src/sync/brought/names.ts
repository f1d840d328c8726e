/** Who keeps a segment that came by no job of ours, until it is part of the canonical set of its config. */
export const broughtPin = (sha256: string): string => `brought:${sha256}`;

/** Under what name the games of such a file stand in the books. */
export const importedAs = (sha256: string): string => `import:${sha256}`;
export const foundAs = (sha256: string): string => `orphan:${sha256}`;

/** Where a checkout keeps its program and its compiled code. */
export function keptIn(root: string): string;
export function freshProgram(root: string): string | undefined;

const LINE_BREAK = 0x0a;

/** Bytes into lines, holding at most one line of the allowed length, however much comes without a line break. */
export function createLineReader(maxBytes: number, line: (text: string) => void) {
  let parts: Buffer[] = [];
  let pending = 0;
  let broken = false;
  const refuse = (): false => {
    broken = true;
    parts = [];
    pending = 0;
    return false;
  };
  return {
    /** Gives each complete line to `line`; false as soon as one is too long, and from then on for ever. */
    push(chunk: Buffer): boolean {
      if (broken) return false;
      let from = 0;
      for (let at = chunk.indexOf(LINE_BREAK); at !== -1; at = chunk.indexOf(LINE_BREAK, from)) {
        if (pending + at - from > maxBytes) return refuse();
        const rest = chunk.subarray(from, at);
        const whole = pending === 0 ? rest : Buffer.concat([...parts, rest]);
        parts = [];
        pending = 0;
        from = at + 1;
        const text = whole.toString("utf8").trim();
        if (text !== "") line(text);
      }
      if (from < chunk.length) {
        pending += chunk.length - from;
        if (pending > maxBytes) return refuse();
        parts.push(chunk.subarray(from));
      }
      return true;
    },
    /** Bytes of an unfinished line. */
    get pending(): number {
      return pending;
    },
  };
}

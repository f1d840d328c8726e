/**
 * How far a consumer has come, as a low-water mark: everything at or under it is done or written down as an exception.
 * Keeps the sequence numbers that are handed out and not yet ended, in order.
 */
export function createProgress(lowWater: number) {
  let scanned = lowWater;
  /** Ascending; ended ones stay until they reach the front. */
  let line: number[] = [];
  let front = 0;
  const open = new Set<number>();
  const done = new Set<number>();

  const advance = () => {
    while (front < line.length && !open.has(line[front]!)) front += 1;
    if (front > 1024 && front * 2 > line.length) {
      line = line.slice(front);
      front = 0;
    }
  };
  return {
    /** The highest sequence number that was looked at, wanted or not. */
    get scanned() {
      return scanned;
    },
    get outstanding() {
      return open.size;
    },
    /** Ended above the mark and kept as rows until the mark passes them. */
    get doneAbove() {
      return done.size;
    },
    scanTo(seq: number): void {
      if (seq > scanned) scanned = seq;
    },
    begin(seq: number): void {
      line.push(seq);
      open.add(seq);
    },
    has: (seq: number): boolean => open.has(seq),
    /** The mark that would hold if these had ended. */
    markWithout(seqs: ReadonlySet<number>): number {
      advance();
      for (let i = front; i < line.length; i += 1) {
        const seq = line[i]!;
        if (open.has(seq) && !seqs.has(seq)) return seq - 1;
      }
      return scanned;
    },
    /** They ended and it is on disk, together with that mark. */
    end(seqs: Iterable<number>, mark: number, asDone: boolean): void {
      for (const seq of seqs) {
        open.delete(seq);
        if (asDone && seq > mark) done.add(seq);
      }
      if (done.size > 0) for (const seq of done) if (seq <= mark) done.delete(seq);
      advance();
    },
    /** Whether rows of state 'done' lie at or under the mark. */
    needsSweep(mark: number): boolean {
      for (const seq of done) if (seq <= mark) return true;
      return false;
    },
  };
}

export type Progress = ReturnType<typeof createProgress>;

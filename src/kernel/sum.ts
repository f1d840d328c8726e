/** The sum of numbers, or of a number of each thing; 0 where there is nothing. */
export function sumOf<T = number>(all: Iterable<T>, of: (one: T) => number = Number): number {
  let sum = 0;
  for (const one of all) sum += of(one);
  return sum;
}
